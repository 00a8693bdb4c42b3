// Soak lets many processes of the shipped binary work on one store for a while:
// all commands, in random order, under random names, some of them killed. It
// holds what comes of it against a model of what must hold.
//
// # Words
//
//   - A worker runs one process after the other. Its operations carry its name
//     as their actor, so the journal says whose they are.
//   - A row is one command with the way to draw a line of it. table.go has them
//     all: a new command is one more row there.
//   - A play is what one worker does with threads that are its own, so that it
//     knows what has to come of it: merged lines (choir.go), rollbacks (back.go),
//     undone fields (field.go), requests made again (again.go). The rows leave
//     the threads of the plays alone, and among themselves do as they like.
//   - A pause is when nobody works and everything is checked: each operation of
//     the journal is one that a worker asked for, each answer has its operation,
//     and the operations, played again, give what state, archive, list and
//     folders hold.
//
// # What belongs here
//
// What can be seen from outside, through the command line and the files that
// docs/store.md describes. Nothing of leslie is imported. One process alone,
// killed at every call of the system, is torture's.
package main
