package store

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/retry"
)

func TestAWaiterThatGaveUpDoesNotKeepTheLock(t *testing.T) {
	t.Parallel()
	origin := newStore(t, Options{})
	s := with(origin, Options{Lock: retry.Policy{InitialDelay: time.Microsecond, MaxDelay: time.Microsecond}})
	held := flock.New(s.Path(LockFile))
	require.NoError(t, held.Lock())
	for range 20 {
		_, err := s.lock(t.Context(), Wait{})
		requireCode(t, codes.LockFailed, err)
	}
	require.NoError(t, held.Unlock())
	require.NoError(t, held.Lock(), "each of them gives it back")
	require.NoError(t, held.Unlock())
	add(t, origin, "x") // which waits, should one of them have it for a moment
}

func TestAHeldLockIsToldWithItsAttempts(t *testing.T) {
	t.Parallel()
	origin := newStore(t, Options{})
	s := with(origin, Options{Lock: retry.Policy{InitialDelay: time.Microsecond, MaxDelay: time.Microsecond}})
	held := flock.New(s.Path(LockFile))
	ok, err := held.TryLock()
	require.NoError(t, err)
	require.True(t, ok)
	before := listing(t, s)
	_, err = s.Update(context.Background(), callNamed("x"), create("x"))
	e := requireCode(t, codes.LockFailed, err)
	assert.Equal(t, "10", e.Facts().Text("attempts"))
	assert.Equal(t, before, listing(t, s))
	requireHolds(t, s, nil, false)
	require.NoError(t, held.Unlock())
	add(t, origin, "x") // which waits, should the one that gave up have it for a moment
}

func TestALockFileThatCannotBeOpenedIsAFailedWrite(t *testing.T) {
	t.Parallel()
	cases := map[string]func(path string) error{
		"a folder": func(path string) error { return os.Mkdir(path, 0o755) },
		"a link":   func(path string) error { return os.Symlink("/nowhere/else", path) },
	}
	for name, stand := range cases {
		s := newStore(t, Options{})
		require.NoError(t, os.Remove(s.Path(LockFile)))
		require.NoError(t, stand(s.Path(LockFile)))
		_, err := s.Update(context.Background(), callNamed("x"), create("x"))
		e := requireCode(t, codes.WriteFailed, err)
		assert.Equal(t, ".leslie/"+LockFile, e.Facts().Text("path"), name)
	}
}

func TestManyProcessesWriteAtOnceAndNoneIsLost(t *testing.T) {
	t.Parallel()
	const processes = 32
	s := newStore(t, Options{})
	failed := make(chan error, processes)
	for i := range processes {
		cmd := child(t, "writes", s.Root(), strconv.Itoa(i))
		require.NoError(t, cmd.Start())
		go func() { failed <- cmd.Wait() }()
	}
	for range processes {
		assert.NoError(t, <-failed)
	}
	got, view, err := seen(s)
	require.NoError(t, err)
	assert.Len(t, got, processes*10)
	assert.Equal(t, processes*10, int(view.Revision))
	assert.Empty(t, view.Warnings)
	requireNoGap(t, s)
	requireTidy(t, s)
}
