package code

import (
	"leslie/internal/app"
	"leslie/internal/git"
	"leslie/thread"
)

// Make makes the worktree of a thread, and the ref that keeps what its branch begins
// with. Errors: those of git.Repo.Make.
func Make(c *app.Call, repo *git.Repo, id thread.ThreadID, code thread.Code, making git.WorktreeSpec) (git.Worktree, error) {
	if base := code.Base; base != nil {
		if err := repo.UpdateRef(c.Context(), thread.BaseRef(id, 0), git.Commit(base.Commit), git.AnyOldValue, "leslie: spawn"); err != nil {
			return git.Worktree{}, err
		}
	}
	return repo.Make(c.Context(), making)
}

// WorktreeSpecOf is what git makes for a thread. Of code that came from another machine, the branch is here.
func WorktreeSpecOf(c *app.Call, t thread.Thread) git.WorktreeSpec {
	owned := t.OwnedCode()
	return git.WorktreeSpec{Dir: WorktreeDir(c, t), Branch: t.Branch, Start: git.Commit(owned.Start), Existing: !owned.Made.Branch || owned.Sent != nil}
}
