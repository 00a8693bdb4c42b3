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

// claimWhenReady waits until a thread is ready and claims it for d. It returns early
// if every objective is completed. Errors: those of a write, T904.
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
			t, found, err := s.ClaimNext(d, claimable(stamp.As), stamp)
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

// awaitReady returns "" when a thread is ready that the caller may claim, and else why
// there is none. Errors: those of a view, T904.
func awaitReady(c *app.Call, patience time.Duration) (why thread.Nothing, err error) {
	err = c.Await(patience, func(s *thread.State) (done bool, wake time.Time, err error) {
		why = ""
		page, err := s.First(thread.Filter{Ready: true, Now: c.Now(), Executor: claimable(c.Caller().As)}, 1)
		if err != nil || len(page.Threads) > 0 {
			return true, wake, err
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
