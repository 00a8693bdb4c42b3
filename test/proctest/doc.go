// Package proctest tests what only real processes can show: that many leslie processes
// write to one store at once and lose nothing, that readers see whole states at the same
// time, and that a process may be killed at any moment. It builds the binary once per run
// and runs it as a shell would: arguments, environment, streams, exit status, files.
//
// What belongs here: tests that need several processes, signals, or a process that ends
// early. The scripts of cmd/leslie test single calls; package store tests the store's
// steps one by one.
//
// Tests here do not wait for time to pass: they wait for a process to end or to report
// something. Moments are random; a failure prints its seed, and -seed repeats them.
package proctest
