package app

import (
	"reflect"
	"slices"
	"time"

	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// SeenTimeout is how long MarkSeen waits for the lock.
const SeenTimeout = time.Second

// SeenCommand is the operation by which MarkSeen records what was read.
const SeenCommand = "seen"

// DropCommand is the command of all operations of a drop, which an undo takes back together.
const DropCommand = "drop"

// ShownMessages are messages of a thread that an answer shows to the thread's own agent.
type ShownMessages struct {
	ThreadID   thread.ThreadID      `json:"threadId"`
	Injections []thread.InjectionID `json:"injections"`
}

// WillShow notes that the answer of a call shows these messages of a thread to the thread's
// own agent. W105 speaks of the others alone. They count as read once MarkSeen was called,
// which is for whoever has written the whole answer.
func (c *Call) WillShow(t thread.Thread, shown []thread.InjectionID) {
	if len(shown) == 0 {
		return
	}
	c.shown = &ShownMessages{t.ID, shown}
	at := slices.IndexFunc(c.unread, func(u unreadThread) bool { return u.id == t.ID })
	for _, i := range t.Unseen() {
		if at >= 0 && slices.Contains(shown, i.ID) {
			c.unread[at].Unread = c.unread[at].Without(i)
		}
	}
}

// Shown returns the messages that the answer of a call shows, nil if it shows none.
func (c *Call) Shown() *ShownMessages { return c.shown }

// InjectionsFile is the file in a thread's folder that keeps every injection.
const InjectionsFile = store.MetaDir + "/injections.jsonl"

// NewMessageID returns an id that no message has.
func (c *Call) NewMessageID(s *thread.State) thread.InjectionID {
	return thread.InjectionID(c.NewID("", thread.PrefixInjection, s.InjectionExists))
}

// PlanInjectionLine plans a line in the file that keeps a thread's injections.
func PlanInjectionLine(s *thread.State, id thread.ThreadID, line string) {
	s.Plan(thread.Step{Do: thread.StepAppend, To: ThreadInStore(id) + "/" + InjectionsFile, Line: line})
}

// This file tells a caller who speaks for a thread which messages wait for its agent.

// SpeakerOf returns the thread for which the caller speaks: the one that it names, or for
// an agent that names none the one in whose worktree it works.
func (c *Call) SpeakerOf(s *thread.State) (thread.Thread, bool) {
	switch {
	case c.caller.Thread != "":
		return s.Speaker(c.caller.Thread)
	case c.caller.As == thread.Agent && c.caller.Dir != "" && c.caller.Dir != c.project.root:
		return s.WorktreeOwner(c.project.Worktree(c.caller.Dir))
	}
	return thread.Thread{}, false
}

// spokenFor returns the threads for which the caller speaks: see SpeakerOf. An agent that
// neither names one nor works in a worktree speaks for those that it holds.
func (c *Call) spokenFor(s *thread.State) []thread.Thread {
	if t, ok := c.SpeakerOf(s); ok {
		return []thread.Thread{t}
	}
	if c.caller.As != thread.Agent || !holds(c) {
		return nil
	}
	return s.HeldBy(c.caller.Actor, c.Now())
}

// OnlyHeld returns the thread that the caller holds, if it is the only one; "" for none and for several.
func (c *Call) OnlyHeld() (id thread.ThreadID) {
	_, _ = c.View(func(s *thread.State) error {
		if held := s.HeldBy(c.caller.Actor, c.Now()); len(held) == 1 {
			id = held[0].ID
		}
		return nil
	})
	return id
}

// holds reports whether the caller names no thread and has claimed some on this machine: only
// then they are looked for.
func holds(c *Call) bool { return c.caller.Thread == "" && !c.store.HeardOf(c.caller.Actor).IsZero() }

// WorktreeThread returns the thread in whose worktree a caller works that names none, ""
// everywhere else. It warns of nothing: the caller's own use case
// reads the store next.
func (c *Call) WorktreeThread() (id thread.ThreadID) {
	if c.caller.Thread != "" || c.caller.Dir == "" || c.caller.Dir == c.project.root {
		return ""
	}
	_, err := c.View(func(s *thread.State) error {
		of, _ := s.WorktreeThread(c.project.Worktree(c.caller.Dir))
		id = of.ID
		return nil
	})
	if err != nil {
		return ""
	}
	return id
}

// Speaking returns a stamp that names the thread for which the caller speaks.
func (c *Call) Speaking(s *thread.State, stamp thread.Stamp) thread.Stamp {
	if own, ok := c.SpeakerOf(s); ok {
		stamp.Speaks = own.ID
	}
	return stamp
}

// IsOwnAgent reports whether the caller is the agent of a thread: one that speaks for it, or
// that holds it and speaks for no other.
func (c *Call) IsOwnAgent(s *thread.State, id thread.ThreadID) bool {
	if c.caller.As != thread.Agent {
		return false
	}
	if own, ok := c.SpeakerOf(s); ok || c.caller.Thread != "" {
		return ok && own.ID == id
	}
	t, _ := s.Threads.Peek(string(id))
	held := t.Held(c.Now())
	return held != nil && held.Holder == c.caller.Actor
}

// noteMessages remembers for Notices what waits for the caller's thread in a State.
func (c *Call) noteMessages(s *thread.State) {
	c.looked, c.unread, c.ended = true, nil, nil
	if c.request.NoteWaiting {
		c.waiting = c.waitingForPerson(s)
	}
	own := c.spokenFor(s)
	for _, t := range own {
		c.unread = append(c.unread, unreadThread{t.ID, s.UnreadOf(t)})
	}
	if _, speaks := c.SpeakerOf(s); !speaks && holds(c) {
		own = s.FormerlyHeldBy(c.caller.Actor)
	}
	for _, t := range own {
		w, ended := t.Ending(c.caller.Actor, c.Now())
		person := c.caller.As != thread.Agent // who is told where they look at it
		if ended && !(person && (t.AtWork(c.Now()).EndedByHolder() || c.target != t.ID && c.request.Command != "status")) {
			c.ended = append(c.ended, w)
		}
	}
}

// unreadThread is what waits for the agent of a thread.
type unreadThread struct {
	id thread.ThreadID
	thread.Unread
}

// Notices returns W105 if messages wait for a thread for which the caller speaks, and W112
// if somebody else has ended the caller's claim on one, as of the State that the call last
// read, and W517 for a configuration that cannot be used, of which the call itself says
// nothing. It is not part of the result, which may be stored, and is not logged, because it
// comes with every call until the messages are read, and the file is mended. Call it after
// Finish.
func (c *Call) Notices() (all warnings.List) {
	if !c.toldConfig {
		all = c.badConfigs()
	}
	if !c.looked {
		c.lookForMessages()
	}
	return append(all, notices(c)...)
}

func notices(c *Call) (all warnings.List) {
	for _, u := range c.unread {
		if w, waits := u.Warning(u.id); waits {
			all = append(all, w)
		}
	}
	return append(all, c.ended...)
}

// lookForMessages reads the State for Notices, if the caller may speak for a thread.
func (c *Call) lookForMessages() {
	if c.draft == nil && (c.caller.Thread != "" || c.caller.As == thread.Agent || holds(c)) {
		_, _ = c.store.View(c.ctx, func(s *thread.State) error { c.noteMessages(s); return nil })
	}
}

// TakeNotices returns what Notices does as of now, and nothing for what was taken last.
// What is taken does not come with Notices again.
func (c *Call) TakeNotices(last *warnings.List) (fresh warnings.List) {
	c.lookForMessages()
	now := notices(c)
	if !reflect.DeepEqual(now, *last) {
		fresh = now
	}
	*last, c.unread, c.ended = now, nil, nil
	return fresh
}

// MessagesWait reports whether the caller is the agent of a thread and has messages to
// read.
func (c *Call) MessagesWait(s *thread.State) bool {
	return c.caller.As == thread.Agent && slices.ContainsFunc(c.spokenFor(s), func(own thread.Thread) bool { return s.UnreadOf(own).Count > 0 })
}

// MayFinish keeps, inside a rule, an agent from completing its thread while messages
// are unread or comments open (T113); anybody else is warned (W105, W818). Errors: T101, T105, T113.
func (c *Call) MayFinish(s *thread.State, id string) error {
	t, err := s.Thread(id)
	if err != nil || t.Status.Terminated() {
		return err
	}
	unread := s.UnreadOf(t)
	if !c.IsOwnAgent(s, t.ID) {
		c.Warn(unread.Warnings(t.ID)...)
		return nil
	}
	for _, comment := range s.OpenComments(t.ID) {
		if comment.Created.Actor == c.caller.Actor { // its answer to a person
			unread.Comments--
		}
	}
	if unread.Count+unread.Comments > 0 {
		return unread.Refusal(t.ID)
	}
	return nil
}
