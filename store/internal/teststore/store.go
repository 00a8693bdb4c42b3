package teststore

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/state"
	"leslie/thread"
	"leslie/warnings"
)

// Clock is the time in all tests.
func Clock() time.Time { return time.Date(2026, 2, 9, 12, 0, 0, 0, time.UTC) }

// New makes a store in a folder of its own.
func New(t testing.TB, opts store.Options) *store.Store {
	t.Helper()
	if opts.Now == nil {
		opts.Now = Clock
	}
	s, created, _, err := store.Create(context.Background(), store.Wait{}, t.TempDir(), opts)
	require.NoError(t, err)
	require.True(t, created)
	return s
}

// With is the same store under other options.
func With(s *store.Store, opts store.Options) *store.Store {
	if opts.Context == nil {
		opts.Context = context.Background()
	}
	if opts.Now == nil {
		opts.Now = Clock
	}
	return store.Open(s.Root(), opts)
}

// CallNamed is the call of an operation that adds an objective.
func CallNamed(name string) store.Call {
	return store.Call{
		Stamp:   thread.Stamp{Operation: thread.OperationID("op-" + name), Time: Clock(), As: thread.User, Actor: "ann"},
		Command: "objective create",
		Params:  json.RawMessage(`{"title":"` + name + `"}`),
	}
}

// Create is a rule function that adds one objective.
func Create(name string) func(*thread.State) (store.Outcome, error) {
	return func(st *thread.State) (store.Outcome, error) {
		st.Objectives.Put(thread.Objective{ID: thread.ObjectiveID(name), Title: "An <objective> & \"more\"", CreatedAt: Clock()})
		return store.Outcome{Answer: json.RawMessage(`{"objectiveId":"` + name + `"}`)}, nil
	}
}

// Add adds objectives, each with an operation.
func Add(t testing.TB, s *store.Store, names ...string) (last store.Commit) {
	t.Helper()
	for _, name := range names {
		c, err := s.Update(context.Background(), CallNamed(name), Create(name))
		require.NoError(t, err)
		require.True(t, c.Changed)
		last = c
	}
	return last
}

// Seen is what a reader of the store sees.
func Seen(s *store.Store) (names []string, view store.View, err error) {
	view, err = s.View(context.Background(), func(st *thread.State) error {
		for o := range st.Objectives.All() {
			names = append(names, string(o.ID))
		}
		return nil
	})
	return names, view, err
}

// Names are n names of objectives.
func Names(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("obj-%04d", i))
	}
	return out
}

// RequireHolds asserts that a reader sees exactly these objectives and, unless
// warned is set, no warning.
func RequireHolds(t testing.TB, s *store.Store, want []string, warned bool) store.View {
	t.Helper()
	got, view, err := Seen(s)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, warned, HasWarning(view.Warnings, warnings.Recovered), "%v", view.Warnings)
	return view
}

// HasWarning reports whether a list has a warning with this code.
func HasWarning(list warnings.List, code warnings.Code) bool {
	for _, w := range list {
		if w.Code == code {
			return true
		}
	}
	return false
}

// RequireCode returns err as the error with this code; the test ends if it is another.
func RequireCode(t testing.TB, code codes.Code, err error) *codes.Error {
	t.Helper()
	require.Error(t, err)
	require.True(t, codes.Has(err, code), "want %s, got %v", code, err)
	return codes.Of(err)
}

// Read reads a file of the store.
func Read(t testing.TB, s *store.Store, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(s.Path(name))
	require.NoError(t, err)
	return data
}

// Put writes a file of the store, as somebody else would.
func Put(t testing.TB, s *store.Store, name string, data []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(s.Path(name)), 0o755))
	require.NoError(t, os.WriteFile(s.Path(name), data, 0o644))
}

// OptionsOf are the clock and the steps of a store.
func OptionsOf(s *store.Store) store.Options {
	return store.Options{Now: s.Files().Now, Before: s.Files().Before}
}

// Copy is the same store in another folder.
func Copy(t testing.TB, s *store.Store) *store.Store {
	t.Helper()
	to := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(to, store.Dir), os.DirFS(s.Path("."))))
	out := store.Open(to, OptionsOf(s))
	if now, err := s.Files().Load(); err == nil && s.Files().SharesBackup(now) {
		PrepareOneInode(t, out)
	}
	return out
}

// Listing is every name below the store's folder, with its content.
func Listing(t testing.TB, s *store.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(s.Path("."), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(s.Path("."), path)
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			out[rel] = string(data)
			return err
		}
		out[rel] = d.Type().String()
		return nil
	}))
	return out
}

// RequireTidy asserts that nothing temporary is left.
func RequireTidy(t testing.TB, s *store.Store) {
	t.Helper()
	for name := range Listing(t, s) {
		assert.False(t, state.Temporary(name), "%s is left", name)
		assert.False(t, strings.HasPrefix(name, store.TmpDir+"/"), "%s is left", name)
	}
}

// ManyThreads is a store with ten thousand live threads.
func ManyThreads(b *testing.B) *store.Store {
	s := New(b, store.Options{})
	_, err := s.Update(context.Background(), CallNamed("many"), func(st *thread.State) (store.Outcome, error) {
		for i := range 10_000 {
			id := thread.ThreadID(fmt.Sprintf("thread-%08d", i))
			st.Threads.Put(thread.Thread{
				ID: id, ObjectiveID: "obj", Title: "A thread of ten thousand", Intent: "Do one of ten thousand things",
				Status: thread.Active, Executor: thread.ByAgent, Created: thread.Attribution{At: Clock(), As: thread.User, Actor: "ann"}, Updated: Clock(),
			})
		}
		return store.Outcome{}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	Add(b, s, "obj")
	return s
}
