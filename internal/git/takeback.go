package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file takes a landing back.

// How a landing is taken back.
const (
	// Gone: the branch has the commit no longer.
	NothingToRevert = "gone"
	// Reset: the branch is where it was before; only for a commit that nobody else has.
	ByReset = "reset"
	// Reverted: a commit on top of the branch reverts it.
	ByRevert = "revert"
	// Already: somebody has reverted it.
	AlreadyReverted = "reverted"
)

// LaterCommits is the reason of a T806 for a landing of which later commits changed the same lines.
const LaterCommits = "later commits changed the same lines"

// PlanRevert says how a landing would be taken back now.
func (r *Repo) PlanRevert(ctx context.Context, l Landing) (how string, tip Commit, err error) {
	tip, err = r.Branch(ctx, l.Branch)
	if err != nil || tip == "" {
		return NothingToRevert, tip, err
	}
	if there, err := r.Resolve(ctx, string(l.New)); err != nil || there == "" {
		return NothingToRevert, tip, err
	}
	has, err := r.Contains(ctx, tip, l.New)
	if err == nil && has && tip != l.New {
		if empty, err := r.SameTree(ctx, string(l.New), string(l.base())); err != nil || empty {
			return NothingToRevert, tip, err // it brought nothing that could be reverted
		}
	}
	if err == nil && !has {
		has, err = r.HasContent(ctx, l, tip)
	}
	switch {
	case err != nil || !has:
		return NothingToRevert, tip, err
	case tip != l.New:
		if taken, err := r.IsReverted(ctx, l, tip); err != nil || taken {
			return AlreadyReverted, tip, err
		}
		return ByRevert, tip, nil
	}
	out, err := r.at(ctx, command{args: []string{"for-each-ref", "--format=%(refname)", "--contains=" + string(l.New), "refs/heads", "refs/remotes", "refs/tags"}})
	if err != nil {
		return "", tip, broken(err)
	}
	for _, ref := range strings.Fields(string(out)) {
		if branch := strings.TrimPrefix(ref, "refs/heads/"); branch != l.Branch && !slices.Contains(l.Own, branch) {
			return ByRevert, tip, nil
		}
	}
	return ByReset, tip, nil
}

// HasContent reports whether a branch at a tip has what a landing brought, although it has not its commit: to
// merge that would change nothing, or other commits bring the same.
func (r *Repo) HasContent(ctx context.Context, l Landing, tip Commit) (bool, error) {
	m, err := r.MergeTree(ctx, nil, l.base(), tip, l.New)
	if err == nil && len(m.Unmerged) == 0 {
		if same, err := r.SameTree(ctx, m.Tree, string(tip)); err != nil || same {
			return same, err
		}
	}
	if err != nil {
		return false, err
	}
	return r.HasEquivalents(ctx, l.New, tip)
}

// reversed merges what takes a landing back into a branch at a tip, without a worktree.
func (r *Repo) reversed(ctx context.Context, l Landing, tip Commit) (Merge, error) {
	return r.MergeTree(ctx, nil, l.New, tip, l.base())
}

// IsReverted reports whether a branch at a tip has what a landing brought no longer: to revert it would
// change nothing.
func (r *Repo) IsReverted(ctx context.Context, l Landing, tip Commit) (bool, error) {
	m, err := r.reversed(ctx, l, tip)
	if err != nil || len(m.Unmerged) > 0 {
		return false, err
	}
	return r.SameTree(ctx, m.Tree, string(tip))
}

// CheckRevert returns what would prevent RevertLanding from taking a landing back so: T805, T806, T808.
func (r *Repo) CheckRevert(ctx context.Context, l Landing, how string, tip Commit) error {
	back, tree := Landing{Branch: l.Branch, Old: tip}, string(l.Old)
	switch how {
	case NothingToRevert, AlreadyReverted:
		return nil
	case ByRevert:
		m, err := r.reversed(ctx, l, tip)
		if err != nil {
			return err
		}
		if len(m.Unmerged) > 0 {
			return l.laterCommits(r, m)
		}
		tree = m.Tree
	}
	at, err := r.checkedOut(ctx, back)
	if err != nil || at == nil {
		return err
	}
	return at.CanLand(ctx, back, tree)
}

// laterCommits is T806 for paths that later commits changed.
func (l Landing) laterCommits(r *Repo, m Merge) error {
	var paths []string
	for _, u := range m.Unmerged {
		paths = append(paths, u.Path)
	}
	return l.blocked(r.Admin, LaterCommits, paths...)
}

// RevertLanding takes a landing back, as Back says, and returns how. Local work stays as it
// is. It waits for another landing. Errors: ErrMoved if somebody moves the branch all the
// time; T806 if local work, or a later commit, is where it would change something; T805,
// T808.
func (r *Repo) RevertLanding(ctx context.Context, l Landing, message, actor string) (how string, err error) {
	lock, err := r.awaitLanding(ctx)
	if err != nil {
		return "", err
	}
	defer release(lock)
	for range backTries {
		if how, err = r.takeBack(ctx, l, message, actor, lock); !errors.Is(err, ErrMoved) {
			break
		}
	}
	return how, err
}

// backTries is how often a landing is taken back from a branch that moves.
const backTries = 3

func (r *Repo) takeBack(ctx context.Context, l Landing, message, actor string, lock *os.File) (how string, err error) {
	how, tip, err := r.PlanRevert(ctx, l)
	switch {
	case err != nil || how == NothingToRevert || how == AlreadyReverted:
		return how, err
	case how == ByReset:
		back := Landing{Branch: l.Branch, Old: l.New, New: l.Old}
		return how, r.moveTo(ctx, back, "leslie: undo", lock)
	}
	m, err := r.reversed(ctx, l, tip)
	if err != nil {
		return how, err
	}
	if len(m.Unmerged) > 0 {
		return how, l.laterCommits(r, m)
	}
	commit, err := r.CommitTree(ctx, m.Tree, []Commit{tip}, message, actor)
	if err != nil {
		return how, err
	}
	return how, r.land(ctx, Landing{Branch: l.Branch, Old: tip, New: commit}, lock)
}

// moveTo moves a branch to a commit that need not go on from where it is, with the files of the worktree that has it
// checked out, and its index: what is staged there stays so. why is for the log of the branch.
func (r *Repo) moveTo(ctx context.Context, l Landing, why string, lock *os.File) error {
	at, err := r.checkedOut(ctx, l)
	if err != nil {
		return err
	}
	if at == nil {
		return r.UpdateRef(ctx, "refs/heads/"+l.Branch, l.New, l.Old, why)
	}
	if err := at.CheckIdle(); err != nil {
		return err
	}
	if err := r.CheckPrograms(ctx); err != nil {
		return err
	}
	done, err := at.resume(ctx, l, lock)
	if err != nil || done {
		return err
	}
	for _, args := range moving(l.Old, string(l.New)) {
		if _, err = leaving(ctx, at.run, command{args: args}, lock, at.landingLocks(l.Branch)); killed(err) || ctx.Err() != nil {
			return broken(err)
		}
	}
	if err == nil {
		err = r.UpdateRef(ctx, "refs/heads/"+l.Branch, l.New, l.Old, why)
	}
	_ = os.Remove(at.undoing())
	if err == nil || errors.Is(err, ErrMoved) {
		return err
	}
	if paths := notUptodate(stderrOf(err)); len(paths) > 0 {
		return l.blocked(at.Dir, "files with local changes are in the way", paths...)
	}
	return broken(err)
}

// Reland lands what was taken back by a Reset. It waits for another landing. Errors:
// ErrMoved if the branch is not where it was before the landing, or git has the commit no
// longer; T805, T806, T808.
func (r *Repo) Reland(ctx context.Context, l Landing) error {
	lock, err := r.awaitLanding(ctx)
	if err != nil {
		return err
	}
	defer release(lock)
	if has, err := r.CanReland(ctx, l); err != nil || has {
		return err
	}
	at, err := r.checkedOut(ctx, l)
	if err != nil {
		return err
	}
	if at == nil {
		return r.UpdateRef(ctx, "refs/heads/"+l.Branch, l.New, l.Old, "leslie: redo")
	}
	if err := at.CheckIdle(); err != nil {
		return err
	}
	done, err := at.resume(ctx, l, lock)
	if err != nil || done {
		return err
	}
	if err = at.forward(ctx, l, lock); !killed(err) && ctx.Err() == nil {
		_ = os.Remove(at.undoing())
	}
	return err
}

// CanReland returns nil if Reland finds the branch and the commit, and reports whether
// the branch has it already. Errors: ErrMoved if not.
func (r *Repo) CanReland(ctx context.Context, l Landing) (has bool, err error) {
	there, err := r.Resolve(ctx, string(l.New))
	if err != nil {
		return false, err
	}
	tip, err := r.Branch(ctx, l.Branch)
	switch {
	case err != nil:
		return false, err
	case there == "" || tip != l.Old && tip != l.New:
		return false, ErrMoved
	}
	return tip == l.New, nil
}

// CheckReland returns what would prevent Reland: its errors.
func (r *Repo) CheckReland(ctx context.Context, l Landing) error {
	if has, err := r.CanReland(ctx, l); err != nil || has {
		return err
	}
	at, err := r.checkedOut(ctx, l)
	if err != nil || at == nil {
		return err
	}
	return at.CanLand(ctx, l, string(l.New))
}

// undoing is the file that says, while a git moves a worktree back or forward again, from
// where and to where.
func (w Worktree) undoing() string { return filepath.Join(w.Admin, "leslie-undo") }

// resume goes on with moving a worktree if the git that did so was killed, and reports
// whether that is done. Otherwise it notes that this begins.
func (w Worktree) resume(ctx context.Context, back Landing, lock *os.File) (done bool, err error) {
	note := string(back.Old) + " " + string(back.New)
	if text, _ := os.ReadFile(w.undoing()); string(text) == note {
		if done, err = w.repair(ctx, back, lock); err != nil || done {
			return done, err
		}
	}
	if err := os.WriteFile(w.undoing(), []byte(note), 0o644); err != nil {
		return false, writeFailed(w.undoing(), err)
	}
	return false, nil
}

// notUptodate reads which files read-tree would overwrite: changed, staged, or not tracked.
func notUptodate(stderr string) (paths []string) {
	for _, line := range strings.Split(stderr, "\n") {
		for _, about := range []string{"error: Entry '", "error: Untracked working tree file '", "error: Updating '"} {
			if rest, ok := strings.CutPrefix(line, about); ok {
				path, _, _ := strings.Cut(rest, "' ")
				paths = append(paths, path)
			}
		}
	}
	return paths
}
