package thread

import (
	"cmp"
	"slices"
)

// Common is content that one thread gave another at one revision, so both had it
// then. A path that matches Scope (an empty Scope matches all) and is not in
// Manifest did not exist in the giving thread at that revision.
type Common struct {
	Manifest BlobID
	Scope    []string
	At       Revision
	From     string // "spawn of thread-a", say
	// Frozen content is stored next to the receiver's artifacts, not among them:
	// what the receiver passes on is not derived from it, unless the receiver
	// copied the content.
	Frozen bool
}

// maxReverted is how many reverted ranges a thread's record keeps.
const maxReverted = 20

// withReverted returns a thread's reverted ranges plus the one of an operation that
// returns its artifacts to their state at a revision. The range is added only if
// something was shared in between. Only a redo removes one: otherwise a rollback may go back
// beyond any other, and a base that is older than necessary causes more conflicts
// but loses nothing. If there are too many ranges, the oldest ones are joined.
func (s *State) withReverted(t Thread, after, until Revision) []RevertedRange {
	if !s.sharedSince(t, after) {
		return t.Reverted
	}
	out := append(slices.Clone(t.Reverted), RevertedRange{After: after, Until: until})
	for len(out) > maxReverted {
		out[1].After = min(out[0].After, out[1].After)
		out = out[1:]
	}
	return out
}

// sharedSince reports whether a thread gave or received anything after a revision.
func (s *State) sharedSince(t Thread, after Revision) bool {
	since := func(share Share) bool { return share.At > after }
	given := s.Threads.where(string(pattern("with", string(t.ID))), func(o Thread) bool {
		return slices.ContainsFunc(o.Shared, func(share Share) bool { return share.With == t.ID && since(share) })
	})
	return len(given) > 0 || slices.ContainsFunc(t.Shared, since)
}

// continuesFrom reports whether the thread's present content is derived from its
// content at a revision.
func (t Thread) continuesFrom(at Revision) bool {
	return !slices.ContainsFunc(t.Reverted, func(r RevertedRange) bool { return r.After < at && at < r.Until })
}

// notReverted returns the entries of all from which each of these threads continues.
// A thread that is not found has reverted nothing.
func (s *State) notReverted(all []Common, ids ...ThreadID) []Common {
	for _, id := range ids {
		if t, err := s.Thread(string(id)); err == nil && len(t.Reverted) > 0 {
			all = slices.DeleteFunc(all, func(c Common) bool { return !t.continuesFrom(c.At) })
		}
	}
	return all
}

// Common returns what two threads gave each other directly, newest first: what
// one inherited when it was spawned from the other, what a merge brought from one
// to the other, and what one froze of the other. It leaves out what either has
// reverted since (RevertedRange).
func (s *State) Common(a, b ThreadID) []Common {
	return s.notReverted(newestFirst(append(s.given(a, b), s.given(b, a)...)), a, b)
}

// given returns what the thread to has received from the thread from.
func (s *State) given(to, from ThreadID) []Common {
	var out []Common
	if t, err := s.Thread(string(to)); err == nil {
		for _, share := range t.Shared {
			if share.With == from {
				out = append(out, Common{Manifest: share.Manifest, Scope: share.Scope, At: share.At, From: share.label(to, from)})
			}
		}
	}
	for _, ref := range s.ReferencesFrom(to) {
		if ref.Target == from && ref.Manifest != "" {
			out = append(out, Common{Manifest: ref.Manifest, Scope: ref.Scope, At: ref.Revision, From: "reference " + string(ref.ID), Frozen: true})
		}
	}
	return newestFirst(out)
}

// RecordedOf returns the lists of files that records have of a thread, newest first: what
// it published, its checkpoints, what it had in common with other threads, and what
// references froze of it.
func (s *State) RecordedOf(t Thread) (lists []BlobID) {
	if t.Published != nil {
		lists = append(lists, t.Published.Manifest)
	}
	var all []Common
	for _, c := range t.Checkpoints {
		all = append(all, Common{Manifest: c.Manifest, At: c.At})
	}
	for _, share := range t.Shared {
		all = append(all, Common{Manifest: share.Manifest, At: share.At})
	}
	for other := range s.Threads.All() {
		for _, share := range other.Shared {
			if share.With == t.ID {
				all = append(all, Common{Manifest: share.Manifest, At: share.At})
			}
		}
	}
	for ref := range s.References.All() {
		if ref.Target == t.ID && ref.Manifest != "" {
			all = append(all, Common{Manifest: ref.Manifest, At: ref.Revision})
		}
	}
	for _, c := range newestFirst(all) {
		lists = append(lists, c.Manifest)
	}
	return lists
}

func newestFirst(all []Common) []Common {
	slices.SortStableFunc(all, func(x, y Common) int { return cmp.Compare(y.At, x.At) })
	return all
}

func (share Share) label(to, from ThreadID) string {
	if share.How == "spawn" {
		return "spawn of " + string(to)
	}
	return "merge of " + string(from) + " into " + string(to)
}

// IndirectBase is a thread through which two others may have received the same
// content: it gave to both, or one gave to it and it later gave to the other. Each
// list is newest first and leaves out what this thread has reverted, because what
// it gave later does not continue from that.
type IndirectBase struct {
	ID           ThreadID
	ToA, ToB     []Common // what it gave
	FromA, FromB []Common // what it received, without frozen content
}

// IndirectBases returns the threads through which two others may have content in
// common, ordered by id.
func (s *State) IndirectBases(a, b ThreadID) []IndirectBase {
	var out []IndirectBase
	for _, id := range s.partners(a) {
		if id == a || id == b {
			continue
		}
		third := IndirectBase{ID: id, ToA: s.notReverted(s.given(a, id), a, id), ToB: s.notReverted(s.given(b, id), b, id),
			FromA: s.notReverted(owned(s.given(id, a)), a, id), FromB: s.notReverted(owned(s.given(id, b)), b, id)}
		both := len(third.ToA) > 0 && len(third.ToB) > 0
		through := len(third.FromA) > 0 && len(third.ToB) > 0 || len(third.FromB) > 0 && len(third.ToA) > 0
		if both || through {
			out = append(out, third)
		}
	}
	return out
}

func owned(all []Common) []Common {
	return slices.DeleteFunc(all, func(c Common) bool { return c.Frozen })
}

// partners returns the threads with which a thread has shared content, ordered by
// id.
func (s *State) partners(id ThreadID) []ThreadID {
	var out []ThreadID
	if t, err := s.Thread(string(id)); err == nil {
		for _, share := range t.Shared {
			out = append(out, share.With)
		}
	}
	for t := range s.Threads.All() {
		if slices.ContainsFunc(t.Shared, func(share Share) bool { return share.With == id }) {
			out = append(out, t.ID)
		}
	}
	for ref := range s.References.All() {
		switch id {
		case ref.From:
			out = append(out, ref.Target)
		case ref.Target:
			out = append(out, ref.From)
		}
	}
	return sortedSet(out)
}
