package store_test

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
	"leslie/store"
	"leslie/store/internal/teststore"
)

func TestAWaiterThatGaveUpDoesNotKeepTheLock(t *testing.T) {
	t.Parallel()
	origin := teststore.New(t, store.Options{})
	s := teststore.With(origin, store.Options{Lock: retry.Policy{InitialDelay: time.Microsecond, MaxDelay: time.Microsecond}})
	held := flock.New(s.Path(store.LockFile))
	require.NoError(t, held.Lock())
	for range 20 {
		_, err := s.Files().Lock(t.Context(), store.Wait{})
		teststore.RequireCode(t, codes.LockFailed, err)
	}
	require.NoError(t, held.Unlock())
	require.NoError(t, held.Lock(), "each of them gives it back")
	require.NoError(t, held.Unlock())
	teststore.Add(t, origin, "x") // which waits, should one of them have it for a moment
}

func TestAHeldLockIsToldWithItsAttempts(t *testing.T) {
	t.Parallel()
	origin := teststore.New(t, store.Options{})
	s := teststore.With(origin, store.Options{Lock: retry.Policy{InitialDelay: time.Microsecond, MaxDelay: time.Microsecond}})
	held := flock.New(s.Path(store.LockFile))
	ok, err := held.TryLock()
	require.NoError(t, err)
	require.True(t, ok)
	before := teststore.Listing(t, s)
	_, err = s.Update(context.Background(), teststore.CallNamed("x"), teststore.Create("x"))
	e := teststore.RequireCode(t, codes.LockFailed, err)
	assert.Equal(t, "10", e.Facts().Text("attempts"))
	assert.Equal(t, before, teststore.Listing(t, s))
	teststore.RequireHolds(t, s, nil, false)
	require.NoError(t, held.Unlock())
	teststore.Add(t, origin, "x") // which waits, should the one that gave up have it for a moment
}

func TestALockFileThatCannotBeOpenedIsAFailedWrite(t *testing.T) {
	t.Parallel()
	cases := map[string]func(path string) error{
		"a folder": func(path string) error { return os.Mkdir(path, 0o755) },
		"a link":   func(path string) error { return os.Symlink("/nowhere/else", path) },
	}
	for name, stand := range cases {
		s := teststore.New(t, store.Options{})
		require.NoError(t, os.Remove(s.Path(store.LockFile)))
		require.NoError(t, stand(s.Path(store.LockFile)))
		_, err := s.Update(context.Background(), teststore.CallNamed("x"), teststore.Create("x"))
		e := teststore.RequireCode(t, codes.WriteFailed, err)
		assert.Equal(t, ".leslie/"+store.LockFile, e.Facts().Text("path"), name)
	}
}

func TestManyProcessesWriteAtOnceAndNoneIsLost(t *testing.T) {
	t.Parallel()
	const processes = 32
	s := teststore.New(t, store.Options{})
	failed := make(chan error, processes)
	for i := range processes {
		cmd := child(t, "writes", s.Root(), strconv.Itoa(i))
		require.NoError(t, cmd.Start())
		go func() { failed <- cmd.Wait() }()
	}
	for range processes {
		assert.NoError(t, <-failed)
	}
	got, view, err := teststore.Seen(s)
	require.NoError(t, err)
	assert.Len(t, got, processes*10)
	assert.Equal(t, processes*10, int(view.Revision))
	assert.Empty(t, view.Warnings)
	requireNoGap(t, s)
	teststore.RequireTidy(t, s)
}
