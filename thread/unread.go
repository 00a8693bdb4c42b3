package thread

import (
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/warnings"
)

// This file says what of a thread its own agent has not seen, who that agent is, and
// what follows from it.

// Unread is how many messages a thread's agent has not seen.
type Unread struct {
	Count     int
	Immediate int // of Count
}

// UnreadOf counts what waits for a thread's agent. It is the only place that does:
// whatever else waits for an agent has to be counted here, too, and be shown and marked
// as seen by context.
func (s *State) UnreadOf(t Thread) Unread {
	var u Unread
	for _, i := range t.Injections {
		switch {
		case i.Seen != nil:
		case i.Urgency == Immediate:
			u = Unread{u.Count + 1, u.Immediate + 1}
		default:
			u.Count++
		}
	}
	return u
}

// Warning returns W105 for a thread's unread messages; ok is false if there are none.
func (u Unread) Warning(id ThreadID) (w warnings.Warning, ok bool) {
	return warnings.MessagesWaiting.New(fact.Of("threadId", id), fact.Of("count", u.Count), fact.Of("immediate", u.Immediate)), u.Count > 0
}

// Refusal returns T113, for an agent that finishes its thread with unread messages.
func (u Unread) Refusal(id ThreadID) error {
	return codes.UnreadMessages.New(fact.Of("threadId", id), fact.Of("count", u.Count), fact.Of("immediate", u.Immediate))
}

// Speaker returns the thread of the State for which a caller speaks who names it by its
// id or a unique prefix. A rule that asks does not rely on the thread (see Stale).
func (s *State) Speaker(arg string) (Thread, bool) {
	if t, ok := s.Threads.Peek(arg); ok || len(arg) < minPrefix {
		return t, ok
	}
	ids := slices.DeleteFunc(s.Threads.withPrefix(arg), func(id string) bool { return !shortens(arg, id, PrefixThread) })
	if len(ids) != 1 {
		return Thread{}, false
	}
	return s.Threads.Peek(ids[0])
}

// WorktreeOwner returns the thread that is not terminated in whose worktree a folder
// is: the nearest one, and none if several threads share it. dir is written as
// Thread.Worktree is.
func (s *State) WorktreeOwner(dir string) (owner Thread, ok bool) {
	for _, t := range s.Threads.where(`"worktree":"`, func(t Thread) bool { return !t.Status.Terminated() }) {
		if dir != t.Worktree && !strings.HasPrefix(dir, t.Worktree+"/") {
			continue
		}
		switch longer := len(t.Worktree) - len(owner.Worktree); {
		case longer > 0:
			owner, ok = t, true
		case longer == 0:
			ok = false
		}
	}
	return owner, ok
}
