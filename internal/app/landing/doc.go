// Package landing ends work on code: it brings the code of threads to the branch on which it
// belongs, with what follows (the thread is completed, its worktree and its branch go), or throws
// threads away.
//
// A landing is a merge (package merging) whose record belongs to the thread itself
// (thread.Merge.Onto), or a merge into the thread that has the branch. What follows are the
// operations of done and code remove, each of its own, so that a killed landing is finished by the
// same line.
package landing
