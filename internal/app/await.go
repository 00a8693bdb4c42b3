package app

import (
	"context"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
)

// This file is waiting for whatever a look at the State can tell. Nothing here runs
// beside the caller: a wait sleeps until the store changes or a deadline passes.

// AgentsPatience is how long an agent waits unless it says otherwise: their
// shells end a call after two minutes, without an answer.
const AgentsPatience = 100 * time.Second

// longestSleep is how long a wait goes without a look when nothing happens: a
// clock that was set, or a machine that slept, makes deadlines pass unheard.
const longestSleep = time.Minute

// await returns when look says that it is done, or fails. look gets the State
// as it is now, what passed deadlines mean applied, at once and then after
// each change of the store; wake is when time alone may change its mind, zero
// for never (Expire is seen to). It may be called any number of times. A patience
// that is not zero ends the wait with T109 (details: durationMs), after a last
// look. Errors: those of look and of a view, T904.
func await(c *Call, patience time.Duration, look func(s *thread.State) (done bool, wake time.Time, err error)) error {
	catchSignals(c)
	ctx, cancel := c.ctx, context.CancelFunc(func() {})
	if patience > 0 {
		ctx, cancel = c.project.env.timeout(c.ctx, patience)
	}
	defer cancel()
	w := c.store.Watch(store.StateFile) // before the first look: nothing falls between
	defer w.Close()
	for {
		last, at := ctx.Err() != nil, c.project.env.Now()
		done, sleep := false, longestSleep
		_, err := c.view(func(s *thread.State) (err error) {
			var wake time.Time
			done, wake, err = look(s)
			sleep = sleepUntil(at, c.project.env.Now(), s.NextExpiry(), wake)
			return err
		})
		switch {
		case err != nil || done:
			return err
		case last:
			return codes.WaitTimeout.New(fact.Of("duration", patience), fact.Ms("duration", patience))
		}
		if err := w.Next(ctx, sleep); err != nil && c.ctx.Err() != nil {
			return err
		}
	}
}

// catchSignals has a signal end the call with T904 from now on: a context may begin
// to listen for it when it is first asked. Who waits asks from the beginning; who
// commits and waits then, in front of the commit, so that its caller is told what
// stands.
func catchSignals(c *Call) { c.ctx.Done() }

// sleepUntil is how long nothing happens by itself after a look that began at a
// time. What passed before that was seen, but for the part of a millisecond by
// which the look's own time is cut.
func sleepUntil(at, now time.Time, wakes ...time.Time) time.Duration {
	d := longestSleep
	for _, wake := range wakes {
		if !wake.IsZero() && wake.After(at.Add(-time.Millisecond)) {
			d = min(d, wake.Sub(now))
		}
	}
	return max(d, time.Millisecond)
}
