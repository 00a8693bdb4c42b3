package code

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/app/apptest"
)

// A call that repeats a killed one finds what the operating system has not ended yet.
func TestACallWaitsForAnotherOfTheSameWorktree(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	first, err := Hold(b.Person(), "part")
	require.NoError(t, err)
	b.Environment().WithTimeout = func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
		first() // as soon as the second waits
		return context.WithTimeout(ctx, d)
	}
	second, err := Hold(b.Person(), "part")
	require.NoError(t, err)
	b.Environment().WithTimeout = func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		return ended, cancel
	}
	_, err = Hold(b.Person(), "part")
	assert.True(t, codes.Has(err, codes.WorktreeBusy), "%v", err)
	second()
	third, err := Hold(b.Person(), "part")
	require.NoError(t, err)
	third()
}
