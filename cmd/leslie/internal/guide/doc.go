// Package guide writes the block in AGENTS.md that tells agents how to work with leslie, and finds
// it in a file. A test reads every line of leslie in it with the parser, so it cannot name a
// command that does not exist.
package guide
