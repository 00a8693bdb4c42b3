package code

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
	"leslie/warnings"
)

// This file tells threads whose code conflicts of each other while they still work: when
// one of them saves a checkpoint, or its agent completes it. It is a service on top of
// what was asked: whatever prevents it, that stands, and nobody is told.

// OverlapTime is how long a call may look for conflicts.
const OverlapTime = 2 * time.Second

// OverlapCommand is the operation by which threads are told of conflicts.
const OverlapCommand = "overlap"

// OwnerAndOthers returns a thread that owns code and the others whose code is still to be
// merged, the thread first; nil if it owns none, or in a line of a batch.
func OwnerAndOthers(c *app.Call, s *thread.State, own thread.Thread) []Item {
	if own.OwnedCode() == nil || c.InBatch() {
		return nil
	}
	items := []Item{itemOf(c, own)}
	for _, t := range s.ThreadsWithCode() {
		if t.ID != own.ID && t.Status != thread.Cancelled {
			items = append(items, itemOf(c, t))
		}
	}
	return items
}

// TellOverlaps compares the first item's code with that of the others, and tells both
// sides of each conflict of which they do not know: the caller by W808, the other thread
// by a message.
func TellOverlaps(c *app.Call, items []Item) {
	if len(items) < 2 {
		return
	}
	pairs := overlapping(c, items)
	if len(pairs) == 0 {
		return
	}
	found := make([]Overlap, len(pairs))
	for i, p := range pairs {
		found[i] = Overlap{p.b.ThreadID, p.paths}
	}
	TellBoth(c, items[0].ThreadID, found, (*thread.State).NoteOverlap, warnings.CodeOverlap, overlapMessage)
}

// Overlap is another thread, and the paths in which it conflicts with one.
type Overlap struct {
	With  thread.ThreadID
	Paths []string
}

// TellBoth tells the two sides of each overlap of what they do not know: the caller by a
// warning, the other thread by a message. news records that, and reports whether it is news.
func TellBoth(
	c *app.Call, own thread.ThreadID, all []Overlap, news func(s *thread.State, own, other thread.ThreadID, paths []string) bool,
	warning warnings.Code, message func(own, other thread.ThreadID, paths []string) string,
) {
	var found warnings.List
	tell := c.Project().Call(c.Context(), c.Caller(), app.Request{LockTimeout: app.SeenTimeout})
	_, err := tell.System(OverlapCommand, c.Now(), func(s *thread.State, stamp thread.Stamp) thread.ThreadID {
		found = nil
		for _, o := range all {
			if !news(s, own, o.With, o.Paths) {
				continue
			}
			i, t, err := s.Inject(thread.NewInjection{
				ID: tell.NewMessageID(s), Thread: string(o.With), Type: thread.InjectData, Urgency: thread.NextStep,
				Content: message(own, o.With, o.Paths),
			}, stamp)
			if there, _ := tell.Store().HasThread(o.With); err == nil && there { // it has not ended
				app.PlanInjectionLine(s, t.ID, i.Line())
			}
			found.Add(warning.NewOfPaths(o.Paths, nil, fact.Of("with", o.With)))
		}
		return own
	})
	if err == nil {
		c.Warn(found...)
	}
}

// OpenRepoBriefly returns a context that ends after OverlapTime, and the repository for it: nil if
// that cannot be opened. The caller calls cancel.
func OpenRepoBriefly(c *app.Call) (ctx context.Context, repo *git.Repo, cancel context.CancelFunc) {
	ctx, cancel = c.Project().Environment().Timeout(c.Context(), OverlapTime)
	repo, err := OpenRepo(c.Within(ctx))
	if err != nil {
		repo = nil
	}
	return ctx, repo, cancel
}

// overlapping returns the pairs of the first item and another whose code conflicts, as
// far as that is known in time.
func overlapping(c *app.Call, items []Item) (pairs []comparison) {
	ctx, repo, cancel := OpenRepoBriefly(c)
	defer cancel()
	if repo == nil || repo.CheckPrograms(ctx) != nil {
		return nil
	}
	var refs []string
	for _, item := range items {
		refs = append(refs, "refs/heads/"+item.Branch)
	}
	tips, err := repo.Tips(ctx, refs)
	if err != nil {
		return nil
	}
	for i := range items {
		items[i].toMerge(repo, tips)
		if own := items[0]; i > 0 && own.Head != nil && items[i].Head != nil {
			pairs = append(pairs, comparison{a: own, b: items[i]})
		}
	}
	comparePairs(ctx, repo, pairs)
	pairs = slices.DeleteFunc(pairs, func(p comparison) bool { return p.err != nil || len(p.paths) == 0 })
	if len(pairs) == 0 || items[0].landed(ctx, repo) {
		return nil
	}
	return slices.DeleteFunc(pairs, func(p comparison) bool { return p.b.landed(ctx, repo) })
}

// toMerge sets Head if the branch has commits of its own that have not landed.
func (item *Item) toMerge(repo *git.Repo, tips map[string]git.Commit) {
	code, tip := item.owner.OwnedCode(), string(tips["refs/heads/"+item.Branch])
	if tip != "" && tip != code.Start && InRepo(item.owner, repo) && !code.LandedAt(tip) {
		item.Head = &tip
	}
}

// overlapMessage says to another thread that its code conflicts.
func overlapMessage(from, to thread.ThreadID, paths []string) string {
	named := strings.Join(paths[:min(len(paths), warnings.MaxPaths)], ", ")
	if len(paths) > warnings.MaxPaths {
		named += ", ..."
	}
	return fmt.Sprintf("The code of thread '%s' and yours conflict in: %s. Agree with it on who changes what, or expect the conflict when the second of you is merged; leslie code --pairs %s %s shows how it stands.", from, named, from, to)
}
