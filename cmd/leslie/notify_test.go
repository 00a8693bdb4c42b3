package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
)

func TestANotificationGetsTheEventAndEndsInTime(t *testing.T) {
	t.Parallel()
	e := processEnv()
	e.dir = t.TempDir()
	e.stdin = strings.NewReader(`{"kind":"question"}`)
	r, err := superviseNotification(context.Background(), e, "cat", time.Minute)
	require.NoError(t, err)
	assert.Equal(t, `{"kind":"question"}`, r.Tail)

	e.stdin = strings.NewReader("")
	_, err = superviseNotification(context.Background(), e, "tail -f /dev/null", time.Millisecond)
	assert.True(t, codes.Has(err, codes.AgentTimeout), "%v", err)
}
