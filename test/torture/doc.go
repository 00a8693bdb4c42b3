// Torture runs the shipped binary and disturbs it at every system call: it kills it
// there, lets the call fail, fills the disk or takes a permission away. It checks
// each run against the promise: acknowledged work is there, a failed command has
// changed nothing, and nobody ever sees a state between before and after.
//
// # Terms
//
//   - A row is one command with the fixture (a prepared store) that it works on.
//     table.go has all rows: a new command is one more row there, and nothing else.
//     A test asks the binary for its commands; one without a row needs a reason there.
//   - The reference of a row is measured: the store before the command, after an
//     undisturbed run, and each of both after one more write.
//   - A point is one system call of an undisturbed run that touches the project or
//     the answer. Its name is the call and its number among the row's calls of that
//     name.
//   - A case is one disturbed run on a fresh copy of the row's fixture. Its
//     postcondition is checked against the reference. Its name repeats it:
//     go run ./test/torture -only fault/spawn/renameat/3/EIO
//     and -list names all.
//
// # What belongs here
//
// What can be seen from outside, through strace, the file system and the command
// line. Nothing of leslie is imported. store/crash_test.go kills and fails the
// store's own steps, test/proctest kills at random moments.
//
// # The matrices
//
//   - kill: SIGKILL before each call that changes the disk, before the write of the
//     answer, and before the end of the process.
//   - fault: each of those calls returns each error that it can return.
//     Success without W505 means that what an fsync failed for is on disk.
//   - permanent: everything from a point on returns EROFS.
//   - read: each call that only reads fails as well, with one of its errors.
//   - diskfull: a small tmpfs with a few pages, or a few files, left.
//   - permissions: folders that cannot be written or searched, files that cannot be
//     written or read, under a user who is not root.
//   - order: in a trace of an undisturbed run, everything that the answer relies
//     on is on disk before the answer is written, and nothing changes after it.
//
// # What is not checked twice
//
// A failed run whose files equal those of before to the byte, and a successful one
// whose files equal those of an undisturbed run, are not read once more: what readers
// make of such a store is the row's reference. After a kill everything is always
// checked. The stores are in memory where /dev/shm has room: order is read from
// traces, and waiting for a disk shows nothing more.
//
// Linux and strace are needed; what is missing is reported, never skipped silently.
package main
