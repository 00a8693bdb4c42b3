package code

import (
	"context"
	"slices"
	"strings"

	"leslie/internal/app"
	"leslie/internal/git"
	"leslie/thread"
)

// This file finds what only this machine has of code: whose worktree is, or was, on another one, or of threads
// that were completed before it was committed.

// LeftHere returns what only this machine has of the code of threads, without that of which git cannot say it
// within OverlapTime.
func LeftHere(c *app.Call, owners ...thread.Thread) (all []app.CodeLeft) {
	owners = slices.DeleteFunc(slices.Clone(owners), func(t thread.Thread) bool {
		return t.OwnedCode() == nil || !isElsewhere(c, t) && !completedHere(c, t)
	})
	if len(owners) == 0 {
		return nil
	}
	repo, err := OpenRepo(c)
	if err != nil {
		return nil
	}
	ctx, cancel := c.Project().Environment().Timeout(c.Context(), OverlapTime)
	defer cancel()
	worktrees, err := repo.Worktrees(ctx)
	if err != nil {
		return nil
	}
	owners = slices.DeleteFunc(owners, func(t thread.Thread) bool { // removed ones are many, and few have a worktree left
		left := func(w git.Listed) bool { return w.Branch == t.Branch }
		return t.OwnedCode().State == thread.CodeRemoved && !slices.ContainsFunc(worktrees, left)
	})
	refs := make([]string, len(owners))
	for i, t := range owners {
		refs[i] = "refs/heads/" + t.Branch
	}
	tips, err := repo.Tips(ctx, refs)
	if err != nil || len(tips) == 0 {
		return nil
	}
	found := make([]*app.CodeLeft, len(owners))
	SeveralAtOnce(len(owners), func(i int) {
		if l, err := leftOf(ctx, repo, owners[i], c.Project().Machine(), tips[refs[i]], worktrees); err == nil {
			found[i] = l
		}
	})
	for _, l := range found {
		if l != nil {
			all = append(all, *l)
		}
	}
	return all
}

// isElsewhere reports whether the worktree of a thread's code is on another machine, or was until it was removed.
func isElsewhere(c *app.Call, t thread.Thread) bool {
	code := t.OwnedCode()
	removed := code.State == thread.CodeRemoved && code.Machine != "" && code.Machine != c.Project().Machine()
	return code.State == thread.CodeElsewhere || removed
}

// completedHere reports whether a thread of a project on several machines was completed, and its worktree is on
// this one: what it gets from then on goes with no operation.
func completedHere(c *app.Call, t thread.Thread) bool {
	code := t.OwnedCode()
	return t.Status == thread.Completed && code.State == thread.CodeReady && code.Sent != nil && code.Machine == c.Project().Machine()
}

// leftOf returns what the branch of code that is elsewhere, or of a completed thread, has here, tip, and the worktree
// that has it checked out, but for the thread's own; nil for nothing. own is this machine.
func leftOf(
	ctx context.Context, repo *git.Repo, t thread.Thread, own string, tip git.Commit, worktrees []git.Listed,
) (l *app.CodeLeft, err error) {
	code := t.OwnedCode()
	if tip == "" || !InRepo(t, repo) {
		return nil, nil
	}
	l = &app.CodeLeft{ThreadID: t.ID, Branch: t.Branch}
	if code.State == thread.CodeReady { // completed, in its own worktree
		worktrees = nil
	} else {
		l.Machine = code.Machine
	}
	if landed, ok := code.LastLanded(); ok && l.Machine != "" {
		l.LandedOn = landed.Place()
	}
	if l.Commits, err = besides(ctx, repo, t, tip); err != nil {
		return nil, err
	}
	for _, sent := range code.SentBeside {
		if l.Commits > 0 && sent.Machine == own && sent.Tip == string(tip) {
			l.Beside = strings.TrimPrefix(git.MachineRef(own, t.Branch), "refs/")
		}
	}
	if i := slices.IndexFunc(worktrees, func(w git.Listed) bool { return w.Branch == t.Branch && !w.Missing }); i >= 0 {
		status, err := worktrees[i].Status(ctx)
		if err != nil {
			return nil, err
		}
		if l.Files = len(status.Dirty) + len(status.Untracked); l.Files > 0 {
			l.Worktree = worktrees[i].Dir
		}
	}
	if l.Commits+l.Files == 0 {
		return nil, nil
	}
	return l, nil
}

// besides counts the commits of a thread's branch here, at tip, that have not landed, and that the thread's own branch
// lacks, as it was sent last by the machine that has it.
func besides(ctx context.Context, repo *git.Repo, t thread.Thread, tip git.Commit) (int, error) {
	own := []git.Commit{git.Commit(t.OwnedCode().Start)}
	if sent := t.OwnedCode().Sent; sent != nil {
		own = append(own, git.Commit(sent.Tip))
	}
	n, err := commitsBeyond(ctx, repo, tip, own)
	if err != nil || n == 0 {
		return 0, err
	}
	landed, err := hasLanded(ctx, repo, t, tip)
	if err != nil || landed {
		return 0, err
	}
	return n, nil
}

// commitsBeyond counts the commits of a branch, at tip, that none of some commits has.
func commitsBeyond(ctx context.Context, repo *git.Repo, tip git.Commit, known []git.Commit) (int, error) {
	if slices.Contains(known, tip) {
		return 0, nil
	}
	lacking, err := repo.CommitsNotIn(ctx, []git.Commit{tip}, known)
	return len(lacking), err
}

// MachineOfWorktrees returns the machine on which the code of threads is whose branches are checked out
// in worktrees here: this machine may be that one, and have lost its copy of the project. "" for none.
func MachineOfWorktrees(c *app.Call) string {
	var owners []thread.Thread
	_, err := c.View(func(s *thread.State) error {
		owners = s.ThreadsWithCode()
		return nil
	})
	if err != nil || len(owners) == 0 {
		return ""
	}
	repo, err := OpenRepo(c)
	if err != nil {
		return ""
	}
	worktrees, err := repo.Worktrees(c.Context())
	if err != nil {
		return ""
	}
	for _, t := range owners {
		here := slices.ContainsFunc(worktrees, func(w git.Listed) bool { return w.Branch == t.Branch })
		if at := t.OwnedCode(); here && at.State == thread.CodeElsewhere {
			return at.Machine
		}
	}
	return ""
}
