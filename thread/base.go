package thread

import (
	"cmp"
	"slices"
)

// Common is content that one thread gave another at one revision, so that both
// knew it. A path that Scope means (all, when it is empty) and Manifest lacks was
// then not there in the thread that gave.
type Common struct {
	Manifest BlobID
	Scope    []string
	At       Revision
	From     string // "spawn of thread-a", say
	// Frozen content lies beside the receiver's artifacts, not among them: what
	// the receiver gives on does not come from it, unless it took the content over.
	Frozen bool
}

// maxReverted is how many spans a thread's record keeps.
const maxReverted = 20

// takenBack are a thread's spans and the one of an operation that takes its artifacts
// back to what they were at a revision, which is needed only where something was
// shared in between. No span ever goes: a rollback may lead back behind any other,
// and an older base than need be asks more and drops nothing. Of too many the oldest
// become one.
func (s *State) takenBack(t Thread, after, until Revision) []RevertedRange {
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

// sharedSince reports whether a thread gave or was given anything after a revision.
func (s *State) sharedSince(t Thread, after Revision) bool {
	since := func(share Share) bool { return share.At > after }
	given := s.Threads.where(string(pattern("with", string(t.ID))), func(o Thread) bool {
		return slices.ContainsFunc(o.Shared, func(share Share) bool { return share.With == t.ID && since(share) })
	})
	return len(given) > 0 || slices.ContainsFunc(t.Shared, since)
}

// goesOnFrom reports whether what a thread held at a revision led to what it holds.
func (t Thread) goesOnFrom(at Revision) bool {
	return !slices.ContainsFunc(t.Reverted, func(span RevertedRange) bool { return span.After < at && at < span.Until })
}

// past are those of what was shared that each of these threads goes on from. One
// that is not found has reverted nothing.
func (s *State) past(all []Common, ids ...ThreadID) []Common {
	for _, id := range ids {
		if t, err := s.Thread(string(id)); err == nil && len(t.Reverted) > 0 {
			all = slices.DeleteFunc(all, func(c Common) bool { return !t.goesOnFrom(c.At) })
		}
	}
	return all
}

// Common returns what two threads gave each other directly, newest first: what
// one was given when it was spawned from the other, what a merge brought from
// one to the other, and what one froze of the other. What either has taken back
// since (Span) is none of it.
func (s *State) Common(a, b ThreadID) []Common {
	return s.past(newestFirst(append(s.given(a, b), s.given(b, a)...)), a, b)
}

// given is what to has had of from.
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

// IndirectBase is a thread through which content came to two others: it gave to both,
// or one gave to it and it gave to the other later. Each list is newest first, and
// without what the third has taken back: what it gave later does not go on from that.
type IndirectBase struct {
	ID           ThreadID
	ToA, ToB     []Common // what it gave
	FromA, FromB []Common // what it was given, frozen content aside
}

// IndirectBases returns the threads through which two others may have content in
// common, by id.
func (s *State) IndirectBases(a, b ThreadID) []IndirectBase {
	var out []IndirectBase
	for _, id := range s.partners(a) {
		if id == a || id == b {
			continue
		}
		third := IndirectBase{ID: id, ToA: s.past(s.given(a, id), a, id), ToB: s.past(s.given(b, id), b, id),
			FromA: s.past(owned(s.given(id, a)), a, id), FromB: s.past(owned(s.given(id, b)), b, id)}
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

// partners are the threads that a thread shared something with, in order.
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
