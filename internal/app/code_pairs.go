package app

import (
	"context"
	"slices"

	"leslie/codes"
	"leslie/internal/app/merging"
	"leslie/internal/git"
	"leslie/thread"
)

// This file predicts which threads' code would conflict with which. git computes the
// merges without a worktree; only what is committed counts.

// CodePair is two threads whose code conflicts.
type CodePair struct {
	Threads [2]thread.ThreadID `json:"threads"`
	Paths   []string           `json:"paths"` // from the top of the repository
}

// CodePairsResult has the pairs of threads whose code conflicts.
type CodePairsResult struct {
	Items[CodePair]
	// Order has the compared threads as they land with the fewest conflicts early: those
	// that conflict with fewer others first, else as in a list.
	Order []thread.ThreadID `json:"order"`
	// Complete: every pair was compared. Otherwise the time was up, or git could not
	// compare one.
	Complete bool `json:"complete"`
}

// CodePairs merges the code of each two threads in memory. Threads whose code has landed
// are left out. Errors: those of Code, and T808.
func CodePairs(c *Call, in CodeRequest) (*CodePairsResult, error) {
	all, err := Code(c, in)
	if err != nil {
		return nil, err
	}
	d := &CodePairsResult{Order: []thread.ThreadID{}, Complete: true}
	d.Items.Items = []CodePair{}
	var heads []CodeItem
	for _, item := range all.Items.Items {
		switch {
		case item.Head == nil && (item.State == thread.CodeReady || item.State == thread.CodeLost):
			d.Complete = false
		case item.Head != nil && (item.Landed == nil || !*item.Landed):
			heads = append(heads, item)
		}
	}
	if len(heads) > 1 {
		if err := d.compare(c, heads); err != nil {
			return nil, err
		}
	}
	met := map[thread.ThreadID]int{}
	for _, pair := range d.Items.Items {
		met[pair.Threads[0]]++
		met[pair.Threads[1]]++
	}
	for _, item := range heads {
		d.Order = append(d.Order, item.ThreadID)
	}
	slices.SortStableFunc(d.Order, func(a, b thread.ThreadID) int { return met[a] - met[b] })
	d.Total = len(d.Items.Items)
	return d, nil
}

// compare merges each two heads, several at once, until codeTime is over.
func (d *CodePairsResult) compare(c *Call, heads []CodeItem) error {
	repo, err := openRepo(c)
	if err == nil {
		err = repo.CheckPrograms(c.ctx)
	}
	if err != nil {
		return err
	}
	var all []comparison
	for i, a := range heads {
		for _, b := range heads[i+1:] {
			all = append(all, comparison{a: a, b: b})
		}
	}
	ctx, cancel := c.project.env.timeout(c.ctx, codeTime)
	defer cancel()
	comparePairs(ctx, repo, all)
	for _, pair := range all {
		if err := unlessLate(c, pair.err); err != nil {
			return err
		}
		d.Complete = d.Complete && pair.err == nil
		if len(pair.paths) > 0 {
			d.Items.Items = append(d.Items.Items, CodePair{[2]thread.ThreadID{pair.a.ThreadID, pair.b.ThreadID}, pair.paths})
		}
	}
	return nil
}

// comparison is two threads' code, with the paths in which it conflicts.
type comparison struct {
	a, b  CodeItem
	paths []string
	err   error
}

// comparePairs merges the heads of pairs. The repository's programs have been read.
func comparePairs(ctx context.Context, repo *git.Repo, pairs []comparison) {
	severalAtOnce(len(pairs), func(i int) {
		p := &pairs[i]
		p.paths, p.err = p.a.conflictsOf(ctx, repo, "", git.Commit(*p.a.Head), git.Commit(*p.b.Head))
	})
}

// conflictsOf returns the paths that git cannot merge of two commits, in order; base is as
// in git.Repo.MergeTree. The attributes are those of the thread's worktree, which saves a
// process that would read them from a commit.
func (item *CodeItem) conflictsOf(ctx context.Context, repo *git.Repo, base, ours, theirs git.Commit) ([]string, error) {
	paths := []string{}
	if ours == theirs {
		return paths, nil
	}
	var in *git.Worktree
	if item.State == thread.CodeReady {
		w := repo.Worktree(item.Worktree, item.owner.OwnedCode().Admin)
		in = &w
	}
	merged, err := repo.MergeTree(ctx, in, base, ours, theirs)
	if err != nil {
		return nil, err
	}
	for _, u := range merged.Unmerged {
		paths = append(paths, u.Path)
	}
	return paths, nil
}

// predict says what a merge of the code into its target would meet now. In a repository
// whose configuration names programs that nobody trusts it is not known.
func (item *CodeItem) predict(ctx context.Context, repo *git.Repo, head, target git.Commit) error {
	code := item.owner.OwnedCode()
	if (*item.Ahead == 0 || *item.Behind == 0) && !code.TakenBack(string(head)) {
		item.Conflicts = &[]string{}
		return nil
	}
	base, err := merging.CodeBase(ctx, repo, code, branchOf(code.Target), target, head)
	if err != nil {
		return err
	}
	paths, err := item.conflictsOf(ctx, repo, base, target, head)
	if codes.Has(err, codes.UntrustedGitConfig) {
		return nil
	}
	if err == nil {
		item.Conflicts = &paths
	}
	return err
}
