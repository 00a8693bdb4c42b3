// Faults runs one project on eight machines: eight folders, connected by three real servers,
// in which workers run lines of the shipped binary, drawn from the table of package lab, while
// the servers are killed, stopped and damaged. It is "make faults".
//
// # Terms
//
//   - A copy is one machine: a folder that leslie connect made.
//   - A worker runs one process at a time, in a copy that it draws for each call. A third
//     of the processes gets SIGKILL at a random moment. Every write has a request id, and
//     some are repeated, mostly in another copy.
//   - A round is a fault while the workers work, and a check after it (rounds.go, check.go).
//
// With -kills it kills leslie before each call that writes to the disk or to a server
// (kills.go), and with -measure it measures (measure.go).
//
// # What belongs here
//
// Only what is visible from outside: the command line, the files that docs/internals/store.md
// describes, and the servers' processes. One store of one machine is test/lab/soak's.
package main
