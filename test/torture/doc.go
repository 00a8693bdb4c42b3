// Torture runs the shipped binary and disturbs it at every call that it makes
// of the operating system: it kills it there, lets the call fail, or takes the
// room on the disk or a permission away. It holds each run against the promise:
// what was acknowledged is there, what failed has changed nothing, and no state
// between before and after is ever seen.
//
// # Words
//
//   - A row is one command with the store that it works on. table.go has them
//     all: a new command is one more row there, and nothing else. A test asks the
//     binary for its commands; one that has no row needs a reason there.
//   - The reference of a row is measured, not written down: the store before the
//     command, after an undisturbed run, and each of both after one more write.
//   - A point is one call of the operating system in an undisturbed run that
//     touches the project or the answer. A point is named by its call and its
//     number among the row's calls of that name.
//   - A case is one disturbed run on a fresh copy of the row's store. Its name
//     repeats it: go run ./torture -only fault/spawn/renameat/3/EIO
//     and -list names all.
//
// # What belongs here
//
// What can be seen from outside, through strace, the file system and the
// command line. Nothing of leslie is imported. The store's own steps are killed
// and failed in store/crash_test.go, random moments in proctest.
//
// # The matrices
//
//   - kill: SIGKILL in front of each call that changes the disk, of the write of
//     the answer, and of the end of the process.
//   - fault: each of those calls returns each error that it can return; in a
//     second series everything from a point on returns EROFS.
//     Success without W505 means that what an fsync failed for is on disk.
//   - read: each call that only looks fails as well, with one of its errors.
//   - full: a small tmpfs with a few pages, or a few files, left.
//   - closed: folders that cannot be written or searched, files that cannot be
//     written or read, under a user who is not root.
//   - order: in a trace of an undisturbed run, everything that the answer relies
//     on is on disk before the answer is written, and nothing changes behind it.
//
// # What is not asked twice
//
// A failed run whose files are to the byte those of before, and one that worked
// whose files are those of an undisturbed run, are not shown to the readers once
// more: what these make of such a store is the row's reference. Behind a kill
// everything is always asked. The stores lie in memory where /dev/shm has room:
// order is read from traces, and waiting for a disk shows nothing more.
//
// Linux and strace are needed; what is missing is said, never skipped in silence.
package main
