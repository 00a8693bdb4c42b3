// Soak runs many processes of the shipped binary on one store for some minutes: all
// commands, in random order, as many actors. It kills some of them, and compares the
// result with a model.
//
// # Terms
//
//   - A worker runs one process at a time. Its operations carry its name as their
//     actor, so the journal shows which worker made them.
//   - A scenario runs on threads of one worker, so the worker knows the expected result:
//     merged lines (merge_scenario.go), rollbacks (rollback_scenario.go), undone fields
//     (undo_scenario.go), repeated requests (retry.go). What is drawn from the table of package
//     lab does not touch the threads of scenarios, but interferes with each other.
//   - A pause stops all workers and checks everything: a worker requested each operation
//     of the journal, each answer has its operation, and the replayed operations give the
//     contents of state, archive, list and folders.
//
// # What belongs here
//
// Only what is visible from outside: the command line and the files that docs/internals/store.md
// describes. Soak imports none of leslie's packages. test/lab/torture kills one process at
// every system call.
package main
