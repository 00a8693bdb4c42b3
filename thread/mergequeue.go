package thread

import (
	"maps"
	"slices"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file has the queue of a thread: merges into it that wait until somebody lands them.
// Nothing of a queued merge is computed before that, so what its sources have then is what
// lands. A queued merge is a pending one that does not keep others from the target.

// Queued is a merge's place in the queue of its target.
type Queued struct {
	At time.Time `json:"at"`
	// Again counts how often the same merge was queued while it waited: a landing that has
	// begun to read the sources before that reads them again.
	Again int `json:"again,omitempty"`
	// Refused says why it has not landed when somebody last tried, nil for nobody has.
	Refused *Refused `json:"refused,omitempty"`

	Unknown Unknown `json:"-"`
}

// Refused is the reason for which a queued merge did not land.
type Refused struct {
	Code    codes.Code `json:"code"`
	Message string     `json:"message"`
	At      time.Time  `json:"at"` // since when it is so

	Unknown Unknown `json:"-"`
}

// Landing reports whether git was told to land the merge's code, and nobody has recorded
// since what became of it.
func (m Merge) Landing() bool { return m.Code != nil && m.Code.Landing != nil }

// QueueMerge records a merge at the end of the queue of its target. The same merge queued
// again keeps its place and its id; it takes uncommitted work,
// and leaves messages unread, if either says so. Errors: those of Parties; T305 if the same sources are
// queued to be merged in another way.
func (s *State) QueueMerge(m Merge, stamp Stamp) (Merge, error) {
	if _, err := s.Parties(string(m.Target), names(m.Sources)); err != nil {
		return Merge{}, err
	}
	for _, old := range s.QueueOf(m.Target) {
		switch {
		case old.Landing() || !old.sameWork(m): // it may be too late for what the sources have got since
		case !old.sameWay(m):
			return Merge{}, codes.MergePending.New(fact.Of("target", m.Target), fact.Of("mergeId", old.ID)).
				WithHint("The same sources are queued to be merged in another way: abort that merge, or wait until it has landed")
		default:
			old = old.again()
			old.Queued.Again++
			if code := old.code(); m.code().Uncommitted != "" {
				code.Uncommitted = m.code().Uncommitted
				old.Code = &code
			}
			if m.Unread != "" {
				old.Unread = m.Unread
			}
			return s.Merges.Put(old), nil
		}
	}
	m.Created = Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor}
	m.Queued = &Queued{At: stamp.Time}
	return s.Merges.Put(m), nil
}

// again returns a queued merge without the reason for which it did not land, which may not
// hold any more.
func (m Merge) again() Merge {
	if m.Queued != nil {
		queued := *m.Queued
		queued.Refused, m.Queued = nil, &queued
	}
	return m
}

// sameWork reports whether two merges bring the same into the same thread.
func (m Merge) sameWork(o Merge) bool {
	return m.Target == o.Target && slices.Equal(m.Sources, o.Sources) && slices.Equal(m.Scope, o.Scope) && m.code().Only == o.code().Only && m.code().WithScope == o.code().WithScope
}

// sameWay reports whether two merges are carried out in the same way.
func (m Merge) sameWay(o Merge) bool {
	return m.Strategy == o.Strategy && m.Validate == o.Validate && m.RequireApproval == o.RequireApproval && m.code().How() == o.code().How()
}

// code is what the merge does with code, without a landing.
func (m Merge) code() MergeCode {
	if m.Code == nil {
		return MergeCode{}
	}
	return *m.Code
}

// QueueOf returns the merges that are queued into a thread, in the order in which they
// land: those whose landing was interrupted, then the oldest first.
func (s *State) QueueOf(target ThreadID) []Merge {
	out := slices.DeleteFunc(s.MergesOf(target), func(m Merge) bool { return m.Queued == nil || m.Target != target })
	slices.SortStableFunc(out, func(a, b Merge) int {
		switch {
		case a.Landing() && !b.Landing():
			return -1
		case b.Landing() && !a.Landing():
			return 1
		}
		return byTime(a.Queued.At, b.Queued.At)
	})
	return out
}

// Unchanged reports whether a pending merge is still as somebody has read it: it has the
// same decisions, and was not queued again.
func (m Merge) Unchanged(read Merge) bool {
	queued := m.Queued != nil && read.Queued != nil && m.Queued.Again == read.Queued.Again
	return maps.Equal(m.Decisions, read.Decisions) && (queued || m.Queued == nil && read.Queued == nil)
}

// RefuseQueued records why a queued merge did not land; landed says that its code has. A
// merge that is no longer queued is passed over, and so is a reason that is known.
func (s *State) RefuseQueued(id MergeID, code codes.Code, message string, landed bool, at time.Time) {
	m, ok := s.Merges.Get(string(id))
	if !ok || m.Queued == nil {
		return
	}
	interrupted := m.Landing() && !landed
	if why := m.Queued.Refused; why != nil && why.Code == code && why.Message == message && !interrupted {
		return
	}
	queued := *m.Queued
	queued.Refused = &Refused{Code: code, Message: message, At: at}
	m.Queued = &queued
	if interrupted {
		git := *m.Code
		git.Landing = nil
		m.Code = &git
	}
	s.Merges.Put(m)
}
