package store

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
)

// patience is how long a test waits for what is about to happen anyway.
const patience = 30 * time.Second

// watched is a watch that the test ends, told by the system or only by polls.
func watched(t *testing.T, s *Store, rel string, told bool) *Watcher {
	t.Helper()
	w := s.Watch(rel)
	t.Cleanup(w.Close)
	if !told {
		w.Close()
	}
	return w
}

// requireNext asserts that Next returns because something has changed.
func requireNext(t *testing.T, w *Watcher) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, w.Next(ctx, 0))
}

// requireStill asserts that nothing that has happened so far ends Next.
func requireStill(t *testing.T, w *Watcher) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	requireCode(t, codes.Interrupted, w.Next(ctx, 0))
}

func TestAChangeEndsTheWaitForIt(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		s := newStore(t, Options{})
		w := watched(t, s, StateFile, told)
		require.Equal(t, told, w.notify != nil)
		requireStill(t, w)
		ended := make(chan error, 1)
		go func() { ended <- w.Next(context.Background(), 0) }()
		add(t, s, "meanwhile")
		require.NoError(t, <-ended, "told %v", told)
		requireStill(t, w)
		add(t, s, "between")
		requireNext(t, w)
	}
}

func TestManyChangesAreOne(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	w := watched(t, s, StateFile, true)
	add(t, s, names(50)...)
	requireNext(t, w)
	requireStill(t, w)
}

func TestOtherFilesEndNoWait(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, "a")
	w := watched(t, s, StateFile, true)
	put(t, s, JournalFile, []byte("noise\n"))
	put(t, s, "config.json", []byte("{}"))
	require.NoError(t, s.AppendLog([]byte("a line\n")))
	require.NoError(t, os.Link(s.Path(StateFile), s.Path("second name")))
	requireStill(t, w)
}

func TestAWaitEndsAtItsLimitAndWithItsContext(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	synctest.Test(t, func(t *testing.T) {
		w := &Watcher{path: s.Path(StateFile), last: fingerprintOf(s.Path(StateFile))}
		start := time.Now()
		require.NoError(t, w.Next(t.Context(), 700*time.Millisecond))
		assert.Equal(t, 700*time.Millisecond, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		requireCode(t, codes.Interrupted, w.Next(ctx, 0))
		assert.Equal(t, time.Hour+700*time.Millisecond, time.Since(start))
		put(t, s, "other", nil)
		requireCode(t, codes.Interrupted, w.Next(ctx, 0))
	})
}

func TestWithoutNotificationAChangeIsSeenWithinHalfASecond(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	synctest.Test(t, func(t *testing.T) {
		w := &Watcher{path: s.Path(StateFile), last: fingerprintOf(s.Path(StateFile))}
		start := time.Now()
		go func() {
			time.Sleep(3210 * time.Millisecond)
			add(t, s, "late")
		}()
		require.NoError(t, w.Next(t.Context(), 0))
		assert.Equal(t, 3500*time.Millisecond, time.Since(start))
	})
}

// Network file systems tell nothing of what other machines write.
func TestASilentNotificationHasASlowPollBesideIt(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	synctest.Test(t, func(t *testing.T) {
		silent := &fsnotify.Watcher{Events: make(chan fsnotify.Event), Errors: make(chan error)}
		w := &Watcher{path: s.Path(StateFile), last: fingerprintOf(s.Path(StateFile)), notify: silent}
		start := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			add(t, s, "unheard")
		}()
		require.NoError(t, w.Next(t.Context(), 0))
		assert.Equal(t, 4*time.Second, time.Since(start))
	})
}

func TestANotificationThatFailsIsReplacedByPolls(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	w := watched(t, s, StateFile, true)
	failures := make(chan error, 2)
	w.notify.Errors = failures
	failures <- fsnotify.ErrEventOverflow
	requireStill(t, w)
	require.NotNil(t, w.notify, "much has happened, and more will be told")
	failures <- errors.New("broken")
	requireStill(t, w)
	require.Nil(t, w.notify)
	add(t, s, "polled")
	requireNext(t, w)
}

func TestAWatchIsOverWhenItIsClosed(t *testing.T) {
	t.Parallel()
	w := newStore(t, Options{}).Watch(StateFile)
	notify := w.notify
	require.NotNil(t, notify)
	w.Close()
	_, open := <-notify.Events
	assert.False(t, open, "its goroutine has ended")
	w.Close()
}

func TestAFileThatIsNotThereCanBeWatched(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"later", "folder/later"} {
		s := newStore(t, Options{})
		w := watched(t, s, name, true)
		assert.Equal(t, name == "later", w.notify != nil)
		requireStill(t, w)
		require.NoError(t, os.MkdirAll(filepath.Dir(s.Path(name)), 0o755))
		put(t, s, name, []byte("here"))
		requireNext(t, w)
		require.NoError(t, os.Remove(s.Path(name)))
		requireNext(t, w)
	}
}

func TestAStateOfTheSameSizeTimeAndFileIsAnother(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	w := watched(t, s, StateFile, false)
	state := read(t, s, StateFile)
	state[len(`{"version":"3.0","revision":`)]++
	info, err := os.Stat(s.Path(StateFile))
	require.NoError(t, err)
	put(t, s, StateFile, state)
	require.NoError(t, os.Chtimes(s.Path(StateFile), info.ModTime(), info.ModTime()))
	requireNext(t, w)
}
