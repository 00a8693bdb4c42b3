// Package code has the use cases of threads that own a branch and a worktree: list, compare,
// set up, check, remove, restore and find them again, run their checks, and tell threads whose
// code conflicts. It brings nothing to another branch: packages merging and landing do.
//
// # How code is kept
//
// Only internal/git starts git; thread/code.go has the records. git works without the store's
// lock, between two operations: a thread's code is making until git has made it, then ready
// (internal/app/threads/code_spawn.go).
//
// A merge plans code beside artifacts (internal/app/merging/code.go): git merge-tree merges
// tips without a worktree, and what it cannot merge goes through merge.Make as paths
// code:PATH. To land it (internal/app/merging/codeland.go), an operation records which branch is to move where, git
// moves it together with the worktree that has it checked out (internal/git/land.go), and the
// merge's own operation records that. git writes files, then the index, then the branch, so a
// killed landing is either finished (the index has the commit) or put back: only files that
// are as git found them, as it writes them, or a beginning of that. git inherits a lock from
// leslie, so nobody repairs a landing whose git still runs. A landing starts 13 processes of
// git.
//
//   - Validation of merged code (internal/app/merging/validate.go,
//     internal/app/code/validate.go) has a commit of the merged tree checked out in a kept
//     worktree (internal/git/private.go): checkout --force --detach, then clean -ffdq, so that
//     build caches stay. git has it locked with a reason that names the project; by that
//     leslie knows its own. One that cannot be brought to the commit is made again. A stage of
//     the store keeps two validations apart; git inherits a lock, as when it lands, so that
//     none of a killed process interferes.
//   - The queue (thread/mergequeue.go, internal/app/merges/queue.go): a queued merge is a
//     pending one without a plan, and landing it is continuing it, as a call of its own. A
//     stage of the store, held during the run, keeps two runs apart. Nobody may lose what was
//     queued while a landing had read older tips: queueing again counts up, and the operation
//     that begins or ends the landing compares the count; from the former on the same merge
//     gets a new place.
//   - Bases (internal/app/merging/codebase.go): a recorded base replaces git's merge base only while git
//     still finds what it found when the base was recorded, and while the branch has the
//     commits from which the base came; a rebase, a reset or a merge by hand voids it. So a
//     branch that begins anew takes nothing away from its target. thread.Code.Base is recorded
//     by spawn --uncommitted take and by an undo that reverts; the base after a squash is not
//     recorded, but follows from the last entry of landed. Refs refs/leslie/base/ID/N keep the
//     commits that no branch has. Work that a branch inherited counts as its target's only in
//     files that commits of the target have touched, so nothing is lost that nobody else has.
//   - A landing that git refused is taken out of the record at once: a repair would take files
//     that happen to have what it would have written, or a beginning of that, for its own.
//   - A merge plans uncommitted work as a commit that no branch has (internal/git/take.go);
//     the source's index, then its branch, get it before anything is recorded
//     (internal/app/merging/codetake.go). So a refused merge and a preview commit nothing.
//   - Everything that can be checked is checked before the first operation. If git fails after
//     it, what git left is taken back (git.Repo.Unmake), then the operation itself
//     (thread.State.TakeBackCode).
//   - After a kill the record names branch, folder and commit, so git.Repo.Make finishes: git
//     locks a worktree as "initializing" until all its files are there. A stage of the store,
//     held while git works, says whether the maker is alive (code.Hold).
//   - The answer of a request is that of the last operation. Until then the record has a
//     digest of the call (thread.Code.Call), by which the same call finds its thread again.
//   - Checks run between two tries of the rule that completes a thread
//     (internal/app/threads/lifecycle.go): the rule first says which ones it needs, so a
//     thread without them costs nothing. What was checked is named by a tree that git computes
//     with an index and an object folder of its own (git.Worktree.Content), because an agent's
//     sandbox often cannot write in the repository.
//   - leslie code alone looks at worktrees, four at once, for ten seconds at most
//     (internal/app/code/list.go): one for-each-ref for all tips, a status each, and a
//     rev-list where a branch and its target differ.
//   - A checkpoint, and an agent's done, compare the thread's code with that of the others
//     afterwards (internal/app/code/overlap.go) and tell both sides in an operation of the
//     system, so undo of what was asked does not meet it. The record of what was told
//     (thread.Code.Overlaps) is the other thread's: that of the caller keeps its revision. An
//     undo never changes it.
//   - Removal (internal/app/code/remove.go, internal/git/restore.go): the folder is renamed to
//     a name *beside* it, never into the store's tmp: there is always the same file system,
//     and no writer sweeps it. The rescue (internal/git/rescue.go) is made there, with fsync,
//     and its ref is the point of no return: before it an error takes everything back, from it
//     on a repetition only deletes. Only the worktree's own entry in the repository is
//     deleted, and only while it names that folder.
//   - A rescue has the bytes of the files as leslie read them: git's own way goes through
//     filters and line ends, and believes flags such as assume-unchanged. A private copy of
//     the index is kept beside its tree, because a tree has neither those flags nor added
//     names.
//   - Restoring does all of git's work before its only operation, under a name beside the
//     folder, which it gets once it is whole. git has the worktree locked until that is
//     recorded.
//   - A linked worktree finds the store of the main one in the same place (store/discover.go),
//     so a commit that has a store is refused.
package code
