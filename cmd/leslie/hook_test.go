package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"leslie/cmd/leslie/internal/threadcmd"
)

// The agent waits for a hook: one whose input does not end must not hold it up.
func TestAHookGivesUpAndSaysNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"start", "stop"} {
		b := newProject(t)
		var limit time.Duration
		b.Env.WithTimeout = func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
			limit = d
			return context.WithTimeout(ctx, time.Millisecond)
		}
		in, end := io.Pipe()
		t.Cleanup(func() { _ = end.Close() })
		b.Env.Stdin = in
		assert.Equal(t, 0, b.leslie("hook", name, "--thread", "main"))
		assert.Empty(t, b.out.String())
		assert.Equal(t, 2*time.Second, limit)
	}
}

// No agent cuts what it is told at 10,000 characters.
func TestWhatASessionHearsFirstHasAtMostTenThousandCharacters(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	for range 12 {
		b.must(t, "inject", "main", "--type", "data", "--content", strings.Repeat("a", 4000))
	}
	b.must(t, "hook", "start", "--thread", "main", "--for", "opencode")
	assert.Greater(t, threadcmd.Width(b.out.String()), 7000)
	assert.LessOrEqual(t, threadcmd.Width(b.out.String()), 10000)
}
