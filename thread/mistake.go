package thread

import (
	"leslie/codes"
	"leslie/internal/fact"
)

// This file implements the mistake limit: a thread whose agent fails repeatedly is
// suspended until a person has reviewed it.

// limit returns T103 for a thread that the limit suspended.
func (m *Mistakes) limit(id ThreadID) *codes.Error {
	return codes.MistakeLimit.New(fact.Of("threadId", id), fact.Of("count", m.Count), fact.Of("lastCode", m.LastCode))
}

// mayNotContinue returns T103 for anybody who may not resume a thread that the limit
// suspended, and T402 where an agent's environment contradicts the claim to be a person.
func mayNotContinue(t Thread, stamp Stamp) error {
	if !stamp.As.Person() {
		return t.Mistakes.limit(t.ID)
	}
	return codes.PermissionDenied.New(fact.Of("capability", "resuming a thread that the mistake limit suspended"), fact.Of("threadId", t.ID)).
		WithHint("A person decides, in a terminal of their own: ask one to review and resume the thread").
		WithNext("leslie status " + string(t.ID))
}

// Limited returns T103 if the mistake limit has suspended the thread: its agent may
// not write for it until a person resumes it. It returns nil for a thread that does
// not exist. Asking does not count as relying on the thread (see Stale).
func (s *State) Limited(arg string) error {
	t, ok := s.Threads.Peek(arg)
	if !ok {
		t, _ = s.Fork().Thread(arg)
	}
	if t.Mistakes == nil {
		return nil
	}
	return t.Mistakes.limit(t.ID).WithHint("Ask a person to review and resume it. You can take other work as soon as you do not speak " +
		"for this thread: unset LESLIE_THREAD, then leslie claim --next")
}

// Stopped returns the threads that the mistake limit has suspended, ordered by id.
func (s *State) Stopped() []Thread {
	return s.Threads.where(`"mistakes":{`, func(t Thread) bool { return t.Mistakes != nil })
}

// SuspendFor suspends an active thread because of mistakes. A thread that is not
// active is not changed. Errors: T101, T105.
func (s *State) SuspendFor(arg string, m Mistakes, stamp Stamp) (Thread, error) {
	t, err := s.Thread(arg)
	if err != nil || t.Status != Active {
		return t, err
	}
	t.Mistakes = &m
	return s.setStatus(t, Suspended, "the mistake limit was reached", stamp.Time), nil
}
