package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/thread"
)

// bench is a project with the objective ship and the threads main and part. Its
// clock does not move unless a test moves it, and its ids count up.
type bench struct {
	*Project
	t   *testing.T
	dir string
	now func() time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC)
	b := &bench{t: t, dir: dir, now: func() time.Time { return at }}
	_, _, _, err = store.Create(context.Background(), store.Wait{}, dir, store.Options{Now: b.now})
	require.NoError(t, err)
	var ids atomic.Int64
	b.Project, err = Open(dir, Environment{
		Now: func() time.Time { return b.now() }, NewID: func(prefix string) string { return prefix + fmt.Sprintf("%08d", ids.Add(1)) },
		Jitter: func(most time.Duration) time.Duration { return most }, Environ: os.Environ,
	})
	require.NoError(t, err)
	_, err = CreateObjective(b.call(), CreateObjectiveRequest{ID: "ship", Title: "Ship it"})
	require.NoError(t, err)
	for _, id := range []string{"main", "part"} {
		_, err = Spawn(b.call(), SpawnRequest{ID: id, Intent: "Work on " + id})
		require.NoError(t, err)
	}
	return b
}

// call is a call of a person.
func (b *bench) call() *Call {
	return b.Call(context.Background(), Caller{As: thread.User, Actor: "kim"}, Request{Command: "test"})
}

// write puts an artifact into a thread's folder.
func (b *bench) write(id, path, content string) {
	b.t.Helper()
	path = filepath.Join(b.dir, store.Dir, store.ThreadsDir, id, path)
	require.NoError(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b.t, os.WriteFile(path, []byte(content), 0o644))
}

func TestUseCasesThatReadChangeNothingForADirectCaller(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	before := b.tree()
	for name, read := range map[string]func(*Call) error{
		"history": func(c *Call) error { _, err := History(c, HistoryRequest{}); return err },
		"observe": func(c *Call) error {
			return Observe(c, ObserveRequest{}, func(OperationRecord) error { return nil })
		},
		"logs":  func(c *Call) error { _, err := Logs(c, LogsRequest{}); return err },
		"stats": func(c *Call) error { _, err := Stats(c, StatsRequest{}); return err },
		"wait": func(c *Call) error {
			_, err := Wait(c, WaitRequest{Threads: []string{"main"}, Until: thread.UntilChildren})
			return err
		},
	} {
		c := b.call()
		require.NoError(t, read(c), name)
		c.Finish(nil)
		assert.Equal(t, before, b.tree(), name)
		assert.True(t, c.request.ReadOnly, name)
	}
}

// tree is every file of the store with its content.
func (b *bench) tree() map[string]string {
	b.t.Helper()
	found := map[string]string{}
	require.NoError(b.t, filepath.WalkDir(filepath.Join(b.dir, store.Dir), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found[path] = string(content)
		return err
	}))
	return found
}
