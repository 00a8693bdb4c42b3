package app

import (
	"path/filepath"

	"leslie/codes"
	"leslie/internal/git"
	"leslie/thread"
)

// This file finds the worktrees that threads are given with update. leslie has not made
// them, and never removes them.

// foundWorktree is a worktree of the project's repository that somebody made.
type foundWorktree struct {
	branch string
	owned  thread.Code
}

// code is what a thread would own, nil for nothing.
func (f *foundWorktree) code() *thread.Code {
	if f == nil {
		return nil
	}
	return &f.owned
}

// namedWorktree returns the worktree that an edit of a thread names, nil if it names none
// of the project's repository, or one with another branch, or if git cannot be used: then
// branch and folder are only recorded. Errors: T101, T105, T904, those of reading.
func namedWorktree(c *Call, id string, edit thread.Edit) (*foundWorktree, error) {
	if edit.Worktree == nil && edit.Branch == nil {
		return nil, nil
	}
	var t, parent thread.Thread
	_, err := c.view(func(s *thread.State) (err error) {
		if t, err = s.Thread(id); err == nil && t.ParentID != "" {
			parent, _ = s.Threads.Get(string(t.ParentID))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if edit.Worktree != nil {
		t.Worktree = *edit.Worktree
	}
	if t.Worktree == "" {
		return nil, nil
	}
	found, err := worktreeAt(c, worktreeDir(c, t), edit.Branch, parent)
	if err != nil && !codes.Has(err, codes.GitUnavailable) {
		return nil, err
	}
	return found, nil
}

// worktreeAt finds the worktree in a folder. Errors: T801, T904.
func worktreeAt(c *Call, dir string, branch *string, parent thread.Thread) (*foundWorktree, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, nil
	}
	repo, err := openRepo(c)
	if err != nil {
		return nil, err
	}
	all, err := repo.Worktrees(c.ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		if real, err := filepath.EvalSymlinks(w.Dir); err != nil || real != dir {
			continue
		}
		if w.Branch == "" || w.Head == "" || branch != nil && *branch != w.Branch {
			return nil, nil
		}
		f := &foundWorktree{branch: w.Branch}
		f.owned = thread.Code{State: thread.CodeReady, Repo: repo.Admin, Admin: w.Admin, Start: string(w.Head)}
		return f, f.startedFrom(c, repo, all[0].Branch, parent)
	}
	return nil, nil
}

// startedFrom sets from where the branch started: the branch of the parent's code, else
// that of the main worktree, which itself started nowhere.
func (f *foundWorktree) startedFrom(c *Call, repo *git.Repo, main string, parent thread.Thread) error {
	target := main
	if parent.OwnedCode() != nil {
		target = parent.Branch
	}
	if target == "" || target == f.branch {
		return nil
	}
	tip, err := repo.Branch(c.ctx, target)
	if err != nil || tip == "" {
		return err
	}
	f.owned.Target = "refs/heads/" + target
	base, err := repo.MergeBase(c.ctx, tip, git.Commit(f.owned.Start))
	if base != "" {
		f.owned.Start = string(base)
	}
	return err
}
