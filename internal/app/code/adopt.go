package code

import (
	"path/filepath"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/git"
	"leslie/thread"
)

// This file finds the worktrees that threads are given with update. leslie has not made
// them, and never removes them.

// FoundWorktree is a worktree of the project's repository that somebody made.
type FoundWorktree struct {
	Branch string
	owned  thread.Code
}

// Code is what a thread would own, nil for nothing.
func (f *FoundWorktree) Code() *thread.Code {
	if f == nil {
		return nil
	}
	return &f.owned
}

// NamedWorktree returns the worktree that an edit of a thread names, nil if it names none
// of the project's repository, or one with another branch, or if git cannot be used: then
// branch and folder are only recorded. Errors: T101, T105, T904, those of reading.
func NamedWorktree(c *app.Call, id string, edit thread.Edit) (*FoundWorktree, error) {
	if edit.Worktree == nil && edit.Branch == nil {
		return nil, nil
	}
	var t, parent thread.Thread
	_, err := c.View(func(s *thread.State) (err error) {
		if t, err = s.Thread(id); err == nil && t.ParentID != "" {
			parent, _ = s.Threads.Get(string(t.ParentID))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if edit.Worktree != nil {
		if t.Worktree = *edit.Worktree; t.Worktree != "" && FolderMissing(WorktreeDir(c, t)) {
			return nil, app.FaultsError([]app.Fault{{Field: "Worktree", Value: *edit.Worktree, Problem: "there is no folder " + WorktreeDir(c, t)}})
		}
	}
	if t.Worktree == "" {
		return nil, nil
	}
	found, err := worktreeAt(c, WorktreeDir(c, t), edit.Branch, parent)
	if err == nil && found != nil && t.OwnedCode() != nil && t.OwnedCode().Made.Branch && found.Branch != t.Branch {
		err = found.renamed(c, t.Branch)
	}
	if err != nil && !codes.Has(err, codes.GitUnavailable) {
		return nil, err
	}
	return found, nil
}

// worktreeAt finds the worktree in a folder. Errors: T801, T904.
func worktreeAt(c *app.Call, dir string, branch *string, parent thread.Thread) (*FoundWorktree, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, nil //nolint:nilerr // the folder is not there: only the branch is edited
	}
	repo, err := OpenRepo(c)
	if err != nil {
		return nil, err
	}
	all, err := repo.Worktrees(c.Context())
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
		f := &FoundWorktree{Branch: w.Branch}
		f.owned = thread.Code{State: thread.CodeReady, Repo: repo.Admin, Admin: w.Admin, Start: string(w.Head)}
		return f, f.startedFrom(c, repo, all[0].Branch, parent)
	}
	return nil, nil
}

// renamed says that the branch is the one which leslie made, under another name, if that one is gone.
func (f *FoundWorktree) renamed(c *app.Call, was string) error {
	repo, err := OpenRepo(c)
	if err != nil {
		return err
	}
	tip, err := repo.Branch(c.Context(), was)
	f.owned.Made.Branch = err == nil && tip == ""
	return err
}

// startedFrom sets from where the branch started: the branch of the parent's code, else
// that of the main worktree, which itself started nowhere.
func (f *FoundWorktree) startedFrom(c *app.Call, repo *git.Repo, main string, parent thread.Thread) error {
	target := main
	if parent.OwnedCode() != nil {
		target = parent.Branch
	}
	if target == "" || target == f.Branch {
		return nil
	}
	tip, err := repo.Branch(c.Context(), target)
	if err != nil || tip == "" {
		return err
	}
	f.owned.Target = "refs/heads/" + target
	base, err := repo.MergeBase(c.Context(), tip, git.Commit(f.owned.Start))
	if base != "" {
		f.owned.Start = string(base)
	}
	return err
}
