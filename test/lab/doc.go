// Package lab holds what the programs that try to break leslie share:
//
//   - torture kills one process, or makes one of its calls of the system fail, at each of them;
//   - soak runs many processes on one store, and kills some at random;
//   - faults runs many processes on copies of one project, while its servers fail.
//
// # What belongs here
//
//   - The table of commands (table.go, and a file for each part of it): for each, how the random
//     programs draw its arguments (draw.go), on which prepared stores torture runs it (Row,
//     fixture.go), and with which codes it may fail. A new command needs one entry there. A test
//     compares the table with the binary: a command that is not tried alone, with several
//     threads, in a batch, or on a connected project needs a reason.
//   - What an answer must look like (answer.go), and what a history of operations must be: the
//     model (journal.go).
//   - Running leslie and ending it early (project.go, kill.go, tracer.go), and counting (report.go).
//
// Only what is visible from outside: the command line and the files that docs/internals/store.md describes.
// Nothing here imports leslie's packages. What is done to leslie, and what is checked then, is in
// the programs.
package lab
