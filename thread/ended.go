package thread

import (
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/warnings"
)

// This file says by whom, when and why a thread was ended, and whose claim that ended.

// endedClaim remembers the claim of somebody else that the actor ends, if it is valid.
func (t *Thread) endedClaim(how, reason string, stamp Stamp) {
	if held := t.heldByOther(stamp); held != nil {
		t.Former = []FormerClaim{{
			Holder: held.Holder, Until: held.Until, How: how, Reason: reason, Ended: Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor},
		}}
	}
}

// givenUp remembers who had the thread until now, for whoever takes it next.
func (t *Thread) givenUp(how, to, reason string, stamp Stamp) {
	if t.Claim == nil || how == howTaken && t.Claim.Holder == stamp.Actor {
		return
	}
	t.Handed = []Handover{{From: t.Claim.Holder, To: to, How: how, Reason: reason, By: Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor}}}
}

// HandedOver returns how the thread came to its holder, or lost its last one; nil if whoever holds
// it now had it before, too.
func (t Thread) HandedOver(now time.Time) *Handover {
	if len(t.Handed) == 0 || t.HeldBy(t.Handed[0].From, now) {
		return nil
	}
	return &t.Handed[0]
}

// Given returns how somebody else gave the thread to whoever holds it; nil if the holder claimed it.
func (t Thread) Given(now time.Time) *Handover {
	h, held := t.HandedOver(now), t.Held(now)
	if h == nil || held == nil || h.To != held.Holder || h.By.Actor == held.Holder || !held.At.Equal(h.By.At) {
		return nil
	}
	return h
}

// TakenFromElsewhere returns who had the thread on another machine when its holder took it over, until
// that machine has sent what it had of the code since; "" for nobody.
func (t Thread) TakenFromElsewhere(now time.Time) string {
	h, code := t.HandedOver(now), t.OwnedCode()
	if h == nil || code == nil || h.How != howTaken {
		return ""
	}
	_, machine, _ := strings.Cut(h.From, "@")
	if _, at, _ := strings.Cut(h.By.Actor, "@"); machine == "" || machine == at {
		return ""
	}
	for _, sent := range code.AllSent() {
		if sent.Machine == machine && sent.At.After(h.By.At) {
			return ""
		}
	}
	return h.From
}

// Said says who had the thread before: "w1, who released it at TIME: why".
func (h Handover) Said() string {
	text := h.From + "; " + h.How
	if h.To != "" {
		text += " to " + h.To
	}
	if h.By.Actor != h.From {
		text += " by " + h.By.Actor + " (" + string(h.By.As) + ")"
	}
	text += " at " + h.By.At.Format(time.RFC3339)
	if h.Reason != "" {
		text += ": " + h.Reason
	}
	return text
}

// atWorkWhenEnded reports whether somebody may still be at work on a thread that another
// has ended.
func (t Thread) atWorkWhenEnded(now time.Time) bool {
	was := t.AtWork(now)
	return was != nil && was.How != howTaken && was.How != howReleased && was.How != howHanded
}

// AtWork returns the claim that somebody ended while its holder was at work, nil for none,
// and once it would have expired.
func (t Thread) AtWork(now time.Time) *FormerClaim {
	if len(t.Former) == 0 || !now.Before(t.Former[0].Until) {
		return nil
	}
	return &t.Former[0]
}

// FormerlyHeldBy returns the threads whose last claim that somebody ended was an actor's.
func (s *State) FormerlyHeldBy(actor string) []Thread {
	return inListOrder(s.Threads.where(`"former":[`, func(t Thread) bool { return len(t.Former) > 0 && t.Former[0].Holder == actor }))
}

// Said says how the claim ended: "taken over from b by ann (user) at TIME: why".
func (was FormerClaim) Said() string {
	text := was.How + " from " + was.Holder + " by " + was.Ended.Actor + " (" + string(was.Ended.As) + ") at " + was.Ended.At.Format(time.RFC3339)
	if was.Reason != "" {
		text += ": " + was.Reason
	}
	return text
}

// EndedByHolder reports whether the person who had the claim ended it, on another machine.
func (was FormerClaim) EndedByHolder() bool {
	return was.Ended.As == User && login(was.Ended.Actor) == login(was.Holder)
}

// Ending returns W112 for the actor whose claim on a thread somebody else has ended; ok is
// false for anybody else.
func (t Thread) Ending(actor string, now time.Time) (w warnings.Warning, ok bool) {
	was := t.AtWork(now)
	if was == nil || was.Holder != actor || t.HeldBy(actor, now) {
		return w, false
	}
	if t.Status == Completed && t.Ended != nil && was.Ended.At.Before(t.Ended.At) { // by whoever had it then
		return w, false
	}
	facts := []fact.Fact{fact.Of("threadId", t.ID), fact.Of("how", was.How), fact.Of("by", was.Ended.Actor), fact.Of("at", was.Ended.At)}
	if was.Reason != "" {
		facts = append(facts, fact.Of("reason", was.Reason))
	}
	if t.Successor != "" {
		facts = append(facts, fact.Of("successor", t.Successor))
	}
	return warnings.ClaimEnded.New(facts...), true
}

// EndedBy says how a thread ended, "" if that is not recorded.
func (t Thread) EndedBy() string {
	if t.Ended == nil {
		return ""
	}
	text := string(t.Status) + " by " + t.Ended.Actor + " (" + string(t.Ended.As) + ") at " + t.Ended.At.Format(time.RFC3339)
	if t.Reason != "" {
		text += ": " + t.Reason
	}
	if t.Successor != "" {
		text += "; " + string(t.Successor) + " replaces it"
	}
	return text
}

// EndedByOther reports whether somebody else than the actor ended the thread.
func (t Thread) EndedByOther(actor string) bool { return t.Ended != nil && t.Ended.Actor != actor }

// otherWork is the advice for somebody whose thread another has ended.
func (t Thread) otherWork() string {
	return "It was " + t.EndedBy() + ". Take other work, or ask whoever ended it"
}

// endedFacts adds to an error how a thread ended.
func endedFacts(err *codes.Error, t Thread) *codes.Error {
	if t.Ended == nil {
		return err
	}
	err = err.With(fact.Of("endedBy", t.Ended.Actor), fact.Of("endedAs", t.Ended.As), fact.Of("endedAt", t.Ended.At))
	if t.Reason != "" {
		err = err.With(fact.Of("endReason", t.Reason))
	}
	if t.Successor != "" {
		err = err.With(fact.Of("successor", t.Successor))
	}
	return err
}
