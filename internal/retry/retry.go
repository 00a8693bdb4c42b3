// Package retry implements capped exponential backoff for the lock and for agents: how
// often to try, how long to wait in between, and which errors to retry.
//
// What belongs here: the schedule and the loop. codes defines what an error means;
// the caller decides what happens during a wait (Policy.Wait). The package reads the
// clock only to measure durations, never to record a time.
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

// Policy says how often to try and how long to wait. The zero Policy is Default: each
// field that is zero or invalid (negative, a Multiplier below 1) has Default's value.
// To try once, set MaxAttempts to 1; to retry nothing, set Retryable to an empty list
// that is not nil.
type Policy struct {
	// MaxAttempts is the maximum number of calls of fn, including the first.
	MaxAttempts int
	// InitialDelay is the wait after the first attempt; each further wait is
	// Multiplier times the one before it, and none is longer than MaxDelay.
	InitialDelay, MaxDelay time.Duration
	Multiplier             float64
	// Retryable has the codes to retry. The outermost code of an error decides; an
	// error without a code is never retried.
	Retryable []codes.Code
	// Wait waits for d between two attempts. It may return nil earlier if another
	// attempt is promising; an error ends Retry. Wait must return an error once ctx
	// is done. nil means a timer that honours ctx.
	Wait func(ctx context.Context, d time.Duration) error
}

// Default returns the policy of the lock and of agents: ten attempts, with waits of
// 100, 200, 400, 800, 1600, 3200, 5000, 5000 and 5000 ms between them, 21.3 s in
// total, for a held lock (T501) and a lost connection (T702).
func Default() Policy {
	return Policy{
		MaxAttempts:  10,
		InitialDelay: 100 * time.Millisecond,
		MaxDelay:     5 * time.Second,
		Multiplier:   2,
		Retryable:    []codes.Code{codes.LockFailed, codes.AgentConnection},
	}
}

// Delay returns the wait after attempt n, from 1; a smaller n counts as 1. It never
// exceeds MaxDelay and never overflows. Retry does not wait after the last attempt,
// although Delay returns a value for it.
func (p Policy) Delay(n int) time.Duration {
	p = p.withDefaults()
	d := float64(p.InitialDelay) * math.Pow(p.Multiplier, float64(max(n, 1)-1))
	if d >= float64(p.MaxDelay) {
		return p.MaxDelay
	}
	return time.Duration(d)
}

// Total returns the sum of the waits if every attempt fails: the maximum time that
// Retry takes apart from fn. It is at most the largest Duration.
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

// Retry calls fn until it succeeds, returns an error that p does not retry, or has
// failed MaxAttempts times. attempt counts from 1. fn runs on the caller's goroutine,
// one call at a time, with the unchanged ctx.
//
// Retry returns
//   - nil as soon as fn does;
//   - an error whose code p does not list, immediately and unchanged;
//   - after the last attempt, fn's last error with the facts attempts and durationMs
//     (whole milliseconds since the start of the first attempt) set on its outermost
//     code; the causes of that error stay reachable;
//   - codes.Interrupted (T904) if ctx is done before the first attempt or during a
//     wait: errors.Is finds context.Cause(ctx) and fn's last error in it. fn itself
//     decides what to do if ctx ends during an attempt;
//   - an error of p.Wait, unchanged, if ctx is not done.
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

// exhausted sets the facts on the outermost coded error of err. If err only wraps that
// error, err becomes its cause, so that nothing of the chain is lost.
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

// sleep waits for d or until ctx is done; ctx wins if both are true.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	return ctx.Err()
}
