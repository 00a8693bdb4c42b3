package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
	"leslie/codes"
)

func TestANotificationGetsTheEventAndEndsInTime(t *testing.T) {
	t.Parallel()
	e := processEnv()
	e.Dir = t.TempDir()
	e.Stdin = strings.NewReader(`{"kind":"question"}`)
	r, err := cli.SuperviseNotification(context.Background(), e, "cat", time.Minute)
	require.NoError(t, err)
	assert.Equal(t, `{"kind":"question"}`, r.Tail)

	e.Stdin = strings.NewReader("")
	_, err = cli.SuperviseNotification(context.Background(), e, "tail -f /dev/null", time.Millisecond)
	assert.True(t, codes.Has(err, codes.AgentTimeout), "%v", err)
}
