package git

import (
	"context"
	"strings"
)

// This file copies commits, as a rebase does, and finds copies.

// CommitSummary is a commit with the one before it.
type CommitSummary struct {
	Commit, Parent Commit // Parent is "" for the first commit of a history
	Subject        string
}

// CommitsToRebase returns the commits that a tip has and another commit has not, without merges, in the
// order in which a rebase applies them.
func (r *Repo) CommitsToRebase(ctx context.Context, since, tip Commit) (all []CommitSummary, err error) {
	out, err := r.at(ctx, command{args: []string{
		"rev-list", "--reverse", "--topo-order", "--no-merges", "--no-commit-header", "--format=%H %P%x09%s", string(since) + ".." + string(tip),
	}})
	for line := range strings.Lines(string(out)) {
		commits, subject, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		commit, parent, _ := strings.Cut(commits, " ")
		all = append(all, CommitSummary{Commit(commit), Commit(parent), subject})
	}
	return all, broken(err)
}

// Copy makes a commit with a tree on top of another, with the author, the author's date and the
// message of a third. Where the tree is that of the other, there is nothing to commit: it is the
// other.
func (r *Repo) Copy(ctx context.Context, of Commit, tree string, onto Commit) (Commit, error) {
	if same, err := r.SameTree(ctx, tree, string(onto)); err != nil || same {
		return onto, err
	}
	out, err := r.at(ctx, command{args: []string{
		"rev-list", "--max-count=1", "--no-commit-header", "--date=raw", "--format=%an%x00%ae%x00%ad%x00%B", string(of),
	}})
	parts := strings.SplitN(string(out), "\x00", 4)
	switch {
	case err != nil:
		return "", broken(err)
	case len(parts) != 4:
		return "", unavailable(nil, "git rev-list: unexpected answer")
	}
	return r.commitTree(ctx, tree, []Commit{onto}, strings.TrimRight(parts[3], "\n"), parts[0],
		"GIT_AUTHOR_NAME="+parts[0], "GIT_AUTHOR_EMAIL="+parts[1], "GIT_AUTHOR_DATE="+parts[2])
}

// maxBeyond is among how many commits a copy is looked for.
const maxBeyond = 2000

// HasEquivalents reports whether commits that a target has and a tip has not bring what the tip has
// beyond their merge base: one of them has the changes of all together (a squash), or each commit
// has its equal there (a rebase, cherry picks). What changed the same lines since does not matter;
// but what the target reverted, as a whole or one of the commits, was not brought.
func (r *Repo) HasEquivalents(ctx context.Context, tip, target Commit) (bool, error) {
	base, err := r.MergeBase(ctx, target, tip)
	if err != nil || base == "" || base == target || base == tip {
		return false, err
	}
	if _, beyond, err := r.Count(ctx, tip, target); err != nil || beyond > maxBeyond {
		return false, err
	}
	brought, err := r.allCopied(ctx, base, tip, target)
	if err == nil && !brought {
		brought, err = r.changeCopied(ctx, base, tip, base, target)
	}
	if err != nil || !brought {
		return false, err
	}
	commits, err := r.CommitsToRebase(ctx, base, tip)
	if err != nil {
		return false, err
	}
	for _, c := range append(commits, CommitSummary{Commit: tip, Parent: base}) {
		if reverted, err := r.changeCopied(ctx, c.Commit, c.Parent, c.Commit, target); err != nil || reverted {
			return false, err
		}
	}
	return true, nil
}

// changeCopied reports whether a commit of a target changes what differs between two others;
// base is one that the target's side of the history has, or an end of that.
func (r *Repo) changeCopied(ctx context.Context, from, to, base, target Commit) (bool, error) {
	change, err := r.TemporaryCommit(ctx, string(to)+"^{tree}", from)
	if err != nil {
		return false, err
	}
	return r.allCopied(ctx, base, change, target)
}

// allCopied reports whether each commit between a base and a tip, of which there is one at least,
// has its equal in a target. Merges have none and count as none.
func (r *Repo) allCopied(ctx context.Context, base, tip, target Commit) (bool, error) {
	out, err := r.at(ctx, command{args: []string{"cherry", string(target), string(tip), string(base)}})
	lines := strings.Fields(string(out))
	for i := 0; i < len(lines); i += 2 {
		if lines[i] != "-" {
			return false, nil
		}
	}
	return len(lines) > 0 && err == nil, broken(err)
}
