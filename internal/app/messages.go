package app

import (
	"leslie/thread"
	"leslie/warnings"
)

// This file tells a caller who speaks for a thread which messages wait for its agent.

// speakerOf returns the thread for which the caller speaks: the one that it names, or for
// an agent that names none the one in whose worktree it works.
func speakerOf(c *Call, s *thread.State) (thread.Thread, bool) {
	switch {
	case c.caller.Thread != "":
		return s.Speaker(c.caller.Thread)
	case c.caller.As == thread.Agent && c.caller.Dir != "" && c.caller.Dir != c.project.root:
		return s.WorktreeOwner(c.project.worktree(c.caller.Dir))
	}
	return thread.Thread{}, false
}

// WorktreeThread returns the thread in whose worktree an agent works that names none, ""
// for everybody else and everywhere else. It warns of nothing: the caller's own use case
// reads the store next.
func WorktreeThread(c *Call) (id thread.ThreadID) {
	if c.caller.Thread != "" || c.caller.As != thread.Agent || c.caller.Dir == c.project.root {
		return ""
	}
	_, err := c.view(func(s *thread.State) error {
		own, _ := speakerOf(c, s)
		id = own.ID
		return nil
	})
	if err != nil {
		return ""
	}
	return id
}

// speaking returns a stamp that names the thread for which the caller speaks.
func speaking(c *Call, s *thread.State, stamp thread.Stamp) thread.Stamp {
	if own, ok := speakerOf(c, s); ok {
		stamp.Speaks = own.ID
	}
	return stamp
}

// isOwnAgent reports whether the caller is the agent of a thread: one that speaks for it.
func isOwnAgent(c *Call, s *thread.State, id thread.ThreadID) bool {
	own, ok := speakerOf(c, s)
	return ok && own.ID == id && c.caller.As == thread.Agent
}

// noteMessages remembers for Notices what waits for the caller's thread in a State.
func noteMessages(c *Call, s *thread.State) {
	c.looked, c.unread, c.notices = true, thread.Unread{}, nil
	if c.request.NoteWaiting {
		c.waiting = waitingForPerson(c, s)
	}
	if t, ok := speakerOf(c, s); ok {
		c.unread = s.UnreadOf(t)
		if w, waits := c.unread.Warning(t.ID); waits {
			c.notices = warnings.List{w}
		}
	}
}

// Notices returns W105 if messages wait for the thread for which the caller speaks, as
// of the State that the call last read. It is not part of the result, which may be
// stored, and is not logged, because it comes with every call until the messages are
// read. Call it after Finish.
func (c *Call) Notices() warnings.List {
	if !c.looked {
		lookForMessages(c)
	}
	return c.notices
}

// lookForMessages reads the State for Notices, if the caller may speak for a thread.
func lookForMessages(c *Call) {
	if c.draft == nil && (c.caller.Thread != "" || c.caller.As == thread.Agent) {
		_, _ = c.store.View(c.ctx, func(s *thread.State) error { noteMessages(c, s); return nil })
	}
}

// takeNotices returns what Notices does as of now, and nothing for what was taken last.
// What is taken does not come with Notices again.
func takeNotices(c *Call, last *thread.Unread) (fresh warnings.List) {
	lookForMessages(c)
	if c.unread != *last {
		fresh = c.notices
	}
	*last, c.notices = c.unread, nil
	return fresh
}

// messagesWait reports whether the caller is the agent of a thread and has messages to
// read.
func messagesWait(c *Call, s *thread.State) bool {
	own, ok := speakerOf(c, s)
	return ok && c.caller.As == thread.Agent && s.UnreadOf(own).Count > 0
}

// mayFinish keeps, inside a rule, an agent from completing its thread while messages
// are unread or comments open (T113); anybody else is warned (W105). Errors: T101, T105, T113.
func mayFinish(c *Call, s *thread.State, id string) error {
	t, err := s.Thread(id)
	if err != nil || t.Status.Terminated() {
		return err
	}
	unread := s.UnreadOf(t)
	w, waits := unread.All().Warning(t.ID)
	switch {
	case waits && isOwnAgent(c, s, t.ID):
		return unread.Refusal(t.ID)
	case waits:
		c.warn(w)
	}
	return nil
}
