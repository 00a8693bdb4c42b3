// Leslie splits an objective into threads of work, shares artifacts between
// threads by reference and merges them back, for people and coding agents on
// one project.
//
// This room is how leslie is spoken with: commands, flags, prompts, renderers.
// It alone knows the clock, randomness, the environment and terminals; it hands
// them down as values. The rules are in package thread, the disk in package store.
//
// The life of a command, and the files to read in that order:
//
//	main.go      process -> run(ctx, argv, env) -> exit status
//	lint.go      argv in any order -> one command, its flags and operands, every fault
//	cli.go       the commands as urfave/cli runs them
//	flags.go     what kinds of flags there are and what a value of each must be
//	command.go   what a command is; commands.go is the table of them
//	call.go      one call: who acts, which store, one Update or View
//	spawn.go ... one file a command: options, check, run, data with its text
//	reply.go     data, warnings, error -> one answer in text, JSON or YAML
package main
