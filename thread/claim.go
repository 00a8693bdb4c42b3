package thread

import (
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file is about claims: leases by which several agents share out threads
// without talking to each other. A claim is advice to those who ask for one; it
// keeps nobody from writing. One that has run out counts for nothing, whoever
// looks, and needs nobody to end it.

// Held is the claim that holds at a time, nil for none.
func (t Thread) Held(now time.Time) *Claim {
	if t.Claim == nil || !now.Before(t.Claim.Until) {
		return nil
	}
	return t.Claim
}

// heldByOther is the claim of anybody but this actor that holds now.
func (t Thread) heldByOther(stamp Stamp) *Claim {
	if held := t.Held(stamp.Time); held != nil && held.Holder != stamp.Actor {
		return held
	}
	return nil
}

// Claim makes the actor the holder of a thread for a while; a claim of their own
// is prolonged. Errors: T101, T105, T107 where the thread is terminated, T108.
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

// ClaimNext claims the first thread of a list of ready ones, of those for these
// executors; nil executors are all. ok is false where there is none. Errors:
// those of a list.
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

// Renew prolongs the actor's claim by what was asked for when it was made, also
// one that has run out while nobody else took the thread. Errors: T101, T105,
// T107, T108, T903 where there is no claim.
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

// Release ends a claim: the holder's own, or anybody's for a person. A thread
// that nobody has claimed stays as it is. Errors: T101, T105, T108.
func (s *State) Release(arg string, stamp Stamp) (Thread, error) {
	t, err := s.Thread(arg)
	if err != nil {
		return Thread{}, err
	}
	held := t.heldByOther(stamp)
	switch {
	case held != nil && stamp.As != User:
		return Thread{}, claimed(t, held, stamp.Time)
	case held == nil && (t.Claim == nil || t.Claim.Holder != stamp.Actor):
		return t, nil // none, or another's that has run out
	}
	t.Claim = nil
	return s.Threads.Put(t), nil
}

// Prolong lets a holder's claim go on when less than half of it is left: who
// writes is at work. Everybody else's is left alone, and so is a thread that is
// not there.
func (s *State) Prolong(id ThreadID, stamp Stamp) {
	t, _ := s.Threads.Peek(string(id))
	held := t.Held(stamp.Time)
	if held == nil || held.Holder != stamp.Actor || held.Until.Sub(stamp.Time) >= held.For/2 {
		return
	}
	s.hold(t, held.For, stamp)
}

// hold writes the actor's claim; one of their own never gets shorter.
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
