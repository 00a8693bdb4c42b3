// Package retry holds the capped exponential backoff, once, for the lock and
// for agents: how often something is tried, how long to wait in between, and
// which failures are worth another try.
//
// What belongs here: the schedule and the loop. What a failure means belongs to
// codes; what is done while waiting belongs to the caller (Policy.Wait). The
// clock is read only to measure how long the tries took, never to record a
// point in time.
package retry

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// Policy says how often to try and how long to wait. The zero Policy is
// Default: each field that is zero, or that cannot be used (negative, a
// Multiplier below 1), takes Default's value. To try once, set MaxAttempts to
// 1; to retry nothing, set Retryable to an empty list that is not nil.
type Policy struct {
	// MaxAttempts counts the calls of fn, the first one included.
	MaxAttempts int
	// InitialDelay is the wait after the first attempt; each further wait is
	// Multiplier times the one before it, and none is longer than MaxDelay.
	InitialDelay, MaxDelay time.Duration
	Multiplier             float64
	// Retryable are the codes that are worth another attempt. The outermost
	// code of an error decides; an error without a code is never retried.
	Retryable []codes.Code
	// Wait waits for d between two attempts. It may return nil earlier, when
	// the next attempt is worth making; an error ends the retry. Wait returns
	// an error once ctx is done. nil is a timer that honours ctx.
	Wait func(ctx context.Context, d time.Duration) error
}

// Default is the policy of the lock and of agents: ten attempts, with waits of
// 100, 200, 400, 800, 1600, 3200, 5000, 5000 and 5000 ms between them, 21.3 s
// in all, for a lock that is held (T501) and a connection that was lost (T702).
func Default() Policy {
	return Policy{
		MaxAttempts:  10,
		InitialDelay: 100 * time.Millisecond,
		MaxDelay:     5 * time.Second,
		Multiplier:   2,
		Retryable:    []codes.Code{codes.LockFailed, codes.AgentConnection},
	}
}

// Delay is the wait after attempt n, counted from 1; a smaller n counts as 1.
// It never exceeds MaxDelay and does not overflow, whatever n is. The last
// attempt is followed by no wait, though Delay would name one.
func (p Policy) Delay(n int) time.Duration {
	p = p.withDefaults()
	d := float64(p.InitialDelay) * math.Pow(p.Multiplier, float64(max(n, 1)-1))
	if d >= float64(p.MaxDelay) {
		return p.MaxDelay
	}
	return time.Duration(d)
}

// Total is the sum of the waits when every attempt fails: how long Retry takes
// at most, apart from fn itself. A sum too large for a Duration is the largest
// Duration.
func (p Policy) Total() time.Duration {
	p = p.withDefaults()
	var total time.Duration
	for n := 1; n < p.MaxAttempts; n++ {
		d := p.Delay(n)
		if d > math.MaxInt64-total {
			return math.MaxInt64
		}
		total += d
	}
	return total
}

// Retry calls fn until it succeeds, fails in a way that is not worth another
// attempt, or has failed MaxAttempts times. attempt counts from 1. fn runs on
// the caller's goroutine, one call at a time, with ctx as it was given.
//
// It returns
//   - nil as soon as fn does;
//   - an error whose code p does not list at once and unchanged: the same value;
//   - after the last attempt fn's last error with the facts attempts and
//     durationMs (whole milliseconds since the first attempt began) set on its
//     outermost code; the causes of that error stay reachable;
//   - codes.Interrupted (T904) when ctx is done before the first attempt or
//     during a wait: errors.Is finds context.Cause(ctx) and fn's last error in
//     it. fn decides itself what a ctx that ends during an attempt means;
//   - an error of p.Wait unchanged, when ctx is not done.
func Retry(ctx context.Context, p Policy, fn func(ctx context.Context, attempt int) error) error {
	p = p.withDefaults()
	if ctx.Err() != nil {
		return interrupted(ctx, nil)
	}
	start := time.Now()
	for attempt := 1; ; attempt++ {
		err := fn(ctx, attempt)
		if !p.retries(err) {
			return err
		}
		if attempt >= p.MaxAttempts {
			return exhausted(err, attempt, time.Since(start))
		}
		if waitErr := p.Wait(ctx, p.Delay(attempt)); waitErr != nil {
			if ctx.Err() != nil {
				return interrupted(ctx, err)
			}
			return waitErr
		}
	}
}

func (p Policy) withDefaults() Policy {
	d := Default()
	if p.MaxAttempts <= 0 {
		p.MaxAttempts = d.MaxAttempts
	}
	if p.InitialDelay <= 0 {
		p.InitialDelay = d.InitialDelay
	}
	if p.MaxDelay <= 0 {
		p.MaxDelay = d.MaxDelay
	}
	if !(p.Multiplier >= 1) { // NaN too
		p.Multiplier = d.Multiplier
	}
	if p.Retryable == nil {
		p.Retryable = d.Retryable
	}
	if p.Wait == nil {
		p.Wait = sleep
	}
	return p
}

func (p Policy) retries(err error) bool {
	e := codes.Of(err)
	return e != nil && slices.Contains(p.Retryable, e.Code())
}

// exhausted states the facts on the outermost code of err. Where err only wraps
// that code, all of err becomes the cause, so that nothing of the chain is lost.
func exhausted(err error, attempts int, took time.Duration) error {
	e := codes.Of(err)
	if error(e) != err {
		e = e.WithCause(err)
	}
	return e.With(fact.Of("attempts", attempts), fact.Ms("duration", took))
}

func interrupted(ctx context.Context, last error) error {
	return codes.Interrupted.Wrap(errors.Join(context.Cause(ctx), last))
}

// sleep waits for d or until ctx is done, which wins when both are true.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	return ctx.Err()
}
