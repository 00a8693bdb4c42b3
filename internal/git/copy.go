package git

import (
	"context"
	"strings"
)

// This file copies commits, as a rebase does.

// LineCommit is a commit with the one before it.
type LineCommit struct {
	Commit, Parent Commit // Parent is "" for the first commit of a history
	Subject        string
}

// Line returns the commits that a tip has and another commit has not, without merges, in the
// order in which a rebase applies them.
func (r *Repo) Line(ctx context.Context, since, tip Commit) (all []LineCommit, err error) {
	out, err := r.at(ctx, command{args: []string{
		"rev-list", "--reverse", "--topo-order", "--no-merges", "--no-commit-header", "--format=%H %P%x09%s", string(since) + ".." + string(tip),
	}})
	for line := range strings.Lines(string(out)) {
		commits, subject, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		commit, parent, _ := strings.Cut(commits, " ")
		all = append(all, LineCommit{Commit(commit), Commit(parent), subject})
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
