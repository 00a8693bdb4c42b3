package threads

import (
	"errors"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/thread"
)

// This file claims the next thread as soon as one is ready.

// errTaken says that another caller was faster.
var errTaken = errors.New("the thread that was ready has been claimed")

// claimWhenReady waits until a thread is ready and claims it for d, or until somebody hands one to the
// caller. It returns early if every objective is completed, and when messages come for a thread that the
// caller holds. Errors: those of a write, T904.
func claimWhenReady(c *app.Call, patience, d time.Duration) (*ClaimResult, error) {
	if first, ok, err := app.Answered[ClaimResult](c); ok || err != nil {
		return first, err
	}
	end := c.Project().Environment().Now().Add(patience)
	for {
		why, err := awaitReady(c, max(end.Sub(c.Project().Environment().Now()), 1))
		if err != nil {
			return nil, err
		}
		c.NewOperation() // the claim begins now
		data, err := app.Write(c, func(s *thread.State, stamp thread.Stamp) (*ClaimResult, thread.ThreadID, error) {
			t, found, err := claimNext(s, d, stamp)
			switch {
			case err != nil:
				return nil, "", err
			case found:
				return takenNext(c, s, t, stamp), t.ID, nil
			case why == "":
				return nil, "", errTaken
			}
			return nothing(s, why, stamp), "", nil
		})
		if !errors.Is(err, errTaken) {
			return data, err
		}
	}
}

// claimNext claims the thread that somebody has handed to the caller, else the first that is ready. Errors:
// those of ClaimNext.
func claimNext(s *thread.State, d time.Duration, stamp thread.Stamp) (t thread.Thread, found bool, err error) {
	if given := handedTo(s, stamp.Actor, stamp.Time); given != "" {
		t, err = s.Claim(string(given), d, stamp)
		return t, true, err
	}
	return s.ClaimNext(d, claimable(stamp.As), stamp)
}

// handedTo returns a thread that somebody has handed to an actor, who has not gone on with it yet; "" for
// none.
func handedTo(s *thread.State, actor string, now time.Time) thread.ThreadID {
	for _, t := range s.HeldBy(actor, now) {
		extended := t.Claim.Until.After(t.Claim.At.Add(t.Claim.For))
		if t.Given(now) != nil && !extended {
			return t.ID
		}
	}
	return ""
}

// awaitReady returns "" when a thread is ready that the caller may claim, or was handed to it, and else
// why there is none. Errors: those of a view, T904.
func awaitReady(c *app.Call, patience time.Duration) (why thread.Nothing, err error) {
	err = c.Await(patience, func(s *thread.State) (done bool, wake time.Time, err error) {
		why = ""
		if handedTo(s, c.Caller().Actor, c.Now()) != "" {
			return true, wake, nil
		}
		page, err := s.First(thread.Filter{Ready: true, Now: c.Now(), Executor: claimable(c.Caller().As)}, 1)
		if err != nil || len(page.Threads) > 0 {
			return true, wake, err
		}
		for _, t := range s.HeldBy(c.Caller().Actor, c.Now()) {
			if s.UnreadOf(t).Count > 0 {
				why = thread.NothingRead
				return true, wake, nil
			}
		}
		why, done = s.NothingComes()
		return done, s.NextRelease(c.Now()), nil
	})
	if codes.Has(err, codes.WaitTimeout) {
		return thread.NothingInTime, nil
	}
	return why, err
}

// nothingNow says why there is no thread for a caller that does not wait, "" if one is
// active and may become ready.
func nothingNow(s *thread.State) thread.Nothing {
	why, ok := s.NothingComes()
	if !ok && !s.AnyActive() {
		why = thread.NothingActive
	}
	return why
}
