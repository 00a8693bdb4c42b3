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
)

// Over reports whether the condition holds for a thread. It returns false for
// UntilAny, because the State does not know which operations concerned a thread.
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
