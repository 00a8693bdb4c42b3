package thread

import (
	"slices"
	"strings"
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

// HeldBy reports whether an actor has the claim that is valid at a time.
func (t Thread) HeldBy(actor string, now time.Time) bool {
	held := t.Held(now)
	return held != nil && held.Holder == actor
}

// ClaimedBy returns the threads that are not terminated and whose last claim is that of an
// actor, also if it has expired, in the order of a list.
func (s *State) ClaimedBy(actor string) []Thread {
	return inListOrder(s.Threads.where(`"claim":{`, func(t Thread) bool {
		return t.Claim != nil && t.Claim.Holder == actor && !t.Status.Terminated()
	}))
}

// HeldBy returns the threads that an actor holds at a time, in the order of a list.
func (s *State) HeldBy(actor string, now time.Time) []Thread {
	return slices.DeleteFunc(s.ClaimedBy(actor), func(t Thread) bool { return !t.HeldBy(actor, now) })
}

// AlsoHeld returns the active threads that the actor holds, apart from one, "" for none, and
// from those above it, of which it is a part.
func (s *State) AlsoHeld(id ThreadID, stamp Stamp) (held []ThreadID) {
	above := map[ThreadID]bool{}
	for id != "" && !above[id] {
		above[id] = true
		t, _ := s.Threads.Peek(string(id))
		id = t.ParentID
	}
	for _, t := range s.ClaimedBy(stamp.Actor) {
		if t.Status == Active && t.Held(stamp.Time) != nil && !above[t.ID] {
			held = append(held, t.ID)
		}
	}
	return held
}

// Claim makes the actor the holder of a thread for d, or extends the actor's own
// claim. Errors: T101, T105, T107 if the thread is terminated, T108, T402 for an agent if
// its executor is a person.
func (s *State) Claim(arg string, d time.Duration, stamp Stamp) (Thread, error) {
	t, err := s.LiveThread(arg)
	if err != nil {
		return Thread{}, err
	}
	if held := t.heldByOther(stamp); held != nil {
		return Thread{}, s.claimed(t, held, stamp)
	}
	if err := mayWork(t, "claiming", stamp); err != nil {
		return Thread{}, err
	}
	return s.hold(t, d, stamp), nil
}

// How a claim ended that did not end with its thread.
const (
	howTaken    = "taken over"
	howReleased = "released"
	howHanded   = "handed over"
)

// TakeOver is Claim, also of a thread that somebody else holds: a person, and whoever holds
// a claim on a thread above, may take it over as it is. The former holder is told by whom and
// why (W112). from is the claim that this ended, nil if there was none. Errors: those of
// Claim, T108 for anybody else.
func (s *State) TakeOver(arg, reason string, d time.Duration, stamp Stamp) (t Thread, from *Claim, err error) {
	if t, err = s.LiveThread(arg); err != nil {
		return Thread{}, nil, err
	}
	from = t.heldByOther(stamp)
	if from != nil && !stamp.ByPerson() && !s.leads(t, stamp) {
		err := codes.Of(s.claimed(t, from, stamp))
		return Thread{}, nil, err.WithHint("A person may take it over, and whoever holds a thread above it. Take other work or wait")
	}
	if err := mayWork(t, "claiming", stamp); err != nil {
		return Thread{}, nil, err
	}
	t.endedClaim(howTaken, reason, stamp)
	t.givenUp(howTaken, "", reason, stamp)
	return s.hold(t, d, stamp), from, nil
}

// mayWork keeps an agent from what only the executor of a thread does if that is a person.
// Errors: T402.
func mayWork(t Thread, what string, stamp Stamp) error {
	if stamp.As != Agent || t.Executor != ByHuman {
		return nil
	}
	return codes.PermissionDenied.New(fact.Of("capability", what+" a thread whose executor is a person"), fact.Of("threadId", t.ID)).
		WithHint("A person does it, or hands it to an agent: leslie transfer " + string(t.ID) + " --to agent").
		WithNext("leslie list --ready --executor agent")
}

// ClaimNext claims the first ready thread of an executor, "" for anybody's. ok is false if
// there is none. Errors: those of List.
func (s *State) ClaimNext(d time.Duration, executor Executor, stamp Stamp) (t Thread, ok bool, err error) {
	page, err := s.First(Filter{Ready: true, Now: stamp.Time, Executor: executor}, 1)
	if err != nil || len(page.Threads) == 0 {
		return Thread{}, false, err
	}
	return s.hold(page.Threads[0], d, stamp), true, nil
}

// Renew extends the actor's claim by its original duration. It also renews an
// expired claim if nobody else has claimed the thread. Errors: T101, T105, T107,
// T108, T903 if the actor has no claim, T402 for an agent if its executor is a person.
func (s *State) Renew(arg string, stamp Stamp) (Thread, error) {
	t, err := s.LiveThread(arg)
	if err != nil {
		return Thread{}, err
	}
	if held := t.heldByOther(stamp); held != nil {
		return Thread{}, s.claimed(t, held, stamp)
	}
	if err := mayWork(t, "renewing the claim of", stamp); err != nil {
		return Thread{}, err
	}
	if t.Claim == nil || t.Claim.Holder != stamp.Actor {
		return Thread{}, codes.InvalidArgument.New(
			fact.Of("reason", "'"+string(t.ID)+"' is not claimed by '"+stamp.Actor+"'"), fact.Of("threadId", t.ID)).
			WithHint("Claim it first").WithNext("leslie claim " + string(t.ID))
	}
	return s.hold(t, t.Claim.For, stamp), nil
}

// Release ends a claim: the holder's own, or any claim if a person asks, of which the holder
// is told (W112). A thread without a claim is not changed. Errors: T101, T105, T108.
func (s *State) Release(arg, reason string, stamp Stamp) (Thread, error) {
	t, err := s.Thread(arg)
	if err != nil {
		return Thread{}, err
	}
	held := t.heldByOther(stamp)
	switch {
	case held != nil && !stamp.ByPerson():
		return Thread{}, s.claimed(t, held, stamp)
	case held == nil && (t.Claim == nil || t.Claim.Holder != stamp.Actor):
		return t, nil // no claim, or an expired one of another actor
	}
	t.endedClaim(howReleased, reason, stamp)
	t.givenUp(howReleased, "", reason, stamp)
	t.Claim = nil
	return s.Threads.Put(t), nil
}

// HandTo gives a thread to an actor, an agent or a person's own name on another machine, whose claim it is for d:
// by its holder, by a person, and by whoever holds a thread above. Nothing of the work changes. Errors: T101, T105,
// T107, T108, T402 for an agent if the executor is a person.
func (s *State) HandTo(arg, to, reason string, d time.Duration, stamp Stamp) (Thread, error) {
	t, err := s.LiveThread(arg)
	if err != nil {
		return Thread{}, err
	}
	if held := t.heldByOther(stamp); held != nil && held.Holder != to && !stamp.ByPerson() && !s.leads(t, stamp) {
		return Thread{}, s.claimed(t, held, stamp)
	}
	if err := mayWork(t, "handing over", stamp); err != nil {
		return Thread{}, err
	}
	if t.HeldBy(to, stamp.Time) {
		return t, nil
	}
	if t.Claim == nil { // nobody had it
		t.Claim = &Claim{Holder: stamp.Actor, As: stamp.As, At: stamp.Time, Until: stamp.Time}
	}
	t.endedClaim(howHanded, reason, stamp)
	t.givenUp(howHanded, to, reason, stamp)
	as := Agent
	if t.Executor == ByHuman && stamp.ByPerson() && login(to) == login(stamp.Actor) { // to themselves, on another machine
		as = stamp.As
	} else {
		t.Executor = ByAgent
	}
	t.Updated, t.Claim = stamp.Time, nil
	return s.hold(t, d, Stamp{Time: stamp.Time, As: as, Actor: to}), nil
}

// login is an actor's name without the machine.
func login(actor string) string {
	name, _, _ := strings.Cut(actor, "@")
	return name
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

// NameHolders gives the holders of all claims other names. Who holds a thread stays the same.
func (s *State) NameHolders(name func(string) string) {
	for t := range s.Threads.All() {
		if t.Claim == nil || name(t.Claim.Holder) == t.Claim.Holder {
			continue
		}
		c := *t.Claim
		c.Holder = name(c.Holder)
		t.Claim = &c
		s.Threads.Put(t)
	}
}

// claimed is T108 for an actor: with how its own claim ended, if somebody took the thread
// over, or with how it may take it over itself.
func (s *State) claimed(t Thread, held *Claim, stamp Stamp) error {
	err := codes.Claimed.New(fact.Of("threadId", t.ID), fact.Of("holder", held.Holder), fact.Of("until", held.Until),
		fact.Ms("retryAfter", held.Until.Sub(stamp.Time)))
	if was := t.AtWork(stamp.Time); was != nil && was.Holder == stamp.Actor {
		err = err.With(fact.Of("how", was.How), fact.Of("endedBy", was.Ended.Actor), fact.Of("endedAt", was.Ended.At))
		if was.Reason != "" {
			err = err.With(fact.Of("endReason", was.Reason))
		}
		return err.WithHint("Your claim has ended: " + was.Said() + ". Stop working on the thread and take other work")
	}
	if held.Holder == stamp.Actor {
		return err.WithHint("You hold it yourself: leslie release " + string(t.ID) + ", then repeat the line").WithNext("leslie status " + string(t.ID))
	}
	if stamp.ByPerson() || s.leads(t, stamp) {
		return err.WithHint("Wait, or take it over with all that is done: leslie claim " + string(t.ID) + " --take-over --reason TEXT")
	}
	return err.WithHint("Take other work or wait; " + held.Holder + " gives it back with leslie release " + string(t.ID) +
		", and a person takes it over with leslie claim " + string(t.ID) + " --take-over --reason TEXT")
}
