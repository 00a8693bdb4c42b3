// Leslie splits an objective into threads of work, shares artifacts between
// threads by reference and merges them back, for people and coding agents on
// one project.
//
// Package main has what a process gives a call (env.go: clock, randomness, streams,
// terminals, the user) and the table of commands (commands.go). How a line is read and
// answered is in internal/cli, the commands are in the packages beside that, rules are in
// package thread, and the disk is in package store.
package main
