// Package apptest is what the tests of use cases share: a small project with a clock that
// stands still.
package apptest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"leslie/internal/app"
	"leslie/store"
	"leslie/thread"
)

// Project is a project with the objective ship and the threads main and part. Its
// clock does not move unless a test moves it, and its ids count up.
type Project struct {
	*app.Project
	T   *testing.T
	Dir string
	Now func() time.Time
}

// New makes a project.
func New(t *testing.T) *Project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC)
	b := &Project{T: t, Dir: dir, Now: func() time.Time { return at }}
	_, _, _, err = store.Create(t.Context(), store.Wait{}, dir, store.Options{Now: b.Now})
	require.NoError(t, err)
	var ids atomic.Int64
	b.Project, err = app.Open(dir, app.Environment{
		Now: func() time.Time { return b.Now() }, NewID: func(prefix string) string { return prefix + fmt.Sprintf("%08d", ids.Add(1)) },
		Jitter: func(most time.Duration) time.Duration { return most }, Environ: func() []string { return nil },
	})
	require.NoError(t, err)
	b.do(func(s *thread.State, stamp thread.Stamp) error {
		_, err := s.CreateObjective(thread.NewObjective{ID: "ship", Title: "Ship it"}, stamp)
		return err
	})
	for _, id := range []thread.ThreadID{"main", "part"} {
		b.do(func(s *thread.State, stamp thread.Stamp) error {
			s.Plan(thread.Step{Do: thread.StepMakeDir, To: app.ThreadInStore(id)})
			_, err := s.Spawn(thread.NewThread{ID: id, Intent: "Work on " + string(id), Title: "Work on " + string(id), Inherit: thread.InheritNone}, stamp)
			return err
		})
		b.Changed(string(id), at)
	}
	return b
}

// do changes the store by rules alone.
func (b *Project) do(rule func(*thread.State, thread.Stamp) error) {
	b.T.Helper()
	_, err := app.Write(b.Person(), func(s *thread.State, stamp thread.Stamp) (*app.Change, thread.ThreadID, error) {
		return &app.Change{}, "", rule(s, stamp)
	})
	require.NoError(b.T, err)
}

// Changed sets when the folder of a thread's artifacts last changed.
func (b *Project) Changed(id string, at time.Time) {
	b.T.Helper()
	require.NoError(b.T, os.Chtimes(filepath.Join(b.Dir, store.Dir, store.ThreadsDir, id), at, at))
}

// Person is a call of a person.
func (b *Project) Person() *app.Call {
	return b.Call(b.T.Context(), app.Caller{As: thread.User, Actor: "kim"}, app.Request{Command: "test"})
}

// Write puts an artifact into a thread's folder.
func (b *Project) Write(id, path, content string) {
	b.T.Helper()
	path = filepath.Join(b.Dir, store.Dir, store.ThreadsDir, id, path)
	require.NoError(b.T, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b.T, os.WriteFile(path, []byte(content), 0o644))
}

// Tree is every file of the store with its content.
func (b *Project) Tree() map[string]string {
	b.T.Helper()
	found := map[string]string{}
	require.NoError(b.T, filepath.WalkDir(filepath.Join(b.Dir, store.Dir), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found[path] = string(content)
		return err
	}))
	return found
}

// Asked is a use case with its request.
type Asked func(*app.Call) error

// Ask is a use case with a request, without its result.
func Ask[In, Out any](do func(*app.Call, In) (*Out, error), in In) Asked {
	return func(c *app.Call) error { _, err := do(c, in); return err }
}

// Agent is a call of an agent that works in the project's folder and names no thread.
func (b *Project) Agent(actor string) *app.Call {
	return b.Call(b.T.Context(), app.Caller{As: thread.Agent, Actor: actor, Dir: b.Dir}, app.Request{Command: "test"})
}

// Pass moves the clock.
func (b *Project) Pass(d time.Duration) {
	at := b.Now().Add(d)
	b.Now = func() time.Time { return at }
}
