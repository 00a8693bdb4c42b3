package app

import (
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file handles claims, by which several agents distribute threads. Writing to a
// thread extends the holder's claim.

// ClaimRequest claims a thread, or with Next the first ready one.
type ClaimRequest struct {
	Thread string // "": the thread that the caller speaks for
	Next   bool
	For    time.Duration // 0: what the configuration says
	// Wait is how long Next waits for a thread to become ready; 0: not at all.
	Wait time.Duration
}

// ClaimResult says who holds a thread. Without a thread, there was none to claim;
// without a holder, the thread is not claimed.
type ClaimResult struct {
	ThreadID *thread.ThreadID `json:"threadId"`
	Holder   *string          `json:"holder"`
	Until    *time.Time       `json:"until"`
	// Derived: the caller is the holder, by a name that was derived for it.
	Derived  bool            `json:"derived,omitempty"`
	Revision thread.Revision `json:"revision"`
	// Reason says why there is no thread after a wait.
	Reason thread.Nothing `json:"reason,omitempty"`
	Change
	taken bool
}

// Taken reports whether this call claimed the thread.
func (d *ClaimResult) Taken() bool { return d.taken }

func claimOf(t thread.Thread) *ClaimResult {
	d := &ClaimResult{ThreadID: &t.ID, Revision: t.Revision}
	if c := t.Claim; c != nil {
		d.Holder, d.Until = &c.Holder, &c.Until
	}
	return d
}

// Claim makes the caller the holder of a thread for a limited time. Errors: T903,
// T101, T105, T107, T108, T509 for the configuration, and those of a write; of a wait
// T904. A wait without a thread to claim is no error: the result says why.
func Claim(c *Call, in ClaimRequest) (*ClaimResult, error) {
	if err := checkHolder(c); err != nil {
		return nil, err
	}
	switch {
	case in.For < 0:
		return nil, codes.InvalidArgument.New(fact.Of("reason", "For must not be negative"))
	case in.Wait < 0 || in.Wait > 0 && (!in.Next || c.draft != nil):
		return nil, codes.InvalidArgument.New(fact.Of("reason", "Wait must not be negative, goes with Next, and cannot be part of a batch"))
	case in.Next && in.Thread != "":
		return nil, codes.InvalidArgument.New(fact.Of("reason", "Next chooses the thread: leave Thread empty"))
	}
	id := ""
	if !in.Next {
		id = c.threadOr(in.Thread)
	}
	d, err := claimDuration(c, true, in.For)
	if err != nil {
		return nil, err
	}
	if in.Wait > 0 {
		return claimWhenReady(c, in.Wait, d)
	}
	return write(c, func(s *thread.State, stamp thread.Stamp) (*ClaimResult, thread.ThreadID, error) {
		t, found, err := thread.Thread{}, true, error(nil)
		if in.Next {
			t, found, err = s.ClaimNext(d, claimable(stamp), stamp)
		} else {
			t, err = s.Claim(id, d, stamp)
		}
		switch {
		case err != nil:
			return nil, "", err
		case !found:
			return &ClaimResult{Revision: s.Revision}, "", nil
		}
		return taken(c, s, t), t.ID, nil
	})
}

// taken is the result for a thread that the caller has claimed.
func taken(c *Call, s *thread.State, t thread.Thread) *ClaimResult {
	noteMoved(c, s, t)
	d := claimOf(t)
	d.taken, d.Derived = true, c.caller.Derived
	return d
}

// claimDuration returns how long a claim lasts that is wanted for d, or for 0 as long as
// the configuration says. Errors: T509 for the configuration.
func claimDuration(c *Call, wanted bool, d time.Duration) (time.Duration, error) {
	if !wanted || d > 0 {
		return d, nil
	}
	set, err := configured(c)
	return set.claimFor, err
}

// claimable returns the executors whose threads Next may claim, nil for all: an agent
// does not claim threads of people.
func claimable(stamp thread.Stamp) []thread.Executor {
	if stamp.As == thread.Agent {
		return []thread.Executor{thread.ByAgent}
	}
	return nil
}

// HolderRequest is a request by the holder of a claim.
type HolderRequest struct {
	Thread string // "": the thread that the caller speaks for
}

// Renew extends the caller's claim. Errors: T903, T101, T105, T107, T108, and those of
// a write.
func Renew(c *Call, in HolderRequest) (*ClaimResult, error) {
	return changeClaim(c, in, (*thread.State).Renew)
}

// Release ends the caller's claim; a person may end anybody's. Errors: T903, T101,
// T105, T108, and those of a write.
func Release(c *Call, in HolderRequest) (*ClaimResult, error) {
	return changeClaim(c, in, (*thread.State).Release)
}

func changeClaim(c *Call, in HolderRequest, do func(*thread.State, string, thread.Stamp) (thread.Thread, error)) (*ClaimResult, error) {
	if err := checkHolder(c); err != nil {
		return nil, err
	}
	id := c.threadOr(in.Thread)
	return write(c, func(s *thread.State, stamp thread.Stamp) (*ClaimResult, thread.ThreadID, error) {
		t, err := do(s, id, stamp)
		if err != nil {
			return nil, "", err
		}
		d := claimOf(t)
		if t.Held(stamp.Time) == nil { // another's that has run out
			d.Holder, d.Until = nil, nil
		}
		return d, t.ID, nil
	})
}

// respectClaim applies, inside a rule, the rule about threads that somebody else has
// claimed: see thread.State.RespectClaim. Errors: T101, T105, T108.
func respectClaim(c *Call, s *thread.State, id string, stamp thread.Stamp) error {
	found, err := s.RespectClaim(id, stamp)
	c.warn(found...)
	return err
}

// checkHolder refuses an agent that has only the login name, because all agents of
// that user would count as one holder. Errors: T903.
func checkHolder(c *Call) error {
	if c.caller.As == thread.Agent && c.caller.Unnamed {
		return codes.InvalidArgument.New(fact.Of("reason", "Actor: the agent has no session id and no name could be derived: give one"))
	}
	return nil
}
