package retry_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/retry"
)

// published returns the waits of the published schedule in milliseconds.
var published = [...]time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000}

func TestTheDefaultScheduleIsThePublishedOne(t *testing.T) {
	t.Parallel()
	p := retry.Default()
	assert.Equal(t, len(published)+1, p.MaxAttempts)
	for i, want := range published {
		assert.Equal(t, want*time.Millisecond, p.Delay(i+1), "after attempt %d", i+1)
	}
	assert.Equal(t, 21300*time.Millisecond, p.Total())
	assert.Equal(t, []codes.Code{codes.LockFailed, codes.AgentConnection}, p.Retryable)
}

func TestADelayNeitherOverflowsNorExceedsTheMaximum(t *testing.T) {
	t.Parallel()
	for _, p := range []retry.Policy{
		retry.Default(),
		{Multiplier: math.MaxFloat64},
		{Multiplier: math.Inf(1)},
		{MaxDelay: math.MaxInt64},
		{MaxDelay: math.MaxInt64, Multiplier: 1.5},
		{InitialDelay: time.Hour, MaxDelay: time.Minute},
		{InitialDelay: math.MaxInt64, MaxDelay: math.MaxInt64},
	} {
		maximum := p.MaxDelay
		if maximum == 0 {
			maximum = retry.Default().MaxDelay
		}
		last := time.Duration(0)
		for _, n := range []int{math.MinInt, -1, 0, 1, 2, 3, 10, 50, 63, 64, 65, 1000, 1 << 40, math.MaxInt} {
			d := p.Delay(n)
			assert.Positive(t, d, "%+v after attempt %d", p, n)
			assert.LessOrEqual(t, d, maximum, "%+v after attempt %d", p, n)
			assert.GreaterOrEqual(t, d, last, "%+v after attempt %d", p, n)
			last = d
		}
		assert.Equal(t, p.Delay(1), p.Delay(0), "an attempt below 1 counts as 1")
	}
}

func TestATotalThatIsTooLargeIsTheLargestDuration(t *testing.T) {
	t.Parallel()
	p := retry.Policy{MaxAttempts: 4, InitialDelay: math.MaxInt64 / 2, MaxDelay: math.MaxInt64}
	assert.Equal(t, time.Duration(math.MaxInt64), p.Total())
}

func TestAnInvalidFieldHasTheDefault(t *testing.T) {
	t.Parallel()
	for _, p := range []retry.Policy{
		{},
		{MaxAttempts: -1, InitialDelay: -1, MaxDelay: -1, Multiplier: -1},
		{Multiplier: 0.5},
		{Multiplier: math.NaN()},
	} {
		assert.Equal(t, retry.Default().Total(), p.Total(), "%+v", p)
	}
	assert.Equal(t, 100*time.Millisecond, retry.Policy{Multiplier: 1}.Delay(9), "a Multiplier of 1 keeps the wait")
	assert.Zero(t, retry.Policy{MaxAttempts: 1}.Total(), "one attempt has no waits")
}

func TestEveryAttemptComesAfterItsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		err := retry.Retry(t.Context(), retry.Policy{}, func(_ context.Context, attempt int) error {
			at = append(at, time.Since(start))
			assert.Equal(t, len(at), attempt)
			return codes.LockFailed.New()
		})
		require.Error(t, err)
		want := []time.Duration{0}
		for _, d := range published {
			want = append(want, want[len(want)-1]+d*time.Millisecond)
		}
		assert.Equal(t, want, at)
	})
}

func TestAfterTheLastAttemptTheErrorSaysHowOftenAndHowLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("resource temporarily unavailable")
		err := retry.Retry(t.Context(), retry.Default(), func(context.Context, int) error {
			return codes.LockFailed.Wrap(cause, fact.Of("path", "lock"))
		})
		require.IsType(t, &codes.Error{}, err)
		assert.Equal(t, "File lock failed after 10 attempts. Nothing was changed.", err.Error())
		assert.Equal(t, fact.New(fact.Of("path", "lock"), fact.Of("attempts", 10), fact.Of("durationMs", int64(21300))), codes.Of(err).Facts())
		assert.Equal(t, cause, errors.Unwrap(err))
	})
}

func TestTheDurationIncludesTheAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		err := retry.Retry(t.Context(), retry.Policy{MaxAttempts: 2}, func(context.Context, int) error {
			time.Sleep(time.Second)
			return codes.LockFailed.New()
		})
		assert.Equal(t, "2100", codes.Of(err).Facts().Text("durationMs"))
	})
}

func TestAWrappedErrorKeepsItsWholeChain(t *testing.T) {
	t.Parallel()
	cause := errors.New("gone")
	wrapped := fmt.Errorf("agent resolver: %w", codes.AgentConnection.Wrap(cause, fact.Of("reason", "pipe closed")))
	err := retry.Retry(t.Context(), retry.Policy{MaxAttempts: 1}, func(context.Context, int) error { return wrapped })
	assert.True(t, codes.Has(err, codes.AgentConnection))
	assert.Equal(t, "1", codes.Of(err).Facts().Text("attempts"))
	assert.Equal(t, "pipe closed", codes.Of(err).Facts().Text("reason"))
	assert.ErrorIs(t, err, wrapped)
	assert.ErrorIs(t, err, cause)
}

func TestAnUnlistedErrorReturnsAtOnceAndUnchanged(t *testing.T) {
	t.Parallel()
	cases := map[string]error{
		"another code":              codes.WriteFailed.New(fact.Of("path", "p")),
		"no code":                   errors.New("plain"),
		"a listed code as a cause":  codes.Internal.Wrap(codes.LockFailed.New()),
		"wrapped, of another code":  fmt.Errorf("load: %w", codes.ParseError.New()),
		"an interrupt of the inner": codes.Interrupted.New(),
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			err := retry.Retry(t.Context(), noWait(t), func(context.Context, int) error {
				calls++
				return want
			})
			assert.Same(t, want, err)
			assert.Equal(t, 1, calls)
		})
	}
}

func TestAnEmptyListOfCodesRetriesNothing(t *testing.T) {
	t.Parallel()
	p := noWait(t)
	p.Retryable = []codes.Code{}
	want := codes.LockFailed.New()
	assert.Same(t, want, retry.Retry(t.Context(), p, func(context.Context, int) error { return want }))
}

func TestASuccessEndsTheRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := retry.Retry(t.Context(), retry.Default(), func(_ context.Context, attempt int) error {
			if attempt < 3 {
				return codes.LockFailed.New()
			}
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, 300*time.Millisecond, time.Since(start))
	})
}

func TestACancelledContextEndsAWaitAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("signal: interrupt")
		time.AfterFunc(250*time.Millisecond, func() { cancel(stop) })
		start := time.Now()
		last := codes.LockFailed.New(fact.Of("path", "lock"))
		calls := 0
		err := retry.Retry(ctx, retry.Default(), func(context.Context, int) error {
			calls++
			return last
		})
		assert.Equal(t, 250*time.Millisecond, time.Since(start))
		assert.Equal(t, 2, calls)
		assert.True(t, codes.Has(err, codes.Interrupted), "%v", err)
		assert.ErrorIs(t, err, stop)
		assert.ErrorIs(t, err, last)
		assert.Empty(t, last.Facts().Text("attempts"), "the last error is left as it was")
	})
}

func TestADeadlineDuringAWaitIsAnInterruptToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		err := retry.Retry(ctx, retry.Default(), func(context.Context, int) error { return codes.LockFailed.New() })
		assert.True(t, codes.Has(err, codes.Interrupted), "%v", err)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorIs(t, err, codes.LockFailed.New())
	})
}

func TestNothingIsTriedUnderACancelledContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := retry.Retry(ctx, retry.Default(), func(context.Context, int) error {
		t.Error("fn was called")
		return nil
	})
	assert.True(t, codes.Has(err, codes.Interrupted), "%v", err)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestACustomWaitReplacesTheTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var waits []time.Duration
		p := retry.Default()
		p.Wait = func(_ context.Context, d time.Duration) error {
			waits = append(waits, d)
			return nil // the lock became free
		}
		err := retry.Retry(t.Context(), p, func(context.Context, int) error { return codes.LockFailed.New() })
		want := make([]time.Duration, 0, len(published))
		for _, d := range published {
			want = append(want, d*time.Millisecond)
		}
		assert.Equal(t, want, waits, "it is asked for the whole schedule")
		assert.Equal(t, "0", codes.Of(err).Facts().Text("durationMs"), "and no other wait takes place")
		assert.Equal(t, "10", codes.Of(err).Facts().Text("attempts"))
	})
}

func TestAnAttemptFollowsAWaitThatSucceeded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := retry.Default()
	p.Wait = func(context.Context, time.Duration) error {
		cancel() // too late: the wait took the lock
		return nil
	}
	calls := 0
	err := retry.Retry(ctx, p, func(context.Context, int) error {
		calls++
		if calls == 2 {
			return nil
		}
		return codes.LockFailed.New()
	})
	require.NoError(t, err)
	assert.Equal(t, 2, calls)
}

func TestAnErrorOfACustomWaitReturnsUnchanged(t *testing.T) {
	t.Parallel()
	want := codes.ReadFailed.New(fact.Of("path", "lock"))
	p := retry.Default()
	p.Wait = func(context.Context, time.Duration) error { return want }
	assert.Same(t, want, retry.Retry(t.Context(), p, func(context.Context, int) error { return codes.LockFailed.New() }))
}

func TestACustomWaitThatIsCancelledIsAnInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := retry.Default()
	p.Wait = func(ctx context.Context, _ time.Duration) error {
		cancel()
		return ctx.Err()
	}
	err := retry.Retry(ctx, p, func(context.Context, int) error { return codes.LockFailed.New() })
	assert.True(t, codes.Has(err, codes.Interrupted), "%v", err)
	assert.ErrorIs(t, err, codes.LockFailed.New())
}

func TestTheAttemptRunsUnderTheCallersContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "mine")
	require.NoError(t, retry.Retry(ctx, retry.Default(), func(ctx context.Context, _ int) error {
		assert.Equal(t, "mine", ctx.Value(key{}))
		return nil
	}))
}

// noWait is the default policy for tests in which no wait may happen.
func noWait(t *testing.T) retry.Policy {
	p := retry.Default()
	p.Wait = func(context.Context, time.Duration) error {
		t.Error("it waited")
		return nil
	}
	return p
}
