package app

import (
	"context"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
)

// This file waits for a condition on the State. Nothing runs in the background: a wait
// sleeps until the store changes or a deadline passes.

// AgentsPatience is an agent's default timeout: agents' shells kill a call after two
// minutes, without an answer.
const AgentsPatience = 100 * time.Second

// LongestSleep limits the time between two looks, because deadlines may pass unnoticed
// if the clock is set or the machine sleeps.
const LongestSleep = time.Minute

// Await returns when look reports done or fails. It calls look with the current State,
// with passed deadlines applied, at once and then after each change of the store, any
// number of times. wake is when time alone may change the result, zero for never
// (Await itself watches for Expire). A patience above zero ends the wait with T109
// (details: durationMs), after a last look. Errors: those of look and of a view, T904.
func (c *Call) Await(patience time.Duration, look func(s *thread.State) (done bool, wake time.Time, err error)) error {
	c.CatchSignals()
	c.waited = true
	ctx, cancel := c.ctx, context.CancelFunc(func() {})
	if patience > 0 {
		ctx, cancel = c.project.env.Timeout(c.ctx, patience)
	}
	defer cancel()
	w := c.store.Watch(store.StateFile) // before the first look, so that no change is missed
	defer w.Close()
	for {
		c.hear()
		last, at := ctx.Err() != nil, c.project.env.Now()
		done, sleep := false, LongestSleep
		_, err := c.View(func(s *thread.State) (err error) {
			var wake time.Time
			done, wake, err = look(s)
			sleep = SleepUntil(at, c.project.env.Now(), s.NextExpiry(), wake)
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

// CatchSignals makes a signal end the call with T904 from now on: a context may start to
// listen only when Done is first called. A call that waits calls it at the start; a call
// that commits and then waits calls it before the commit, so that its caller learns what
// was recorded.
func (c *Call) CatchSignals() { c.ctx.Done() }

// SecondInterruptKey is the key of a context's value, a <-chan struct{} that is closed when somebody who
// has interrupted a call does it once more, because it takes too long to end. A context may do
// without.
type SecondInterruptKey struct{}

// InterruptedAgain returns that channel, nil if there is none.
func (c *Call) InterruptedAgain() <-chan struct{} {
	again, _ := c.ctx.Value(SecondInterruptKey{}).(<-chan struct{})
	return again
}

// SleepUntil returns how long to sleep after a look that began at a time, unless the store
// changes. The look has seen everything before that, except within the fraction of a
// millisecond by which its time is truncated.
func SleepUntil(at, now time.Time, wakes ...time.Time) time.Duration {
	d := LongestSleep
	for _, wake := range wakes {
		if !wake.IsZero() && wake.After(at.Add(-time.Millisecond)) {
			d = min(d, wake.Sub(now))
		}
	}
	return max(d, time.Millisecond)
}
