package thread

import (
	"leslie/codes"
	"leslie/internal/fact"
)

// This file is the mistake limit: a thread whose agent fails again and again is
// suspended until a person has looked at it.

// limit is T103 for a thread that the limit suspended.
func (m *Mistakes) limit(id ThreadID) error {
	return codes.MistakeLimit.New(fact.Of("threadId", id), fact.Of("count", m.Count), fact.Of("lastCode", m.LastCode))
}

// Limited is T103 when the mistake limit has suspended the thread: its agent
// writes nothing more until a person resumes it. A thread that is not there
// is nobody's limit. Who asks does not rely on the thread: see Stale.
func (s *State) Limited(arg string) error {
	t, ok := s.Threads.Peek(arg)
	if !ok {
		t, _ = s.Fork().Thread(arg)
	}
	if t.Mistakes == nil {
		return nil
	}
	return t.Mistakes.limit(t.ID)
}

// Stopped returns the threads that the mistake limit has suspended, in the order
// of their ids.
func (s *State) Stopped() []Thread {
	return s.Threads.where(`"mistakes":{`, func(t Thread) bool { return t.Mistakes != nil })
}

// SuspendFor suspends an active thread because of mistakes; what does not work
// on is left as it is. Errors: T101, T105.
func (s *State) SuspendFor(arg string, m Mistakes, stamp Stamp) (Thread, error) {
	t, err := s.Thread(arg)
	if err != nil || t.Status != Active {
		return t, err
	}
	t.Mistakes = &m
	return s.setStatus(t, Suspended, "the mistake limit was reached", stamp.Time), nil
}
