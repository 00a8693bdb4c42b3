// Package cli is the frame of leslie's command line: what a command is, how a line is read, and
// how its answer is written. The commands themselves are in the packages beside it, one file
// each; main has their table. Three commands belong to the frame and are here: batch, completion
// and version.
//
// How a line runs, and the files in the order to read them:
//
//	reply.go    Run: argv and the environment -> exit status
//	lint.go     argv in any order -> argv as the library wants it, and every fault of the line
//	cli.go      the tree of commands that the library runs
//	flags.go    flags, and the values that they accept
//	command.go  the definition of a command; command_table.go finds one by its name
//	call.go     one call: who acts, what was given
//	open.go     the call's project and its use case
//	reply.go    data, warnings, error -> one answer in text, JSON or YAML
//	help*.go    help: a command's page, the groups of leslie help, topics
//	prompt.go   questions to a person at a terminal
//	meant.go, only.go, spelling.go   what a caller meant who left something out or misspelt it
//
// A command is a value of type Command. Its function reads options with the methods of Given,
// notes what is wrong with Fault, calls a use case with RunUseCase, and returns Data, which has
// a text form and JSON tags. Nothing here reads a global: clock, randomness, streams and the
// table of commands are in Env.
package cli
