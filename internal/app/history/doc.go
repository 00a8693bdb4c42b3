// Package history shows the operations of a project, its log and its figures, and takes
// operations back: undo, redo, rollback. What an operation did to records is inverted by
// leslie/thread; this package adds what it did to files, branches and worktrees, by internal/git
// and package code: a rollback exchanges the work in a worktree, an undo of a landing moves its
// branch back or reverts it, an undo of a removal or a drop brings back what was kept.
package history
