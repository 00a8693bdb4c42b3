package code

import (
	"context"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/internal/git"
	"leslie/thread"
)

// This file decides whether code has landed. The content decides: a squash or a rebase on a forge
// or by a person leaves no commit of the branch in its target.

// hasLanded reports whether what a branch brings is also elsewhere: merged by leslie, or in
// the branch from which it started or an upstream of that, as it was fetched last: as commits, or
// only as content. False where git cannot say it.
func hasLanded(ctx context.Context, repo *git.Repo, t thread.Thread, tip git.Commit) (bool, error) {
	code := t.OwnedCode()
	if code.LandedAt(string(tip)) || code.Target == "" {
		return code.LandedAt(string(tip)), nil
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

// broughtTo reports whether commits of a branch's target, or of the target's upstreams, bring what
// the branch brings, although a merge would still change something: because the same lines were
// changed again since, or it was only fetched.
func broughtTo(ctx context.Context, repo *git.Repo, t thread.Thread, tip, target git.Commit) (bool, error) {
	if brought, err := repo.Brought(ctx, tip, target); err != nil || brought {
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
		if has, err = repo.Brought(ctx, tip, upstream); err == nil && has {
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
