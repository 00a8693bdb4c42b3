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

// Unread is how many messages a thread's agent has not seen, and how many comments on the
// thread are open: seen or not, they wait for it.
type Unread struct {
	Count     int
	Immediate int // of Count
	Comments  int
}

// UnreadOf counts what waits for a thread's agent. It is the only place that does:
// whatever else waits for an agent has to be counted here, too, and be shown and marked
// as seen by context.
func (s *State) UnreadOf(t Thread) Unread {
	u := Unread{Comments: len(s.OpenComments(t.ID))}
	for _, i := range t.Injections {
		switch {
		case i.Seen != nil:
		case i.Urgency == Immediate:
			u.Count, u.Immediate = u.Count+1, u.Immediate+1
		default:
			u.Count++
		}
	}
	return u
}

// Without counts what waits apart from one unseen message.
func (u Unread) Without(i Injection) Unread {
	u.Count--
	if i.Urgency == Immediate {
		u.Immediate--
	}
	return u
}

// Warning returns W105 for a thread's unread messages; ok is false if there are none.
func (u Unread) Warning(id ThreadID) (w warnings.Warning, ok bool) {
	return warnings.MessagesWaiting.New(fact.Of("threadId", id), fact.Of("count", u.Count), fact.Of("immediate", u.Immediate)), u.Count > 0
}

// Warnings returns W105 for a thread's unread messages, and W818 for its open comments.
func (u Unread) Warnings(id ThreadID) (all warnings.List) {
	if w, ok := u.Warning(id); ok {
		all = append(all, w)
	}
	if u.Comments > 0 {
		all = append(all, warnings.CommentsOpen.New(fact.Of("threadId", id), fact.Of("count", u.Comments)))
	}
	return all
}

// Refusal returns T113, for an agent that finishes its thread with unread messages, or with
// open comments.
func (u Unread) Refusal(id ThreadID) error {
	facts := []fact.Fact{fact.Of("threadId", id), fact.Of("count", u.Count), fact.Of("immediate", u.Immediate)}
	if u.Comments == 0 {
		return codes.UnreadMessages.New(facts...)
	}
	err := codes.UnreadMessages.New(append(facts, fact.Of("comments", u.Comments))...).
		WithHint("Act on the open comments and resolve each with leslie comment resolve, then complete the thread")
	if u.Count > 0 {
		return err.WithNext("leslie context "+string(id), "leslie comments "+string(id))
	}
	return err.WithNext("leslie comments " + string(id))
}

// HaveRead returns T409 for the first of these threads whose own agent has not seen a
// constraint, or a message that was to be considered at once; nil if there is none. A
// thread whose executor is a person has no agent that would see them.
func (s *State) HaveRead(threads []ThreadID) error {
	for _, id := range threads {
		t, _ := s.Threads.Peek(string(id))
		count := 0
		for _, i := range t.Unseen() {
			if i.Type == InjectConstraint || i.Urgency == Immediate {
				count++
			}
		}
		if count > 0 && t.Executor != ByHuman {
			return codes.SourceUnread.New(fact.Of("threadId", id), fact.Of("count", count))
		}
	}
	return nil
}

// Speaker returns the thread of the State for which a caller speaks who names it by its
// id or a unique prefix. A rule that asks does not rely on the thread (see Stale).
func (s *State) Speaker(arg string) (Thread, bool) {
	if t, ok := s.Threads.Peek(arg); ok || len(arg) < minPrefix {
		return t, ok
	}
	ids := slices.DeleteFunc(s.Threads.withPrefix(arg), func(id string) bool { return !shortens(arg, id, PrefixThread) })
	if !unique(arg, len(ids)) {
		return Thread{}, false
	}
	return s.Threads.Peek(ids[0])
}

// WorktreeOwner returns the thread that is not terminated in whose worktree a folder
// is: the nearest one, and none if several threads share it. dir is written as
// Thread.Worktree is.
func (s *State) WorktreeOwner(dir string) (owner Thread, ok bool) {
	return s.inWorktree(dir, func(t Thread) bool { return !t.Status.Terminated() })
}

// WorktreeThread is WorktreeOwner, or where there is none the completed thread whose worktree is still there.
func (s *State) WorktreeThread(dir string) (of Thread, ok bool) {
	if of, ok = s.WorktreeOwner(dir); ok {
		return of, ok
	}
	return s.inWorktree(dir, func(t Thread) bool {
		return t.Status == Completed && t.OwnedCode() != nil && t.OwnedCode().State == CodeReady
	})
}

func (s *State) inWorktree(dir string, counts func(Thread) bool) (owner Thread, ok bool) {
	for _, t := range s.Threads.where(`"worktree":"`, counts) {
		if t.Worktree == "" || dir != t.Worktree && !strings.HasPrefix(dir, t.Worktree+"/") {
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
