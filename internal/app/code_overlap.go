package app

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
	"leslie/warnings"
)

// This file tells threads whose code conflicts of each other while they still work: when
// one of them saves a checkpoint, or its agent completes it. It is a service on top of
// what was asked: whatever prevents it, that stands, and nobody is told.

// overlapTime is how long a call may look for conflicts.
const overlapTime = 2 * time.Second

// overlapCommand is the operation by which threads are told of conflicts.
const overlapCommand = "overlap"

// withCode returns a thread that owns code and the others whose code is still to be
// merged, the thread first; nil if it owns none, or in a line of a batch.
func withCode(c *Call, s *thread.State, own thread.Thread) []CodeItem {
	if own.OwnedCode() == nil || c.draft != nil {
		return nil
	}
	items := []CodeItem{itemOf(c, own)}
	for _, t := range s.ThreadsWithCode() {
		if t.ID != own.ID && t.Status != thread.Cancelled {
			items = append(items, itemOf(c, t))
		}
	}
	return items
}

// tellOverlaps compares the first item's code with that of the others, and tells both
// sides of each conflict of which they do not know: the caller by W808, the other thread
// by a message.
func tellOverlaps(c *Call, items []CodeItem) {
	if len(items) < 2 {
		return
	}
	pairs := overlapping(c, items)
	if len(pairs) == 0 {
		return
	}
	var found warnings.List
	tell := c.project.Call(c.ctx, c.caller, Request{LockTimeout: seenTimeout})
	_, err := tell.system(overlapCommand, c.now(), func(s *thread.State, stamp thread.Stamp) thread.ThreadID {
		found = nil
		for _, p := range pairs {
			own, other := p.a.ThreadID, p.b.ThreadID
			if !s.NoteOverlap(own, other, p.paths) {
				continue
			}
			i, t, err := s.Inject(thread.NewInjection{
				ID: newMessageID(tell, s), Thread: string(other), Type: thread.InjectData, Urgency: thread.NextStep,
				Content: overlapMessage(own, other, p.paths),
			}, stamp)
			if err == nil { // it has not ended
				note(s, t.ID, i.Line())
			}
			found.Add(warnings.CodeOverlap.NewOfPaths(p.paths, nil, fact.Of("with", other)))
		}
		return items[0].ThreadID
	})
	if err == nil {
		c.warn(found...)
	}
}

// overlapping returns the pairs of the first item and another whose code conflicts, as
// far as that is known in time.
func overlapping(c *Call, items []CodeItem) (pairs []comparison) {
	ctx, cancel := c.project.env.timeout(c.ctx, overlapTime)
	defer cancel()
	repo, err := openRepo(c.project.Call(ctx, c.caller, Request{}))
	if err != nil || repo.CheckPrograms(ctx) != nil {
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
	return slices.DeleteFunc(pairs, func(p comparison) bool { return p.err != nil || len(p.paths) == 0 })
}

// toMerge sets Head if the branch has commits of its own that have not landed.
func (item *CodeItem) toMerge(repo *git.Repo, tips map[string]git.Commit) {
	code, tip := item.owner.OwnedCode(), string(tips["refs/heads/"+item.Branch])
	if tip != "" && tip != code.Start && code.Repo == repo.Admin && !code.LandedAt(tip) {
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
