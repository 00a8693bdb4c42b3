package lockfile

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/retry"
)

func requireCode(t testing.TB, code codes.Code, err error) *codes.Error {
	t.Helper()
	require.Error(t, err)
	require.True(t, codes.Has(err, code), "want %s, got %v", code, err)
	return codes.Of(err)
}

func never() (bool, error) { return false, nil }

// queued is a lock that the kernel hands over after a while.
func queued(after time.Duration) (q *queue, given *bool) {
	given = new(bool)
	return &queue{
		lock:   func() error { time.Sleep(after); return nil },
		unlock: func() { *given = true },
		left:   make(chan struct{}),
	}, given
}

func TestALockThatStaysHeldFailsAfterTheWholeSchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		said := time.Duration(0)
		calls := 0
		start := time.Now()
		w := waiter{
			try:     func() (bool, error) { calls++; return false, nil },
			waiting: func() { require.Zero(t, said, "it is said once"); said = time.Since(start) },
		}
		w.await = w.polling(func(most time.Duration) time.Duration { return most / 2 })
		e := requireCode(t, codes.LockFailed, w.acquire(t.Context()))
		assert.Equal(t, "10", e.Facts().Text("attempts"))
		assert.Equal(t, "21300", e.Facts().Text("durationMs"))
		assert.Equal(t, 21300*time.Millisecond, time.Since(start))
		assert.InDelta(t, time.Second, said, float64(longestPause))
		assert.Greater(t, calls, 21300/25)
	})
}

func TestAWaiterGoesOnWithinMillisecondsOnceTheLockIsFree(t *testing.T) {
	t.Parallel()
	for _, free := range []time.Duration{0, 3 * time.Millisecond, 130 * time.Millisecond, 7 * time.Second, 21 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			w := waiter{
				try:     func() (bool, error) { return time.Since(start) >= free, nil },
				waiting: func() {},
			}
			w.await = w.polling(nil)
			require.NoError(t, w.acquire(t.Context()))
			assert.LessOrEqual(t, time.Since(start)-free, longestPause)
		})
	}
}

func TestAWaiterInTheQueueGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	for _, free := range []time.Duration{0, 3 * time.Millisecond, 7 * time.Second, 21 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			q, given := queued(free)
			said, start := 0, time.Now()
			w := waiter{try: never, await: q.await, waiting: func() {
				said++
				assert.Equal(t, saidAfter, time.Since(start))
			}}
			require.NoError(t, w.acquire(t.Context()))
			q.leave()
			synctest.Wait()
			assert.Equal(t, free, time.Since(start))
			assert.False(t, *given, "it is held")
			assert.Equal(t, free > saidAfter, said == 1)
		})
	}
}

func TestALockThatComesTooLateIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, given := queued(time.Minute)
		w := waiter{try: never, await: q.await, waiting: func() {}}
		e := requireCode(t, codes.LockFailed, w.acquire(t.Context()))
		assert.Equal(t, "10", e.Facts().Text("attempts"))
		assert.Equal(t, "21300", e.Facts().Text("durationMs"))
		q.leave()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.True(t, *given)
	})
}

// The same with the lock of a file, whose waiter is the kernel.
func TestATimeoutShortensTheSchedule(t *testing.T) {
	t.Parallel()
	cases := map[time.Duration]string{
		time.Millisecond:       "2",
		100 * time.Millisecond: "2",
		time.Second:            "5",
		time.Minute:            "10",
	}
	for timeout, attempts := range cases {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			w := waiter{policy: shorten(retry.Policy{}, timeout), limit: timeout, try: never, waiting: func() {}}
			w.await = w.polling(nil)
			e := requireCode(t, codes.LockFailed, w.acquire(t.Context()))
			assert.Equal(t, attempts, e.Facts().Text("attempts"))
			assert.Equal(t, min(timeout, 21300*time.Millisecond), time.Since(start))
		})
	}
}

func TestAWaiterThatIsInterruptedSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		w := waiter{try: never, waiting: func() {}}
		w.await = w.polling(nil)
		requireCode(t, codes.Interrupted, w.acquire(ctx))
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		q, given := queued(time.Second)
		requireCode(t, codes.Interrupted, waiter{try: never, await: q.await, waiting: func() {}}.acquire(ctx))
		q.leave()
		time.Sleep(time.Second)
		synctest.Wait()
		assert.True(t, *given)
	})
}

func TestAnErrorOfTheLockEndsTheWait(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	calls := 0
	w := waiter{waiting: func() {}, try: func() (bool, error) {
		if calls++; calls == 3 {
			return false, broken
		}
		return false, nil
	}}
	w.await = w.polling(nil)
	require.ErrorIs(t, w.acquire(t.Context()), broken)

	synctest.Test(t, func(t *testing.T) {
		q, _ := queued(0)
		q.lock = func() error { return broken }
		require.ErrorIs(t, waiter{try: never, await: q.await, waiting: func() {}}.acquire(t.Context()), broken)
		q.leave()
	})
}

// stubborn is a lock that is given back at the last try.
type stubborn struct{ tries int }

func (l *stubborn) Unlock() error {
	if l.tries++; l.tries < releaseTries {
		return syscall.EINTR
	}
	return nil
}

func TestALockIsGivenBackThoughTheCallWasInterrupted(t *testing.T) {
	t.Parallel()
	l := &stubborn{}
	require.NoError(t, Release(l))
	assert.Equal(t, releaseTries, l.tries)
}
