package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

// walking makes a bench's clock go on by a step whenever somebody reads it, so
// that deadlines pass after a known number of looks.
func walking(b *bench, step time.Duration) {
	at := b.now()
	b.env.now = func() time.Time {
		at = at.Add(step)
		return at
	}
}

func TestADeadlineThatPassesDuringAWaitIsAChange(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{
		{"wait", "main", "--until", "any"}, {"wait", "part", "main", "--until", "any"}, {"wait", "--until", "any"},
	} {
		b := newProject(t)
		walking(b, 20*time.Millisecond)
		b.must(t, "transfer", "main", "--direction", "request_approval", "--scope", "deploy", "--timeout", "300ms", "--fallback", "skip")
		b.must(t, append(argv, "--format", "json")...)
		a := document(t, b.out.Bytes())
		assert.Equal(t, true, a.Data["met"], "%v", argv)
		operations, _ := a.Data["operations"].(map[string]any)
		assert.Equal(t, float64(0), operations["total"], "nobody has recorded it")
	}
}

// Who knows of a deadline that has passed would be told again and again.
func TestADeadlineThatPassedBeforeAWaitIsNone(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "transfer", "main", "--direction", "request_approval", "--scope", "deploy", "--timeout", "300ms", "--fallback", "skip")
	b.env.now = func() time.Time { return time.Date(2026, 2, 9, 17, 0, 0, 0, time.UTC) }
	require.Equal(t, 11, b.leslie("wait", "main", "--until", "any", "--timeout", "20ms", "--format", "json"))
	a := document(t, b.out.Bytes())
	threads, _ := a.Data["threads"].([]any)
	assert.Equal(t, "active", threads[0].(map[string]any)["status"], "its effect is shown")
}

func TestAgentsWaitAHundredSecondsAndPeopleForEver(t *testing.T) {
	t.Parallel()
	cases := map[string]time.Duration{"user": 0, "agent": 100 * time.Second, "system": 100 * time.Second}
	for as, want := range cases {
		for given, d := range map[string]time.Duration{"": want, "3s": 3 * time.Second} {
			argv := []string{"wait", "main", "--as", as}
			if given != "" {
				argv = append(argv, "--timeout", given)
			}
			b, got := newProject(t), time.Duration(-1)
			all := commands()
			for _, cmd := range all {
				if cmd.name == "wait" {
					cmd.run = func(c *call) (Data, error) { got = c.waitTimeout(); return &versionData{}, nil }
				}
			}
			b.perform(context.Background(), all, argv...)
			assert.Equal(t, d, got, "%v", argv)
		}
	}
}

// awaiting is a command that runs await by itself.
func awaiting(run func(c *call) error) []*command {
	return []*command{{name: "await", run: func(c *call) (Data, error) { return &versionData{}, run(c) }}}
}

func TestAwaitLooksOnceMoreWhenTheTimeIsUp(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	looks := 0
	b.perform(context.Background(), awaiting(func(c *call) error {
		st, err := c.store()
		require.NoError(t, err)
		err = c.await(st, 20*time.Millisecond, func(*thread.State) (bool, time.Time, error) {
			looks++
			return false, time.Time{}, nil
		})
		e := codes.Of(err)
		require.NotNil(t, e)
		assert.Equal(t, codes.WaitTimeout, e.Code())
		assert.Equal(t, "20", e.Facts().Text("durationMs"))
		return nil
	}), "await")
	assert.Equal(t, 2, looks, "one at the beginning, one at the end, none between: nothing happened")
}

func TestAwaitSeesWhatHappensWhileItLooks(t *testing.T) {
	t.Parallel()
	b, other := newProject(t), newBench(t)
	other.dir = b.dir
	looks := 0
	b.perform(context.Background(), awaiting(func(c *call) error {
		st, err := c.store()
		require.NoError(t, err)
		return c.await(st, 20*time.Second, func(*thread.State) (bool, time.Time, error) {
			if looks++; looks == 1 {
				other.must(t, "done", "part")
			}
			return looks == 2, time.Time{}, nil
		})
	}), "await")
	assert.Empty(t, b.err.String(), "it looked again at once")
}

func TestAwaitLooksAgainWhenTimeAloneChangesSomething(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	walking(b, time.Millisecond)
	looks := 0
	b.perform(context.Background(), awaiting(func(c *call) error {
		st, err := c.store()
		require.NoError(t, err)
		due := c.env.now().Add(15 * time.Millisecond)
		return c.await(st, 0, func(*thread.State) (bool, time.Time, error) {
			looks++
			return !c.now().Before(due), due, nil
		})
	}), "await")
	assert.Empty(t, b.err.String())
	assert.Greater(t, looks, 1)
	assert.LessOrEqual(t, looks, 16, "no more looks than its clock took steps")
}

func TestAwaitEndsWithTheErrorOfALook(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	broken := errors.New("broken")
	b.perform(context.Background(), awaiting(func(c *call) error {
		st, err := c.store()
		require.NoError(t, err)
		err = c.await(st, 0, func(*thread.State) (bool, time.Time, error) { return true, time.Time{}, broken })
		assert.ErrorIs(t, err, broken)
		return nil
	}), "await")
}

func TestAWakeThatHasPassedIsNoReasonToLookAgain(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.perform(context.Background(), awaiting(func(c *call) error {
		now := c.env.now()
		assert.Equal(t, longestNap, c.nap(now))
		assert.Equal(t, longestNap, c.nap(now, time.Time{}, now.Add(time.Hour), now.Add(-time.Second)))
		assert.Equal(t, 3*time.Second, c.nap(now, now.Add(time.Minute), now.Add(3*time.Second)))
		assert.Equal(t, time.Millisecond, c.nap(now, now))
		assert.Equal(t, time.Millisecond, c.nap(now.Add(-time.Minute), now.Add(-time.Second)), "it passed during the look")
		return nil
	}), "await")
	assert.Empty(t, b.err.String())
}
