package thread

import (
	"leslie/codes"
	"leslie/internal/fact"
)

// This file decides who may reopen a thread that was completed or cancelled.

// mayReopen returns nil if the actor may make a terminated thread active again: a
// person, whoever speaks for the thread or for one above it, holds the claim of one
// above it, or spawned the thread. Errors: T402 for anybody else, T603 if the thread's
// objective is done.
func (s *State) mayReopen(t Thread, stamp Stamp) error {
	if o, ok := s.Objectives.Get(string(t.ObjectiveID)); ok && o.Done() {
		return codes.ObjectiveDone.New(fact.Of("objectiveId", o.ID), fact.Of("threadId", t.ID)).
			WithHint("Its objective is done: create another objective, and spawn a thread there")
	}
	if s.answersFor(t, stamp) {
		return nil
	}
	return codes.PermissionDenied.New(fact.Of("capability", "reopening another agent's thread"), fact.Of("threadId", t.ID)).
		WithHint("A person decides, or the agent of the thread or of its parent: ask one of them to run leslie reopen " + string(t.ID)).
		WithNext("leslie status " + string(t.ID))
}

// answersFor reports whether somebody may say what becomes of a thread: a person, whoever
// spawned it, holds the claim of one above it, or speaks for it or one above it.
func (s *State) answersFor(t Thread, stamp Stamp) bool {
	return stamp.ByPerson() || t.Created.As == stamp.As && t.Created.Actor == stamp.Actor || s.leads(t, stamp) || s.speaksAbove(t, stamp)
}

// MayDrop returns nil if the actor may throw a thread away: whoever may say what becomes of it,
// and who holds it. Errors: T402.
func (s *State) MayDrop(t Thread, stamp Stamp) error {
	if held := t.Held(stamp.Time); s.answersFor(t, stamp) || held != nil && held.Holder == stamp.Actor {
		return nil
	}
	return codes.PermissionDenied.New(fact.Of("capability", "dropping another's thread"), fact.Of("threadId", t.ID)).
		WithHint("A person decides, or whoever spawned the thread or holds it: ask one of them to run leslie drop " + string(t.ID)).
		WithNext("leslie status " + string(t.ID))
}

// speaksAbove reports whether the actor speaks for the thread or for one above it.
func (s *State) speaksAbove(t Thread, stamp Stamp) bool {
	if stamp.Speaks == "" {
		return false
	}
	own, err := s.Fork().Thread(string(stamp.Speaks)) // asking is not relying on it: see Stale
	for at, ok := t, err == nil; ok; at, ok = s.Threads.Peek(string(at.ParentID)) {
		if at.ID == own.ID {
			return true
		}
	}
	return false
}
