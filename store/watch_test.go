package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/teststore"
)

// patience is how long a test waits for what is about to happen anyway.
const patience = 30 * time.Second

// watched is a watch that the test ends, told by the system or only by polls.
func watched(t *testing.T, s *store.Store, rel string, told bool) *store.Watcher {
	t.Helper()
	w := s.Watch(rel)
	t.Cleanup(w.Close)
	if !told {
		w.Close()
	}
	return w
}

// requireNext asserts that Next returns because something has changed.
func requireNext(t *testing.T, w *store.Watcher) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, w.Next(ctx, 0))
}

// requireStill asserts that nothing that has happened so far ends Next.
func requireStill(t *testing.T, w *store.Watcher) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	teststore.RequireCode(t, codes.Interrupted, w.Next(ctx, 0))
}

func TestAChangeEndsTheWaitForIt(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		s := teststore.New(t, store.Options{})
		w := watched(t, s, store.StateFile, told)
		require.Equal(t, told, w.Notifications() != nil)
		requireStill(t, w)
		ended := make(chan error, 1)
		go func() { ended <- w.Next(context.Background(), 0) }()
		teststore.Add(t, s, "meanwhile")
		require.NoError(t, <-ended, "told %v", told)
		requireStill(t, w)
		teststore.Add(t, s, "between")
		requireNext(t, w)
	}
}

func TestManyChangesAreOne(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	w := watched(t, s, store.StateFile, true)
	teststore.Add(t, s, teststore.Names(50)...)
	requireNext(t, w)
	requireStill(t, w)
}

func TestOtherFilesEndNoWait(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, "a")
	w := watched(t, s, store.StateFile, true)
	teststore.Put(t, s, store.JournalFile, []byte("noise\n"))
	teststore.Put(t, s, "config.json", []byte("{}"))
	require.NoError(t, s.AppendLog([]byte("a line\n")))
	require.NoError(t, os.Link(s.Path(store.StateFile), s.Path("second name")))
	requireStill(t, w)
}

func TestAWaitEndsAtItsLimitAndWithItsContext(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	synctest.Test(t, func(t *testing.T) {
		w := store.NewWatcher(s.Path(store.StateFile), nil)
		start := time.Now()
		require.NoError(t, w.Next(t.Context(), 700*time.Millisecond))
		assert.Equal(t, 700*time.Millisecond, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		teststore.RequireCode(t, codes.Interrupted, w.Next(ctx, 0))
		assert.Equal(t, time.Hour+700*time.Millisecond, time.Since(start))
		teststore.Put(t, s, "other", nil)
		teststore.RequireCode(t, codes.Interrupted, w.Next(ctx, 0))
	})
}

func TestWithoutNotificationAChangeIsSeenWithinHalfASecond(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	synctest.Test(t, func(t *testing.T) {
		w := store.NewWatcher(s.Path(store.StateFile), nil)
		start := time.Now()
		go func() {
			time.Sleep(3210 * time.Millisecond)
			teststore.Add(t, s, "late")
		}()
		require.NoError(t, w.Next(t.Context(), 0))
		assert.Equal(t, 3500*time.Millisecond, time.Since(start))
	})
}

// Network file systems tell nothing of what other machines write.
func TestASilentNotificationHasASlowPollBesideIt(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	synctest.Test(t, func(t *testing.T) {
		silent := &fsnotify.Watcher{Events: make(chan fsnotify.Event), Errors: make(chan error)}
		w := store.NewWatcher(s.Path(store.StateFile), silent)
		start := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			teststore.Add(t, s, "unheard")
		}()
		require.NoError(t, w.Next(t.Context(), 0))
		assert.Equal(t, 4*time.Second, time.Since(start))
	})
}

func TestANotificationThatFailsIsReplacedByPolls(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	w := watched(t, s, store.StateFile, true)
	failures := make(chan error, 2)
	w.Notifications().Errors = failures
	failures <- fsnotify.ErrEventOverflow
	requireStill(t, w)
	require.NotNil(t, w.Notifications(), "much has happened, and more will be told")
	failures <- errors.New("broken")
	requireStill(t, w)
	require.Nil(t, w.Notifications())
	teststore.Add(t, s, "polled")
	requireNext(t, w)
}

func TestAWatchIsOverWhenItIsClosed(t *testing.T) {
	t.Parallel()
	w := teststore.New(t, store.Options{}).Watch(store.StateFile)
	notify := w.Notifications()
	require.NotNil(t, notify)
	w.Close()
	_, open := <-notify.Events
	assert.False(t, open, "its goroutine has ended")
	w.Close()
}

func TestAFileThatIsNotThereCanBeWatched(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"later", "folder/later"} {
		s := teststore.New(t, store.Options{})
		w := watched(t, s, name, true)
		assert.Equal(t, name == "later", w.Notifications() != nil)
		requireStill(t, w)
		require.NoError(t, os.MkdirAll(filepath.Dir(s.Path(name)), 0o755))
		teststore.Put(t, s, name, []byte("here"))
		requireNext(t, w)
		require.NoError(t, os.Remove(s.Path(name)))
		requireNext(t, w)
	}
}

func TestAStateOfTheSameSizeTimeAndFileIsAnother(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	w := watched(t, s, store.StateFile, false)
	state := teststore.Read(t, s, store.StateFile)
	state[len(`{"version":"3.0","revision":`)]++
	info, err := os.Stat(s.Path(store.StateFile))
	require.NoError(t, err)
	teststore.Put(t, s, store.StateFile, state)
	require.NoError(t, os.Chtimes(s.Path(store.StateFile), info.ModTime(), info.ModTime()))
	requireNext(t, w)
}
