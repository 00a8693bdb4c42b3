// Package replica knows the log of a project on several machines, as the store that is a
// copy of it sees it: which log it is (Remote), one process's connection to it (Link), the
// form of its lines (Line), and the errors of asking it.
//
// What belongs here needs neither the state nor the lock of a store. Adding operations to the
// log and taking over those of other machines does: package store has that, in announce.go,
// compete.go, catchup.go, publish.go, fetch.go, follow.go and connect.go.
//
// Guarantees: a line names the hash of the line before (Line.Prev), so that a log which does
// not continue what a copy knows is told from one that does. A Link is safe for concurrent
// use, and asks for the log's end no longer than AskFor. File has no secret.
//
// Errors: T402 for what the log's engine does not allow, T502 for a File that cannot be
// understood, T505 for a log that is full, T509 for a File that cannot be read, T510 for a log
// that cannot be reached, T511 for an operation of which nobody knows whether it stands, T512
// for a log that is another one, T513 for a damaged one, T904 if the call ends.
//
// # How a project is on several machines
//
// The truth is one log on NATS JetStream, one line for each operation; each machine's store is
// a copy of all that follows from it. The seam is store.Update, between making the next state
// and committing it. docs/guides/machines.md says what users and operators have to know.
//
//		Update, under the copy's lock      load -> rules -> publish files (publish.go) -> announce (announce.go): append a line
//		                                   conflict: read what came first (catchup.go), the rules again; the second time, or where
//		                                   another machine wrote just now, wait for a turn
//		                                   appended: give the turn back, then commit (state/commit.go), with what came first
//		Ask, before a call writes          the log's end and clock, for Update
//		Refresh, before a call reads       the log's end and clock in one round trip; what is new becomes one new state
//		Fetch, before files are read       fetch.go
//		Follow, while a process waits      follow.go: one process of a machine follows, the others see its copy change
//
//
//	  - Compare and set: a line is appended at its own sequence, behind the operation that it
//	    was made on, or not at all. So rules run again on what came first, as they do when
//	    another process of one machine came first.
//	  - A turn (ledger/jetstream/turn.go) is advice: it makes attempts fair and few, and only
//	    the append decides. Its holder says that it is there; a second after the last word the
//	    next one gets it. That is also what each killed waiter costs: a server gives the token
//	    to who waits at another server, whether or not anybody is there (the request's answer
//	    goes through an import of services, which is always heard).
//	  - A refusal, and "nothing to change", are answered only once the log was asked.
//	  - A kill between append and commit loses nothing: the next call finds the operation in the
//	    log, as if another machine had made it. For the same reason T511 needs no note of what
//	    was sent.
//	  - Between reading the log's end and appending nothing is written to this disk but what the
//	    operation itself relies on: operations of other machines stay in memory (loaded.ahead),
//	    the rules run on them, and one commit puts them and the own one on disk once the log has
//	    it. What rules read besides the state, the archive and folders that others removed, goes
//	    to the disk first; so does what a refusal rests on, before it is answered. This is what
//	    bounds a turn.
//	  - Catching up commits once for up to 5,000 operations: their lines go to the journal
//	    first, all but the last, then the state. A journal that is ahead with lines from the log
//	    is rolled forward without W502: the log has all of them.
//	  - Each line has the hash of the one before, and the operation keeps the hash of its own
//	    (thread.Operation.Chain). A log that is shorter, or has another operation at the same
//	    place, is refused (T512) and nothing changes. A log that was made anew (remote restore)
//	    has another ledger.Head.Log; a copy then compares its last operation's id and takes over
//	    the new hash.
//	  - Files do not go as steps: another machine may have other files, or none. The record
//	    names the list of a thread's files after the operation (thread.Published), list and
//	    files are stored before the operation is, and Fetch makes a folder like that list,
//	    three-way: what changed here since the list that was last published or fetched
//	    (remote/threads/ID) stays, with the other version beside it (W509). Whoever publishes
//	    fetches first, so nobody's files are replaced unseen. Other machines carry out only what
//	    an operation does to folders and messages (localSteps).
//	  - Content that is missing here is read from the log where it is asked for
//	    (saferoot.Disk.Elsewhere), and kept.
//	  - Roles are accounts of NATS, and permissions in them (internal/ledger/jetstream/leslie.conf).
//	    Permissions alone do not keep a reader from writing: the server publishes the answer to
//	    a request wherever the request says. An account that imports what its role may use gets
//	    its answers itself. leslie does not skip what is no line instead: a deletion is not
//	    undone by that, and each copy would have to agree what is damaged and what never was a
//	    line.
//	  - Time: leases and deadlines go by the engine's clock (replica.Link.Skew).
//	  - Runs belong to their machine (thread.Run.Machine). Its claim says that it lives; another
//	    machine takes the run over only once that has expired.
//	  - A project on one machine pays one look for remote.json for a command, and two for one
//	    that writes, and the size of the program.
package replica
