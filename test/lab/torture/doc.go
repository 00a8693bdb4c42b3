// Torture runs the shipped binary and disturbs it at every system call: it kills the
// process there, makes the call fail, fills the disk or removes a permission. After
// each run it checks what leslie promises: acknowledged work exists, a failed command
// has changed nothing, and no reader sees a state between before and after.
//
// # Terms
//
//   - A row is one command with the fixture (a prepared store) that it runs on.
//     The table of package lab has all rows.
//   - The reference of a row is measured: the store before the command, after an
//     undisturbed run, and each of the two after one more write.
//   - A point is one system call of an undisturbed run that touches the project or
//     the answer. Its name is the call and its number among the row's calls of that
//     name.
//   - A case is one disturbed run on a fresh copy of the row's fixture. Its
//     postcondition is checked against the reference. Its name repeats it:
//     go run ./test/lab/torture -only fault/spawn/renameat/3/EIO
//     The flag -list prints all names.
//
// # What belongs here
//
// Only what is visible from outside, through strace, the file system and the command
// line. Torture imports none of leslie's packages. store/crash_test.go disturbs the
// store's own steps; test/proctest kills processes at random moments.
//
// # The matrices
//
//   - kill: SIGKILL before each call that changes the disk, before the write of the
//     answer, and before the end of the process.
//   - fault: each of those calls returns each error that it can return. If an fsync
//     fails and leslie reports success without W505, the file must be on disk anyway.
//   - permanent: every call from a point on returns EROFS.
//   - read: each call that only reads fails with one of its errors.
//   - diskfull: a small tmpfs with a few pages, or a few files, left.
//   - permissions: folders that cannot be written or searched, files that cannot be
//     written or read, as a user other than root.
//   - git: commands that start git, killed at each call with which one of their processes
//     changes something: leslie itself, one git alone (leslie goes on), both at once,
//     leslie while the git goes on. A tracer of our own, tracer.go, counts the calls of
//     one process. The same command once more finishes the work: in the end the project,
//     its branches and its files are those of an undisturbed run, no work was
//     unreachable meanwhile, no lock file of git's is left, and doctor finds nothing.
//   - run: leslie run, killed before each call with which it changes something, in a run with
//     three turns of an agent without a model. Run again it goes on: the thread is done, no
//     process of the agent is left, no turn whose end was written is sent again, what the
//     agent was told is in the transcript in its order, and doctor finds nothing.
//   - order: in a trace of an undisturbed run, everything that the answer reports
//     is on disk before the answer is written, and nothing changes after it.
//
// # What is not checked twice
//
// A failed run whose files equal those before it byte for byte, and a successful run
// whose files equal those of an undisturbed run, are not read again: the row's
// reference holds what readers see in such a store. After a kill everything is always
// checked. The stores are in memory where /dev/shm has space: the order of fsyncs is
// read from traces, and a real disk would show nothing more.
//
// Torture needs Linux, strace and git; it reports what it has to skip.
package main
