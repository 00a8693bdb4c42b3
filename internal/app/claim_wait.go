package app

import (
	"errors"
	"time"

	"leslie/codes"
	"leslie/thread"
)

// This file claims the next thread as soon as one is ready.

// errTaken says that another caller was faster.
var errTaken = errors.New("the thread that was ready has been claimed")

// claimWhenReady waits until a thread is ready and claims it for d. It returns early
// if no thread can become ready. Errors: those of a write, T904.
func claimWhenReady(c *Call, patience, d time.Duration) (*ClaimResult, error) {
	if first, ok, err := answered[ClaimResult](c); ok || err != nil {
		return first, err
	}
	end := c.project.env.Now().Add(patience)
	for {
		why, err := awaitReady(c, max(end.Sub(c.project.env.Now()), 1))
		if err != nil {
			return nil, err
		}
		c.stamp = nil // the claim begins now
		data, err := write(c, func(s *thread.State, stamp thread.Stamp) (*ClaimResult, thread.ThreadID, error) {
			t, found, err := s.ClaimNext(d, claimable(stamp), stamp)
			switch {
			case err != nil:
				return nil, "", err
			case found:
				return taken(c, s, t), t.ID, nil
			case why == "":
				return nil, "", errTaken
			}
			return &ClaimResult{Reason: why, Revision: s.Revision}, "", nil
		})
		if !errors.Is(err, errTaken) {
			return data, err
		}
	}
}

// awaitReady returns "" when a thread is ready that the caller may claim, and else why
// there is none. Errors: those of a view, T904.
func awaitReady(c *Call, patience time.Duration) (why thread.Nothing, err error) {
	active := false
	err = await(c, patience, func(s *thread.State) (done bool, wake time.Time, err error) {
		why, active = "", s.AnyActive()
		for _, executor := range readyFor(c) {
			page, err := s.First(thread.Filter{Ready: true, Now: c.now(), Executor: executor}, 1)
			if err != nil || len(page.Threads) > 0 {
				return true, wake, err
			}
		}
		why, done = s.NothingComes()
		return done, s.NextRelease(c.now()), nil
	})
	switch {
	case !codes.Has(err, codes.WaitTimeout):
		return why, err
	case active:
		return thread.NothingInTime, nil
	}
	return thread.NothingActive, nil
}

// readyFor returns the executors whose threads the caller may claim with Next; "" means
// all.
func readyFor(c *Call) []thread.Executor {
	if executors := claimable(thread.Stamp{As: c.caller.As}); executors != nil {
		return executors
	}
	return []thread.Executor{""}
}
