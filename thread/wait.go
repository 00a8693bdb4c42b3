package thread

import (
	"time"
)

// This file answers the questions of a wait: whether the condition holds, what
// prevents it, and when the next deadline passes.

// Until is the condition of a wait.
type Until string

// The conditions of a wait.
const (
	UntilDone     Until = "done"     // each thread is terminated, or resumable
	UntilAny      Until = "any"      // an operation concerns one of them
	UntilChildren Until = "children" // all children of each are terminated
	UntilDecision Until = "decision" // none of them has an open request
	UntilReady    Until = "ready"    // each is active, nothing holds it back, and no other has claimed it
)

// NeedsThread reports whether a wait without threads is one for the thread that the
// caller speaks for, and not one for all of them.
func (u Until) NeedsThread(speaks bool) bool {
	return u != UntilAny && (speaks || u != UntilReady)
}

// Over reports whether the condition holds for a thread. It returns false for
// UntilAny, because the State does not know which operations concerned a thread, and
// for UntilReady, which ReadyFor answers.
func (s *State) Over(t Thread, until Until) bool {
	switch until {
	case UntilDone:
		return t.Status.Terminated() || s.Resumable(t)
	case UntilChildren:
		return len(s.LiveChildren(t.ID)) == 0
	case UntilDecision:
		return len(s.OpenRequests(t.ID)) == 0
	}
	return false
}

// LiveChildren returns the children of a thread that are not terminated, ordered by
// id.
func (s *State) LiveChildren(id ThreadID) []Thread {
	return s.Threads.where(`"parentId":"`+string(id)+`"`, func(t Thread) bool {
		return t.ParentID == id && !t.Status.Terminated()
	})
}

// NextRelease returns when the next claim that holds now expires, or the zero time if
// there is none: a thread may become ready then.
func (s *State) NextRelease(now time.Time) time.Time {
	var next time.Time
	for _, t := range s.Threads.where(`"claim":{`, func(t Thread) bool { return t.Status == Active && t.Held(now) != nil }) {
		if next.IsZero() || t.Claim.Until.Before(next) {
			next = t.Claim.Until
		}
	}
	return next
}

// Nothing says why no thread was claimed.
type Nothing string

// The reasons.
const (
	NothingInTime Nothing = "timeout"             // no thread became ready in time
	NothingLeft   Nothing = "objective_completed" // every objective is completed
	NothingActive Nothing = "nothing_active"      // no thread is active, and the caller does not wait
	NothingRead   Nothing = "messages"            // messages came for a thread that the caller holds
)

// NothingComes returns why no thread will become ready; ok is false if one is active or an
// objective is open, because its threads may be created, resumed or approved meanwhile.
func (s *State) NothingComes() (why Nothing, ok bool) {
	if s.AnyActive() {
		return "", false
	}
	of, _ := s.AllCounts()
	for o := range s.Objectives.All() {
		if o.Status(of[o.ID]) == ObjectiveActive {
			return "", false
		}
	}
	return NothingLeft, len(of) > 0
}

// NextExpiry returns the next deadline to which Expire will react, or the zero time
// if there is none.
func (s *State) NextExpiry() time.Time {
	var next time.Time
	for _, g := range s.OpenRequests("") {
		if g.Deadline == nil || g.Fallback == Block {
			continue
		}
		if next.IsZero() || g.Deadline.Before(next) {
			next = *g.Deadline
		}
	}
	return next
}
