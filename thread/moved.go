package thread

import (
	"slices"

	"leslie/internal/fact"
	"leslie/warnings"
)

// This file finds the threads whose artifacts another one builds on, and says which of
// them have changed since, as far as records say it.

// BuiltOn is a thread on whose artifacts another one builds: its parent, if they have
// ever shared any, or a completed dependency.
type BuiltOn struct {
	ID ThreadID
	// Scope is what of it the thread inherited if it is the parent, nothing for all.
	Scope []string
	// Shared is what both have had, newest first; nothing for a dependency that was
	// never merged.
	Shared []Common
	// Moved: an operation has changed its artifacts since. What people and agents save
	// is in no record, nor is which artifacts an operation changed: with a Scope it is
	// false.
	Moved bool
}

// BuiltOn returns the threads on which a thread builds that can still change it: none
// for a terminated one. A dependency counts once it is completed, unless the thread
// reads it through a reference.
func (s *State) BuiltOn(t Thread) []BuiltOn {
	if t.Status.Terminated() {
		return nil
	}
	var out []BuiltOn
	for _, id := range sortedSet(append(slices.Clone(t.DependsOn), t.ParentID)) {
		from, ok := s.Threads.Peek(string(id))
		if !ok || from.Status == Archived || id == t.ID {
			continue
		}
		all := s.Common(t.ID, id)
		shared := owned(all)
		given := len(all) == 0 && from.Status == Completed && id != t.ParentID && !s.reads(t.ID, id)
		if len(shared) == 0 && !given || len(shared) > 0 && id != t.ParentID && from.Status != Completed {
			continue
		}
		b := BuiltOn{ID: id, Shared: shared}
		if id == t.ParentID {
			b.Scope = t.InheritedScope()
		}
		b.Moved = b.Scope == nil && (given || from.movedAfter(shared[0].At, t.ID))
		out = append(out, b)
	}
	return out
}

// CodeBuiltOn returns the threads on whose code that of a thread builds: its parent, and
// its completed dependencies.
func (s *State) CodeBuiltOn(t Thread) (out []Thread) {
	if t.OwnedCode() == nil || t.Status.Terminated() {
		return nil
	}
	for _, id := range sortedSet(append(slices.Clone(t.DependsOn), t.ParentID)) {
		from, ok := s.Threads.Peek(string(id))
		if ok && id != t.ID && from.OwnedCode() != nil && (from.Status == Completed || id == t.ParentID && !from.Status.Terminated()) {
			out = append(out, from)
		}
	}
	return out
}

// CodeBehind returns W809: another thread, or a branch, has commits that the thread lacks;
// next brings them.
func (t Thread) CodeBehind(from string, commits int, next string) warnings.Warning {
	return warnings.CodeBehind.New(fact.Of("threadId", t.ID), fact.Of("from", from), fact.Of("count", commits), fact.Of("next", next))
}

// InheritedScope returns the patterns of the artifacts that a thread inherited from its
// parent if that were not all, otherwise nil.
func (t Thread) InheritedScope() []string {
	if t.Inherit != InheritPartial {
		return nil
	}
	share, _ := t.Inherited()
	return share.Scope
}

// Inherited returns what the thread began with of its parent's artifacts; ok is false if that was nothing.
func (t Thread) Inherited() (share Share, ok bool) {
	i := slices.IndexFunc(t.Shared, func(s Share) bool { return s.How == "spawn" && s.With == t.ParentID })
	if i < 0 {
		return Share{}, false
	}
	return t.Shared[i], true
}

// reads reports whether a thread refers to another one.
func (s *State) reads(from, target ThreadID) bool {
	return slices.ContainsFunc(s.ReferencesFrom(from), func(ref Reference) bool { return ref.Target == target })
}

// movedAfter reports whether a merge, other than of one thread, or a rollback changed the
// thread's artifacts after a revision.
func (t Thread) movedAfter(at Revision, except ThreadID) bool {
	return slices.ContainsFunc(t.Shared, func(share Share) bool { return share.At > at && share.How != "spawn" && share.With != except }) ||
		slices.ContainsFunc(t.Checkpoints, func(c Checkpoint) bool { return c.At > at && c.Undo != "" })
}

// MovedOn returns W205: what a thread builds on has changed since.
func (t Thread) MovedOn(from ThreadID) warnings.Warning {
	return warnings.BaseMoved.New(fact.Of("threadId", t.ID), fact.Of("from", from),
		fact.Of("next", t.PullLine(from)))
}

// PullLine is the command that brings a thread what another one has.
func (t Thread) PullLine(from ThreadID) string {
	return "leslie pull " + string(t.ID) + " --from " + string(from)
}
