// Package tui is the screen that a person keeps open while agents work: all objectives and
// threads as a tree, what there is to know of the selected thread, and what waits for the
// person, who answers it there.
//
// It has no rules and no texts of its own: what it shows of a thread is what a command of
// leslie prints, and what it does is a command, which it names. So a person learns the
// commands from it, and every rule holds.
package tui
