package thread

import (
	"strings"

	"leslie/internal/fact"
	"leslie/warnings"
)

// This file says which threads had ended and have not any more, and who builds on them:
// a wait for their end was met, and its result no longer holds. It does not matter how
// a thread came back (reopen, undo): its status says that it did. A thread that was
// cancelled meets the wait as well, and has no result.

// NoteReopened records, at the end of an operation, which threads it has made active
// or suspended again that were terminated before.
func (s *State) NoteReopened(stamp Stamp) {
	for _, c := range s.Threads.changes() {
		if Absent(c.Before) || Absent(c.After) || !statusIn(c.Before).Terminated() {
			continue
		}
		t, _ := s.Threads.Peek(strings.TrimPrefix(c.Record, TableThreads+"/"))
		if !t.Status.Terminated() {
			now := Reopening{Revision: s.Revision + 1, At: stamp.Time, As: stamp.As, Actor: stamp.Actor}
			if t.Reopened != nil && t.Reopened.At.Equal(stamp.Time) { // by Lifecycle
				now.Reason = t.Reopened.Reason
			}
			t.Reopened = &now
			s.Threads.Put(t)
		}
	}
}

// Back returns how a thread that is not terminated came back, nil if it never ended.
func (t Thread) Back() *Reopening {
	if t.Status.Terminated() {
		return nil
	}
	return t.Reopened
}

// ReopenedBelow returns the threads on which a thread builds and that came back since:
// its dependencies, if it was there before, and sources that were merged into it before.
func (s *State) ReopenedBelow(t Thread) []Thread {
	var out []Thread
	met := map[ThreadID]bool{}
	add := func(id ThreadID, before func(*Reopening) bool) {
		on, _ := s.Threads.Peek(string(id))
		if back := on.Back(); back != nil && before(back) && !met[id] {
			met[id], out = true, append(out, on)
		}
	}
	for _, id := range t.DependsOn {
		add(id, func(r *Reopening) bool { return t.Created.At.Before(r.At) })
	}
	for _, share := range t.Shared {
		if share.How == "merge" {
			add(share.With, func(r *Reopening) bool { return share.At < r.Revision })
		}
	}
	return out
}

// ReopenedAmong returns W108 for each of the threads that came back after it had ended, unless the one who is told
// brought it back.
func ReopenedAmong(threads []Thread, told string) warnings.List {
	var all warnings.List
	for _, t := range threads {
		if back := t.Back(); back != nil && back.Actor != told {
			all.Add(warnings.Reopened.New(fact.Of("threadId", t.ID), fact.Of("actor", back.Actor), fact.Of("at", back.At)))
		}
	}
	return all
}

// CancelledBelow returns W115 for each of these dependencies of a thread that was
// cancelled, none if the thread has ended itself.
func (s *State) CancelledBelow(t Thread, dependencies []ThreadID) warnings.List {
	var all warnings.List
	for _, id := range dependencies {
		if s.StatusOf(id) == Cancelled && !t.Status.Terminated() {
			all.Add(warnings.DependencyCancelled.New(fact.Of("threadId", t.ID), fact.Of("cancelled", id)))
		}
	}
	return all
}
