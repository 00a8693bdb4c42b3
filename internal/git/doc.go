// Package git runs the git program on one repository and reads its answers. Nothing
// else in leslie starts git.
//
// What belongs here: finding the repository, its branches and worktrees, merging and
// landing commits, keeping uncommitted work. It knows nothing of threads: callers decide
// what a branch or a commit means.
//
// A repository may come from a stranger, and an agent may have changed it. Therefore
// every call names the repository's folders itself, takes nothing from the environment
// but who the user is, and runs no hook, no file system monitor and no program that the
// repository's own configuration names (see Repo.Trust); it never reaches a network. The
// user's and the system's configuration hold as always.
//
// Errors are T801 (git cannot be used: missing, too old, no repository, a failure that
// nobody expects), T808 (the repository's own configuration names a program that would
// have to run) and T904 (the context ended), and those that a function names.
package git
