// Package landing ends work on code: it brings the code of threads to the branch on which it
// belongs, with what follows (the thread is completed, its worktree and its branch go), or throws
// threads away.
//
// A landing is a merge (package merging) whose record belongs to the thread itself
// (thread.Merge.Onto), or a merge into the thread that has the branch. git moves the branch in
// internal/app/merging/codeland.go and internal/git/land.go. What follows are the operations of
// done and code remove, each of its own, so that a killed landing is finished by the same line.
//
// Who may land: a person at once, whose line stands for the approval of what an agent has asked
// for. An agent needs the capability land, by policy or grant, or the approval of a person for this very
// plan: thread.State.MayMerge (thread/mergegrant.go) decides, and package merging asks it before
// and under the lock (internal/app/merging/approval.go). An agent whose thread has ended asks for
// nothing (mayLand). Where a thread has the branch, its merge's rules hold.
package landing
