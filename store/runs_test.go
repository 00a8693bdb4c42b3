package store_test

import (
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/internal/teststore"
)

func TestWhoeverAsksWhetherARunGoesOnIsNotTakenForOne(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	dir, release, err := s.HoldRun(t.Context(), "main")
	require.NoError(t, err)
	held, err := s.RunHeld("main")
	require.NoError(t, err)
	assert.True(t, held)
	release()
	asking := flock.New(filepath.Join(dir, "lock"))
	got, err := asking.TryRLock()
	require.NoError(t, err)
	require.True(t, got)
	held, err = s.RunHeld("main")
	require.NoError(t, err)
	assert.False(t, held)
	require.NoError(t, asking.Unlock())
}

func TestNoTwoServersHaveOneName(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	first, release, err := s.HoldName("agent-a")
	require.NoError(t, err)
	assert.Equal(t, "agent-a", first)
	second, releaseSecond, err := s.HoldName("agent-a")
	require.NoError(t, err)
	assert.Equal(t, "agent-a-2", second)
	other, _, err := s.HoldName("agent-b")
	require.NoError(t, err)
	assert.Equal(t, "agent-b", other)
	release()
	again, _, err := s.HoldName("agent-a")
	require.NoError(t, err)
	assert.Equal(t, "agent-a", again, "it is free again")
	releaseSecond()
}
