// Package guide writes the block in AGENTS.md that tells agents how to work with leslie. It is
// made from the table of commands, so it cannot name one that does not exist.
package guide
