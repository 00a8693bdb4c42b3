package merging

import (
	"context"

	"leslie/internal/git"
	"leslie/thread"
)

// This file finds the base of a merge of code where git's merge base gives a wrong or
// needlessly conflicting result: where one side has got changes of the other without its
// commits, or has taken them back.

// CodeBase returns the commit that takes the place of git's merge base when the code of a
// thread, at the tip theirs, is merged into a branch at the tip ours; "" for git's.
func CodeBase(ctx context.Context, repo *git.Repo, code *thread.Code, branch string, ours, theirs git.Commit) (git.Commit, error) {
	recorded, squash := code.Base, lastSquash(code)
	if recorded != nil && recorded.Target != "refs/heads/"+branch {
		recorded = nil
	}
	if recorded == nil && squash == nil {
		return "", nil
	}
	found, err := repo.MergeBase(ctx, ours, theirs)
	if err != nil {
		return "", err
	}
	switch {
	case recorded != nil && recorded.MergeBase == string(found) && recorded.Inherited:
		return inheritedBase(ctx, repo, recorded.Commit, found, ours, theirs)
	case recorded != nil && recorded.MergeBase == string(found):
		return repo.Resolve(ctx, recorded.Commit)
	case squash != nil:
		return squashBase(ctx, repo, *squash, found, ours, theirs)
	}
	return "", nil
}

// continues reports whether a commit has another, which may be gone, among its ancestors.
func continues(ctx context.Context, repo *git.Repo, tip git.Commit, commit string) (bool, error) {
	at, err := repo.Resolve(ctx, commit)
	if err != nil || at == "" {
		return false, err
	}
	return repo.Contains(ctx, tip, at)
}

// lastSquash is the last landing without the commits of the branch themselves, nil if there is
// none.
func lastSquash(code *thread.Code) (last *thread.CodeLanded) {
	for i := range code.Landed {
		if how := code.Landed[i].How; how == thread.LandedSquash || how == thread.LandedRebase {
			last = &code.Landed[i]
		}
	}
	return last
}

// squashBase is what a squash has brought, while the target has the squash, the branch has
// what it brought, and git still finds the merge base of then. A branch that began anew
// would take it away otherwise.
func squashBase(ctx context.Context, repo *git.Repo, l thread.CodeLanded, found, ours, theirs git.Commit) (git.Commit, error) {
	for commit, tip := range map[string]git.Commit{l.Commit: ours, l.Tip: theirs} {
		if has, err := continues(ctx, repo, tip, commit); err != nil || !has {
			return "", err
		}
	}
	was, err := repo.MergeBase(ctx, git.Commit(l.Commit), git.Commit(l.Tip))
	if err != nil || was != found {
		return "", err
	}
	return git.Commit(l.Tip), nil
}

// inheritedBase is the work that a branch began with, in the paths that the target has
// touched since: there the target has committed that work, or something else on purpose.
// In the others nobody but the branch may have it, so it counts as the branch's. A branch
// that has dropped the work has git's base: it takes nothing away from the target.
func inheritedBase(ctx context.Context, repo *git.Repo, work string, found, ours, theirs git.Commit) (git.Commit, error) {
	if has, err := continues(ctx, repo, theirs, work); err != nil || !has {
		return "", err
	}
	base := git.Commit(work)
	began, err := repo.Changes(ctx, string(found), string(base))
	if err != nil {
		return "", err
	}
	var paths []string
	for _, c := range began {
		paths = append(paths, c.Path)
	}
	touched, err := repo.Touched(ctx, found, ours, paths)
	if err != nil || len(touched) == 0 {
		return "", err
	}
	without := map[string]git.Blob{}
	for _, c := range began {
		if !touched[c.Path] {
			without[c.Path] = c.Old
		}
	}
	if len(without) == 0 {
		return base, nil
	}
	tree, err := repo.Replace(ctx, string(base), without)
	if err != nil {
		return "", err
	}
	return repo.TemporaryCommit(ctx, tree, found)
}
