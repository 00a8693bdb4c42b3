package store_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/teststore"
)

// Whatever fails, each store is whole in one of the two places, and one of them is the project's.
func TestStoresThatChangePlacesAreNeverLost(t *testing.T) {
	t.Parallel()
	for cut := 1; ; cut++ {
		n := 0
		s, other := teststore.New(t, store.Options{}), teststore.New(t, store.Options{})
		teststore.Add(t, s, "obj-here")
		teststore.Add(t, other, "obj-there")
		require.NoError(t, os.WriteFile(s.Path(store.ConfigFile), []byte("{}\n"), 0o644))
		failing := teststore.With(s, store.Options{Before: func(store.Action, string) error {
			if n++; n == cut {
				return syscall.EIO
			}
			return nil
		}})
		err := failing.Exchange(t.Context(), store.Wait{}, other.Root())
		here, _, seen := teststore.Seen(s)
		require.NoError(t, seen)
		there, _, seen := teststore.Seen(other)
		require.NoError(t, seen)
		if err != nil && here[0] == "obj-here" {
			assert.Equal(t, []string{"obj-there"}, there, "cut off at %d", cut)
			continue
		}
		assert.Equal(t, []string{"obj-there"}, here)
		assert.Equal(t, []string{"obj-here"}, there)
		assert.Equal(t, "{}\n", string(teststore.Read(t, s, store.ConfigFile)))
		if err == nil {
			require.Greater(t, cut, 1)
			return
		}
	}
}

// Whoever waited for the lock of a store that was moved away has to have that of the one in its place.
func TestWhoWaitsForTheLockWaitsForThatOfTheStoreThatIsThereThen(t *testing.T) {
	t.Parallel()
	s, other := teststore.New(t, store.Options{}), teststore.New(t, store.Options{})
	w, err := s.Files().Lock(t.Context(), store.Wait{})
	require.NoError(t, err)
	done, waiting := make(chan error), make(chan struct{})
	go func() {
		call := teststore.CallNamed("obj-new")
		call.Wait.Timeout = 1500 * time.Millisecond
		call.Wait.Notify = func(string) { close(waiting) }
		_, err := s.Update(t.Context(), call, teststore.Create("obj-new"))
		done <- err
	}()
	<-waiting
	require.NoError(t, os.Rename(s.Path("."), s.Path(".")+"-aside"))
	require.NoError(t, os.Rename(other.Path("."), s.Path(".")))
	second, err := s.Files().Lock(t.Context(), store.Wait{})
	require.NoError(t, err)
	w.Unlock()
	teststore.RequireCode(t, codes.LockFailed, <-done)
	second.Unlock()
	teststore.Add(t, s, "obj-new")
}
