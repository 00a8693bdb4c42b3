// Package merging runs one merge: a session that plans, asks, records and applies.
//
//	session, err := merging.Start(call, request)  // or Load, for a pending merge
//	session.Conflicts()                           // open and resolved conflicts
//	session.Answer(merging.Answer{...})           // record decisions and plan again
//	result, err := session.Finish()               // ask the resolvers, then Apply
//
// The plan is pure and in memory (planning.go): Start and Load read the trees once
// (inputs.go), merge.Make plans from what was read, and an answer plans again from the
// same data. Nothing is stored before Apply, or before somebody is asked: then the
// merge is recorded as pending, so that a caller who is interrupted finds it again
// (pending.go). The record has parameters and decisions.
//
// Decisions come from a Resolver (resolver.go): the person at a terminal, an agent's
// command (agent.go), a test. All decisions go through the same code (answer.go),
// including those of `merge resolve`. Only Apply checks whether the threads' files are
// still as planned (apply.go); if not, the session loads and plans again, and keeps
// the decisions whose conflicts still exist.
//
// A session belongs to one use case, which it knows as Operations, and reads through
// Files. It must be used by one goroutine only.
//
// # How a merge works
//
// A pending merge is only parameters and decisions (thread.Merge). Every command that needs
// its plan *computes it again* from what the threads hold now. internal/app/merging does it in
// a session: inputs.go reads the trees and finds the bases once, and merge.Make is a pure
// function of both. A conflict's id is a hash of its content, so a decision stays valid
// exactly as long as its conflict is unchanged.
//
//		Start | Load   consistently: find the threads -> hash their files -> bases -> merge.Make (in memory; nothing is stored)
//		               nothing to do | strict: T301
//		Finish         something is open: record as pending, with marker files -> ask the resolvers of the strategy
//		   Answer         record the decisions -> merge.Make again over what is loaded
//		   Apply       validate in a copy -> approval -> stage the result, keep the sources' files as blobs
//		               under one lock: is the target what was planned? -> record shares, steps -> move files into place
//		               a source or the target moved: load and plan again, decisions kept; three times at most, then T304
//
//
//	  - Resolvers decide: the person at the terminal
//	    (cmd/leslie/internal/mergecmd/merge_prompt.go), an agent's command (merging/agent.go), a
//	    test. merge resolve, the prompt and the agent record their decisions in the same way
//	    (merging/answer.go).
//	  - Work files (merge/workfile.go, merging/pending.go) are renderings of the plan. The
//	    record names the blob of the last one that leslie wrote, so that edits are told from
//	    what a side changed since; a decision replaces the files by steps of its own operation,
//	    and what somebody edited is kept as a blob first. Where somebody is asked, they follow
//	    once the asking ends: writing them after each answer would cost 17 fsyncs each.
//	  - Bases are never guessed. A spawn, a merge and a frozen reference record a manifest of
//	    what one thread gave another (thread.Share, thread.Reference); thread/base.go finds
//	    them, directly or through a third thread. A frozen copy is a base only if the two
//	    threads have no other, and only for files that clearly continue it (more than half of
//	    its lines). So a file that a thread never had is not deleted elsewhere, and a file that
//	    only shares its name is not replaced.
//	  - Commit: a replace or delete step names the hash of the file that it may displace. It
//	    checks before it moves the file away and again afterwards. A file that somebody saved in
//	    between stays, and the merged text is put next to it
//	    (store/internal/filework/replace.go).
//	  - Undo restores from blobs what the merge displaced, where nothing has changed since, and
//	    removes the shares. Manifests that a thread shared between a version and the undo or
//	    rollback back to it (thread.RevertedRange) are no longer bases.
//	  - A kill, and who finishes what it leaves:
//
//	killed                                  leaves                                          finished by
//	before anything is recorded             a stage, temporary names                        the next writer (store/internal/state/pending.go)
//	while somebody is asked                 a pending merge with its work files             merge continue, or the same line again
//	before the landing is recorded          a ref below refs/leslie/pending                 the next merge into the same target, which replaces it
//	after that, while git works             the record of the landing, files half written   whoever loads the merge: repairLanding (codeland.go), the queue,
//	                                                                                        doctor --repair. git inherits a lock, so nobody repairs beneath it
//	when git is done                        a branch with the commit, no record of it       the same, and the merge is then applied; it cannot be aborted any more
//	after the merge's own operation         file steps in the state                         the next writer
//	before what follows a landing           a thread not completed, its worktree there      the same line of leslie land
//
//	  - Commands: leslie never runs a command that a state file names. Commands in a project's
//	    configuration run only when you trust the project; those of a flag or of your own
//	    configuration always run.
package merging
