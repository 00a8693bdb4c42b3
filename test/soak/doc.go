// Soak runs many processes of the shipped binary on one store for a while: all
// commands, in random order, under random names, some of them killed. It compares
// the result with a model of what must hold.
//
// # Terms
//
//   - A worker runs one process at a time. Its operations carry its name as their
//     actor, so the journal shows which worker made them.
//   - A row is one command and the way to draw a line of it. table.go has all rows:
//     a new command is one more row there.
//   - A scenario works on threads of one worker's own, so the worker knows what the
//     result has to be: merged lines (merge_scenario.go), rollbacks
//     (rollback_scenario.go), undone fields (undo_scenario.go), repeated requests
//     (retry.go). The rows leave the threads of scenarios alone; among themselves
//     they interfere freely.
//   - A pause stops all workers and checks everything: each operation of the journal
//     was requested by a worker, each answer has its operation, and the operations,
//     replayed, give the contents of state, archive, list and folders.
//
// # What belongs here
//
// What can be seen from outside: the command line and the files that docs/store.md
// describes. Nothing of leslie is imported. test/torture kills one process at every
// system call.
package main
