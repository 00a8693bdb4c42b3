package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/threadcmd"
)

// walking makes a bench's clock advance by a step each time it is read, so that deadlines
// pass after a known number of looks.
func walking(b *bench, step time.Duration) {
	at := b.Now()
	b.Env.Now = func() time.Time {
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

// Otherwise a caller that knows of a passed deadline would be told again and again.
func TestADeadlineThatPassedBeforeAWaitIsNone(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "transfer", "main", "--direction", "request_approval", "--scope", "deploy", "--timeout", "300ms", "--fallback", "skip")
	b.Env.Now = func() time.Time { return time.Date(2026, 2, 9, 17, 0, 0, 0, time.UTC) }
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
			all := commands().All()
			for _, cmd := range all {
				if cmd.Name == "wait" {
					cmd.Run = func(c *cli.Call) (cli.Data, error) { got = threadcmd.WaitTimeout(c); return &cli.VersionData{}, nil }
				}
			}
			b.perform(context.Background(), all, argv...)
			assert.Equal(t, d, got, "%v", argv)
		}
	}
}
