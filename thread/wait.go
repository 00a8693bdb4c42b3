package thread

import (
	"time"
)

// This file is what a wait looks at: whether what somebody waits for holds, what
// stands in its way, and when time alone changes something.

// Until is what somebody waits for.
type Until string

// What can be waited for.
const (
	UntilDone     Until = "done"     // each thread is terminated, or wakeable
	UntilAny      Until = "any"      // an operation concerns one of them
	UntilChildren Until = "children" // all children of each are terminated
	UntilDecision Until = "decision" // none of them has an open request
)

// Over reports whether what is waited for holds for a thread. Whether any
// operation concerned it is not the State's to say: for UntilAny it is false.
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

// LiveChildren returns the children of a thread that are not terminated, in the
// order of their ids.
func (s *State) LiveChildren(id ThreadID) []Thread {
	return s.Threads.where(`"parentId":"`+string(id)+`"`, func(t Thread) bool {
		return t.ParentID == id && !t.Status.Terminated()
	})
}

// NextExpiry returns when the next deadline passes that Expire acts on, the zero
// time when there is none.
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
