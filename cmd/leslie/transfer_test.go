package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An agent's tool ends a command after two minutes; leslie answers before. The clock of
// this test jumps each time it is read, so the rest of the wait is short.
func TestAnAgentThatDoesNotSayHowLongIsToldAfter100Seconds(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.Env.WithTimeout = func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
		assert.Equal(t, 100*time.Second, d)
		return context.WithTimeout(ctx, 50*time.Millisecond)
	}
	require.Equal(t, 14, b.leslie("transfer", "main", "--direction", "request_approval", "--scope", "deploy", "--wait", "--as", "agent", "--format", "json"))
	a := document(t, b.out.Bytes())
	require.NotNil(t, a.Error)
	assert.Equal(t, "T401", a.Error.Code)
	assert.Contains(t, a.Error.Message, "Approval timeout after 1m40s")
	assert.Equal(t, float64(100_000), a.Error.Details["durationMs"])
	assert.Equal(t, []string{"leslie approvals --all", "leslie wait main --until decision"}, a.Error.Next)
	assert.Equal(t, true, a.Error.Details["changed"])
	b.must(t, "approvals", "--format", "json")
	assert.Equal(t, float64(1), document(t, b.out.Bytes()).Data["total"], "the request stays open")
}
