package code

import (
	"context"
	"slices"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/git"
	"leslie/thread"
)

// This file predicts which threads' code would conflict with which. git computes the
// merges without a worktree; only what is committed counts.

// Pair is two threads whose code conflicts.
type Pair struct {
	Threads [2]thread.ThreadID `json:"threads"`
	Paths   []string           `json:"paths"` // from the top of the repository
}

// PairsResult has the pairs of threads whose code conflicts.
type PairsResult struct {
	app.Items[Pair]
	// Order has the compared threads as they land with the fewest conflicts early: those
	// that conflict with fewer others first, else as in a list.
	Order []thread.ThreadID `json:"order"`
	// Complete: every pair was compared. Otherwise the time was up, or git could not
	// compare one.
	Complete bool `json:"complete"`
}

// Pairs merges the code of each two threads in memory. Threads whose code has landed
// are left out. Errors: those of Code, and T808.
func Pairs(c *app.Call, in ListRequest) (*PairsResult, error) {
	all, err := List(c, in)
	if err != nil {
		return nil, err
	}
	d := &PairsResult{Order: []thread.ThreadID{}, Complete: true}
	d.Items.Items = []Pair{}
	var heads []Item
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
func (d *PairsResult) compare(c *app.Call, heads []Item) error {
	repo, err := OpenRepo(c)
	if err == nil {
		err = repo.CheckPrograms(c.Context())
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
	ctx, cancel := c.Project().Environment().Timeout(c.Context(), codeTime)
	defer cancel()
	comparePairs(ctx, repo, all)
	for _, pair := range all {
		if err := unlessLate(c, pair.err); err != nil {
			return err
		}
		d.Complete = d.Complete && pair.err == nil
		if len(pair.paths) > 0 {
			d.Items.Items = append(d.Items.Items, Pair{[2]thread.ThreadID{pair.a.ThreadID, pair.b.ThreadID}, pair.paths})
		}
	}
	return nil
}

// comparison is two threads' code, with the paths in which it conflicts.
type comparison struct {
	a, b  Item
	paths []string
	err   error
}

// comparePairs merges the heads of pairs. The repository's programs have been read.
func comparePairs(ctx context.Context, repo *git.Repo, pairs []comparison) {
	SeveralAtOnce(len(pairs), func(i int) {
		p := &pairs[i]
		p.paths, p.err = p.a.conflictsOf(ctx, repo, git.Commit(*p.a.Head), git.Commit(*p.b.Head))
	})
}

// conflictsOf returns the paths that git cannot merge of two commits, in order.
// The attributes are those of the thread's worktree, which saves a process that would read
// them from a commit.
func (item *Item) conflictsOf(ctx context.Context, repo *git.Repo, ours, theirs git.Commit) ([]string, error) {
	if ours == theirs {
		return nil, nil
	}
	merged, err := repo.MergeTree(ctx, item.in(repo), "", ours, theirs)
	return unmergedPaths(merged), err
}

// in returns the thread's worktree, nil if it is not there.
func (item *Item) in(repo *git.Repo) *git.Worktree {
	if item.State != thread.CodeReady {
		return nil
	}
	w := repo.Worktree(item.Worktree, item.owner.OwnedCode().Admin)
	return &w
}

// predict says what a merge of the code into its target would meet now, and whether it
// would change nothing. In a repository whose configuration names programs that nobody
// trusts that is not known.
func (item *Item) predict(ctx context.Context, repo *git.Repo, head, target git.Commit) error {
	code, found := item.owner.OwnedCode(), mergeOutcome{conflicts: []string{}}
	var err error
	switch takenBack := code.TakenBack(string(head)); {
	case takenBack || item.beyond > 0 && *item.Behind > 0:
		found, err = mergeOf(ctx, repo, item.in(repo), code, head, app.BranchOf(code.Target), target)
	case item.beyond > 0:
		found.nothing, err = repo.SameTree(ctx, string(head), string(target))
	}
	if err == nil && item.beyond > 0 && !found.nothing && !code.TakenBack(string(head)) {
		found.nothing, err = broughtTo(ctx, repo, item.owner, head, target)
	}
	if codes.Has(err, codes.UntrustedGitConfig) {
		return nil
	}
	if err == nil {
		landed := found.nothing && string(head) != code.Start // what has nothing of its own has not landed
		item.Conflicts, item.Landed = &found.conflicts, &landed
	}
	return err
}
