package views

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/apptest"
	"leslie/internal/app/decisions"
	"leslie/internal/app/threads"
	"leslie/thread"
)

func TestAwaitLooksOnceMoreWhenTheTimeIsUp(t *testing.T) {
	t.Parallel()
	b, looks := apptest.New(t), 0
	var timeIsUp context.CancelFunc
	b.Environment().WithTimeout = func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
		ctx, timeIsUp = context.WithCancel(ctx)
		return ctx, timeIsUp
	}
	err := b.Person().Await(20*time.Millisecond, func(*thread.State) (bool, time.Time, error) {
		if looks++; looks == 1 {
			timeIsUp()
		}
		return false, time.Time{}, nil
	})
	e := codes.Of(err)
	require.NotNil(t, e)
	assert.Equal(t, codes.WaitTimeout, e.Code())
	assert.Equal(t, "20", e.Facts().Text("durationMs"))
	assert.Equal(t, 2, looks, "one at the beginning, one at the end, none between: nothing happened")
}

func TestAwaitSeesWhatHappensWhileItLooks(t *testing.T) {
	t.Parallel()
	b, looks := apptest.New(t), 0
	err := b.Person().Await(20*time.Second, func(*thread.State) (bool, time.Time, error) {
		if looks++; looks == 1 {
			_, err := threads.Lifecycle(b.Person(), threads.LifecycleRequest{Thread: "part", Action: thread.Done})
			require.NoError(t, err)
		}
		return looks == 2, time.Time{}, nil
	})
	assert.NoError(t, err, "it looked again at once")
}

func TestAwaitLooksAgainWhenTimeAloneChangesSomething(t *testing.T) {
	t.Parallel()
	b, looks := apptest.New(t), 0
	at := b.Now()
	b.Now = func() time.Time {
		at = at.Add(time.Millisecond)
		return at
	}
	c, due := b.Person(), b.Now().Add(15*time.Millisecond)
	err := c.Await(0, func(*thread.State) (bool, time.Time, error) {
		looks++
		return !c.Now().Before(due), due, nil
	})
	require.NoError(t, err)
	assert.Greater(t, looks, 1)
	assert.LessOrEqual(t, looks, 16, "no more looks than its clock took steps")
}

func TestAwaitEndsWithTheErrorOfALook(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	err := apptest.New(t).Person().Await(0, func(*thread.State) (bool, time.Time, error) { return true, time.Time{}, broken })
	assert.ErrorIs(t, err, broken)
}

func TestAWakeThatHasPassedIsNoReasonToLookAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC)
	assert.Equal(t, app.LongestSleep, app.SleepUntil(now, now))
	assert.Equal(t, app.LongestSleep, app.SleepUntil(now, now, time.Time{}, now.Add(time.Hour), now.Add(-time.Second)))
	assert.Equal(t, 3*time.Second, app.SleepUntil(now, now, now.Add(time.Minute), now.Add(3*time.Second)))
	assert.Equal(t, time.Millisecond, app.SleepUntil(now, now, now))
	assert.Equal(t, time.Millisecond, app.SleepUntil(now.Add(-time.Minute), now, now.Add(-time.Second)), "it passed during the look")
}

// The deadline passes at each of the moments at which the wait reads the clock.
func TestAWaitPastTheDeadlineEndsWithTheFallback(t *testing.T) {
	t.Parallel()
	for steps := time.Duration(1); steps <= 40; steps++ {
		b := apptest.New(t)
		at := b.Now()
		b.Now = func() time.Time {
			at = at.Add(time.Millisecond)
			return at
		}
		d, err := decisions.Transfer(b.Person(), decisions.TransferRequest{
			Thread: "part", Direction: decisions.RequestApproval, Scope: []string{"deploy"},
			Timeout: steps * time.Millisecond, Fallback: thread.AutoApprove, Wait: true,
		})
		require.NoError(t, err, "%d steps", steps)
		assert.Equal(t, thread.GrantApproved, *d.Status, "%d steps", steps)
	}
}
