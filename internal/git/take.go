package git

import (
	"context"
	"strings"
)

// This file commits what a worktree has and its branch has not, for somebody who cannot:
// the folder of git is often outside an agent's sandbox.

// UncommittedCommit is a commit of uncommitted work that no branch has yet.
type UncommittedCommit struct {
	Commit Commit // "" if the files are as the head has them
	Head   Commit // its parent
	Branch string // "" if the head is detached
	Files  int    // that are not committed; a folder with only new files counts as one

	in   Worktree
	made snapshot
}

// CommitUncommitted makes a commit of the files as they are: staged, unstaged, and new ones that git
// does not ignore. It writes objects only; worktree, index and branch stay. Errors: T805
// if something is in progress there, T808.
func (w Worktree) CommitUncommitted(ctx context.Context, message, actor string) (UncommittedCommit, error) {
	if err := w.CheckIdle(); err != nil {
		return UncommittedCommit{}, err
	}
	if err := w.repo.CheckPrograms(ctx); err != nil {
		return UncommittedCommit{}, err
	}
	s, err := w.snapshot(ctx)
	t := UncommittedCommit{Head: s.status.Head, Branch: s.status.Branch, Files: len(s.status.Dirty) + len(s.status.Untracked), in: w, made: s}
	if err == nil && s.changed && t.Head != "" {
		t.Commit, err = w.repo.CommitTree(ctx, s.tree, []Commit{t.Head}, message, actor)
	}
	return t, err
}

// Install moves the worktree's branch to the commit. No file changes; the index gets what
// the commit has, before the branch moves: whoever is killed in between has only staged
// the work. Errors: ErrMoved if the worktree is not on the branch at Head any more; T805.
func (t UncommittedCommit) Install(ctx context.Context) error {
	w := t.in
	lock, err := w.repo.holdLanding()
	if err != nil {
		return err
	}
	defer release(lock)
	if err := w.CheckIdle(); err != nil {
		return err
	}
	ref := "refs/heads/" + t.Branch
	out, err := w.run(ctx, command{args: []string{"for-each-ref", "--format=%(HEAD)%(objectname)", "--", ref}})
	if err != nil {
		return broken(err)
	}
	if strings.TrimSpace(string(out)) != "*"+string(t.Head) {
		return ErrMoved
	}
	if err := t.made.stage(ctx, w.run); err != nil {
		return err
	}
	return w.repo.updateRef(ctx, w.run, w.Admin, ref, t.Commit, t.Head, "leslie: uncommitted work")
}
