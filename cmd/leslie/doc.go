// Leslie splits an objective into threads of work, shares artifacts between
// threads by reference and merges them back, for people and coding agents on
// one project.
//
// Package main is the command line: commands, flags, prompts, output. Only this
// package uses the clock, randomness, the environment and terminals; it passes them
// down as values. Rules are in package thread, the disk is in package store.
//
// How a command runs, and the files in the order to read them:
//
//	main.go      process -> run(ctx, argv, env) -> exit status
//	lint.go      argv in any order -> argv as urfave/cli wants it, and every fault of the line
//	cli.go       the tree of commands that urfave/cli runs
//	flags.go     cli.Flags, and the values that they accept
//	command.go   the definition of a command; commands.go is the table of all commands
//	call.go      one call: who acts, which store, one Update or View
//	spawn.go ... one file a command: options, check, run, data with its text
//	reply.go     data, warnings, error -> one answer in text, JSON or YAML
package main
