package code

import (
	"cmp"
	"context"
	"path/filepath"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
	"leslie/warnings"
)

// This file decides whether code has landed. The content decides: a squash or a rebase on a forge
// or by a person leaves no commit of the branch in its target.

// hasLanded reports whether what a branch brings is also elsewhere: merged by leslie, or in
// the branch from which it started or an upstream of that, as it was fetched last: as commits, or
// only as content. False where git cannot say it.
func hasLanded(ctx context.Context, repo *git.Repo, t thread.Thread, tip git.Commit) (bool, error) {
	code := t.OwnedCode()
	if at, is := code.LandingAt(string(tip)); is {
		there, err := landingThere(ctx, repo, t, at)
		if err != nil || there {
			return there, err
		}
	}
	if code.Target == "" {
		return false, nil
	}
	target, err := repo.Resolve(ctx, code.Target)
	if err != nil || target == "" {
		return false, err
	}
	if has, err := repo.Contains(ctx, target, tip); err != nil || has { // also if it was reverted: the commits are there
		return has, err
	}
	found, err := mergeOf(ctx, repo, nil, code, tip, app.BranchOf(code.Target), target)
	if err == nil && !found.nothing {
		found.nothing, err = broughtTo(ctx, repo, t, tip, target)
	}
	if codes.Has(err, codes.UntrustedGitConfig) || codes.Has(err, codes.GitUnavailable) {
		return false, nil
	}
	return found.nothing, err
}

// landingThere reports whether what landed is where it landed, or on another branch than the thread's own:
// somebody may have moved the branch back.
func landingThere(ctx context.Context, repo *git.Repo, t thread.Thread, l thread.CodeLanded) (bool, error) {
	at, err := repo.Resolve(ctx, l.Commit)
	if err != nil || at == "" {
		return false, err
	}
	if l.Onto != "" {
		if tip, err := repo.Branch(ctx, l.Onto); err != nil || tip != "" {
			if err != nil {
				return false, err
			}
			if has, err := repo.Contains(ctx, tip, at); err != nil || has {
				return has, err
			}
			if own, err := repo.Resolve(ctx, l.Tip); err == nil && own != "" { // somebody has amended the merge
				if has, err := repo.Contains(ctx, tip, own); err != nil || has {
					return has, err
				}
			}
			if l.From == "" {
				return repo.HasEquivalents(ctx, at, tip)
			}
			return repo.HasContent(ctx, git.Landing{Old: git.Commit(l.From), New: at}, tip)
		}
	}
	with, err := repo.BranchWith(ctx, at, t.Branch)
	return with != "", err
}

// landedElsewhere reports whether the commit of a landing that its branch does not have is not in this clone, and
// another machine may have it, or was only fetched.
func landedElsewhere(ctx context.Context, repo *git.Repo, code *thread.Code, l thread.CodeLanded) (bool, error) {
	if code.Machine == "" {
		return false, nil
	}
	at, err := repo.Resolve(ctx, l.Commit)
	if err != nil || at == "" {
		return err == nil, err
	}
	return repo.Fetched(ctx, l.Onto, at)
}

// The values of Item.LandedGone: what became of a landing.
const (
	GoneFromBranch = "gone"     // the branch has it no longer
	RevertedThere  = "reverted" // a later commit has taken back what it brought
)

// landingGone says what became of a landing, "" if it is there.
func landingGone(ctx context.Context, repo *git.Repo, t thread.Thread, l thread.CodeLanded) (string, error) {
	there, err := landingThere(ctx, repo, t, l)
	if err != nil || !there {
		return GoneFromBranch, err
	}
	if l.Onto == "" || l.From == "" {
		return "", nil
	}
	tip, err := repo.Branch(ctx, l.Onto)
	if err != nil || tip == "" || string(tip) == l.Commit {
		return "", err
	}
	if empty, err := repo.SameTree(ctx, l.Commit, l.From); err != nil || empty {
		return "", err
	}
	reverted, err := repo.IsReverted(ctx, git.Landing{Old: git.Commit(l.From), New: git.Commit(l.Commit)}, tip)
	if err == nil && reverted {
		return RevertedThere, nil
	}
	return "", err
}

// CheckStillLanded returns T802 for a thread whose worktree was removed because its code had landed on a branch, if
// that has it no longer, and for one that has landed on another machine, if the branch here does not have that yet, with
// the line that helps. Errors: T801, too.
func CheckStillLanded(c *app.Call, t thread.Thread, branch string) error {
	code := t.OwnedCode()
	l, landed := code.LastLanded()
	removed := code.State == thread.CodeRemoved && code.Removed != nil && (landed || code.Removed.Landed)
	kept := code.State == thread.CodeElsewhere && landed && code.Sent != nil && code.LandedAt(code.Sent.Tip)
	if code.State == thread.CodeReady && landed && c.Project().Machine() != "" {
		repo, err := OpenRepo(c)
		if err != nil {
			return err
		}
		tip, err := repo.Branch(c.Context(), t.Branch)
		if err != nil {
			return err
		}
		kept = code.LandedAt(string(tip))
	}
	if !removed && !kept {
		return nil
	}
	if on := cmp.Or(l.Onto, app.BranchOf(code.Target)); removed && on != branch && l.Into == "" {
		return thread.NoCode(t.ID, "its worktree was removed when it had landed on '"+on+"'").
			WithHint("leslie code restore " + string(t.ID) + " brings its branch and worktree back; then leslie land " + string(t.ID) + " --onto " + branch + " --squash or --rebase brings its own commits there").WithNext("leslie code " + string(t.ID))
	}
	if l.Onto != branch {
		return nil
	}
	repo, err := RepoOf(c, t)
	if err != nil {
		return err
	}
	gone, err := landingGone(c.Context(), repo, t, l)
	if err != nil || gone == "" {
		return err
	}
	short := l.Commit[:min(12, len(l.Commit))]
	switch elsewhere, err := landedElsewhere(c.Context(), repo, code, l); {
	case err != nil:
		return err
	case elsewhere:
		return thread.NoCode(t.ID, "it has landed on another machine, and '"+branch+"' here does not have that ("+short+") yet").
			WithHint("Bring it with git pull once it is pushed there").WithNext("leslie code " + string(t.ID))
	case kept:
		return nil
	}
	if gone == RevertedThere {
		return thread.NoCode(t.ID, "its worktree was removed when it had landed, and '"+branch+"' has reverted that ("+short+") since").
			WithHint("Revert the commit that reverted it, with git, or undo the landing (leslie history " + string(t.ID) + " names it) and land it again").WithNext("leslie history " + string(t.ID))
	}
	return thread.NoCode(t.ID, "its worktree was removed when it had landed, and '"+branch+"' no longer has that ("+short+")").
		WithHint("leslie code restore " + string(t.ID) + " brings its branch and worktree back; then land it again").WithNext("leslie code " + string(t.ID))
}

// WarnNotPushed adds W511, in a project on several machines, for a branch with a commit that no remote of git has.
func WarnNotPushed(c *app.Call, branch string, commit git.Commit) {
	if c.Project().Link() == nil {
		return
	}
	repo, err := OpenRepo(c)
	if err != nil {
		return
	}
	if pushed, err := repo.OnRemote(c.Context(), commit); err == nil && !pushed {
		c.Warn(warnings.BranchNotPushed.New(fact.Of("branch", branch), fact.Of("commit", commit)))
	}
}

// WarnOfSubmodules warns of the commits of submodules with which a thread landed and that its worktree alone
// has (W813).
func WarnOfSubmodules(c *app.Call, id thread.ThreadID) {
	t, err := Owner(c, string(id))
	if err != nil {
		return
	}
	l, landed := t.OwnedCode().LastLanded()
	repo, err := RepoOf(c, t)
	if err != nil || !landed || l.From == "" {
		return
	}
	changed, err := repo.Changes(c.Context(), l.From, l.Commit)
	if err != nil {
		return
	}
	w := repo.Worktree(WorktreeDir(c, t), t.OwnedCode().Admin)
	for _, ch := range changed {
		if ch.New.Submodule() && w.HasUnpushed(c.Context(), ch.Path, git.Commit(ch.New.Object)) {
			c.Warn(warnings.SubmoduleUnpushed.New(fact.Of("threadId", t.ID), fact.Of("path", ch.Path), fact.Of("commit", ch.New.Object[:12]), fact.Of("dir", filepath.Join(w.Dir, ch.Path))))
		}
	}
}

// broughtTo reports whether commits of a branch's target, or of the target's upstreams, bring what
// the branch brings, although a merge would still change something: because the same lines were
// changed again since, or it was only fetched.
func broughtTo(ctx context.Context, repo *git.Repo, t thread.Thread, tip, target git.Commit) (bool, error) {
	if brought, err := repo.HasEquivalents(ctx, tip, target); err != nil || brought {
		return brought, err
	}
	branch := app.BranchOf(t.OwnedCode().Target)
	upstreams, err := repo.Upstreams(ctx, branch)
	for _, upstream := range upstreams[branch] {
		if err != nil || upstream == "" || upstream == target {
			continue
		}
		has, containsErr := repo.Contains(ctx, upstream, tip)
		if containsErr != nil || has {
			return has, containsErr
		}
		if has, err = repo.HasEquivalents(ctx, tip, upstream); err == nil && has {
			return true, nil
		}
	}
	return false, err
}

// landed is hasLanded of an item with a head, false for what is not known.
func (item *Item) landed(ctx context.Context, repo *git.Repo) bool {
	has, err := hasLanded(ctx, repo, item.owner, git.Commit(*item.Head))
	return err == nil && has
}

// mergeOutcome is what a merge that was only computed would do.
type mergeOutcome struct {
	conflicts []string // paths, from the top of the repository; never nil
	nothing   bool     // it would change nothing
}

// mergeOf computes the merge of code, at tip, into a branch at a commit. The attributes are
// those of a worktree, or of that commit where in is nil. Errors: T808, T801.
func mergeOf(ctx context.Context, repo *git.Repo, in *git.Worktree, code *thread.Code, tip git.Commit, branch string, at git.Commit) (mergeOutcome, error) {
	base, err := merging.CodeBase(ctx, repo, code, branch, at, tip)
	if err != nil {
		return mergeOutcome{}, err
	}
	merged, err := repo.MergeTree(ctx, in, base, at, tip)
	if err != nil {
		return mergeOutcome{}, err
	}
	out := mergeOutcome{conflicts: unmergedPaths(merged)}
	if len(out.conflicts) == 0 {
		out.nothing, err = repo.SameTree(ctx, merged.Tree, string(at))
	}
	return out, err
}

// unmergedPaths returns the paths that conflict in a merge, never nil.
func unmergedPaths(m git.Merge) []string {
	paths := []string{}
	for _, u := range m.Unmerged {
		paths = append(paths, u.Path)
	}
	return paths
}
