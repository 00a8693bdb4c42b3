// Package proctest tests what only real processes can show: that many leslies
// write to one store at once and lose nothing, that readers see whole states
// meanwhile, and that a process may be killed at any moment. It builds the
// binary once per run and drives it as a shell would, from outside: arguments,
// environment, streams, exit status, files.
//
// What belongs here: tests that need several processes, signals, or a process
// that ends in the middle. What one call answers is told by the scripts of
// cmd/leslie; the store's steps, one by one, are tested in store. There is no
// code but tests.
//
// Nothing here waits for time to pass: a test waits for a process to end or to
// say where it is. Moments are random; a failure prints its seed, and -seed
// draws the same ones again.
package proctest
