package thread

import (
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file handles claims: leases with which several agents distribute threads
// among themselves without communicating. A claim keeps others from claiming the
// thread, and other agents from changing it (claimguard.go). An expired claim has no
// effect, and nobody has to end it.

// Held returns the claim that is valid at a time, or nil.
func (t Thread) Held(now time.Time) *Claim {
	if t.Claim == nil || !now.Before(t.Claim.Until) {
		return nil
	}
	return t.Claim
}

// heldByOther returns the claim that is valid now and belongs to another actor, or
// nil.
func (t Thread) heldByOther(stamp Stamp) *Claim {
	if held := t.Held(stamp.Time); held != nil && held.Holder != stamp.Actor {
		return held
	}
	return nil
}

// Claim makes the actor the holder of a thread for d, or extends the actor's own
// claim. Errors: T101, T105, T107 if the thread is terminated, T108.
func (s *State) Claim(arg string, d time.Duration, stamp Stamp) (Thread, error) {
	t, err := s.LiveThread(arg)
	if err != nil {
		return Thread{}, err
	}
	if held := t.heldByOther(stamp); held != nil {
		return Thread{}, claimed(t, held, stamp.Time)
	}
	return s.hold(t, d, stamp), nil
}

// ClaimNext claims the first ready thread for one of these executors; nil means any
// executor. ok is false if there is none. Errors: those of List.
func (s *State) ClaimNext(d time.Duration, executors []Executor, stamp Stamp) (t Thread, ok bool, err error) {
	if executors == nil {
		executors = []Executor{""}
	}
	var firsts []Thread
	for _, e := range executors {
		page, err := s.First(Filter{Ready: true, Now: stamp.Time, Executor: e}, 1)
		if err != nil {
			return Thread{}, false, err
		}
		firsts = append(firsts, page.Threads...)
	}
	if len(firsts) == 0 {
		return Thread{}, false, nil
	}
	return s.hold(inListOrder(firsts)[0], d, stamp), true, nil
}

// Renew extends the actor's claim by its original duration. It also renews an
// expired claim if nobody else has claimed the thread. Errors: T101, T105, T107,
// T108, T903 if the actor has no claim.
func (s *State) Renew(arg string, stamp Stamp) (Thread, error) {
	t, err := s.LiveThread(arg)
	if err != nil {
		return Thread{}, err
	}
	if held := t.heldByOther(stamp); held != nil {
		return Thread{}, claimed(t, held, stamp.Time)
	}
	if t.Claim == nil || t.Claim.Holder != stamp.Actor {
		return Thread{}, codes.InvalidArgument.New(
			fact.Of("reason", "'"+string(t.ID)+"' is not claimed by '"+stamp.Actor+"'"), fact.Of("threadId", t.ID)).
			WithHint("Claim it first").WithNext("leslie claim " + string(t.ID))
	}
	return s.hold(t, t.Claim.For, stamp), nil
}

// Release ends a claim: the holder's own, or any claim if a person asks. A thread
// without a claim is not changed. Errors: T101, T105, T108.
func (s *State) Release(arg string, stamp Stamp) (Thread, error) {
	t, err := s.Thread(arg)
	if err != nil {
		return Thread{}, err
	}
	held := t.heldByOther(stamp)
	switch {
	case held != nil && !stamp.ByPerson():
		return Thread{}, claimed(t, held, stamp.Time)
	case held == nil && (t.Claim == nil || t.Claim.Holder != stamp.Actor):
		return t, nil // no claim, or an expired one of another actor
	}
	t.Claim = nil
	return s.Threads.Put(t), nil
}

// Prolong extends the actor's claim if less than half of it is left, because an
// actor that writes is still working. It does not change another actor's claim or
// a thread that does not exist.
func (s *State) Prolong(id ThreadID, stamp Stamp) {
	t, _ := s.Threads.Peek(string(id))
	held := t.Held(stamp.Time)
	if held == nil || held.Holder != stamp.Actor || held.Until.Sub(stamp.Time) >= held.For/2 {
		return
	}
	s.hold(t, held.For, stamp)
}

// ProlongRun does the same for the claim of a run that its process writes about, also if
// it has expired, as when the machine slept.
func (s *State) ProlongRun(id ThreadID, stamp Stamp) {
	t, _ := s.Threads.Peek(string(id))
	if own := t.Claim; own != nil && own.Holder == RunHolder(id) && own.Until.Sub(stamp.Time) < own.For/2 {
		stamp.As, stamp.Actor = Agent, own.Holder
		s.hold(t, own.For, stamp)
	}
}

// hold writes the actor's claim. It never shortens an existing one.
func (s *State) hold(t Thread, d time.Duration, stamp Stamp) Thread {
	c := Claim{Holder: stamp.Actor, As: stamp.As, At: stamp.Time, Until: stamp.Time.Add(d), For: d}
	if was := t.Claim; was != nil && was.Holder == stamp.Actor {
		c.At = was.At
		if was.Until.After(c.Until) {
			c.Until = was.Until
		}
	}
	t.Claim = &c
	return s.Threads.Put(t)
}

func claimed(t Thread, held *Claim, now time.Time) error {
	return codes.Claimed.New(fact.Of("threadId", t.ID), fact.Of("holder", held.Holder), fact.Of("until", held.Until),
		fact.Ms("retryAfter", held.Until.Sub(now)))
}
