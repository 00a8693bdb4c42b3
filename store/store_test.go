package store

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
	"leslie/thread"
	"leslie/warnings"
)

// This file holds what the store's tests share: a store to work on, an update
// that leaves a trace, and looks at what is there.

var noon = time.Date(2026, 2, 9, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// newStore makes a store in a folder of its own.
func newStore(t testing.TB, opts Options) *Store {
	t.Helper()
	if opts.Now == nil {
		opts.Now = clock
	}
	s, created, _, err := Create(context.Background(), Wait{}, t.TempDir(), opts)
	require.NoError(t, err)
	require.True(t, created)
	return s
}

// with is the same store under other options.
func with(s *Store, opts Options) *Store {
	if opts.Context == nil {
		opts.Context = context.Background()
	}
	if opts.Now == nil {
		opts.Now = clock
	}
	return Open(s.Root(), opts)
}

func callNamed(name string) Call {
	return Call{
		Stamp:   thread.Stamp{Operation: thread.OperationID("op-" + name), Time: noon, As: thread.User, Actor: "ann"},
		Command: "objective create",
		Params:  json.RawMessage(`{"title":"` + name + `"}`),
	}
}

// create is a rule function that adds one objective.
func create(name string) func(*thread.State) (Outcome, error) {
	return func(st *thread.State) (Outcome, error) {
		st.Objectives.Put(thread.Objective{ID: thread.ObjectiveID(name), Title: "An <objective> & \"more\"", CreatedAt: noon})
		return Outcome{Answer: json.RawMessage(`{"objectiveId":"` + name + `"}`)}, nil
	}
}

func add(t testing.TB, s *Store, names ...string) (last Commit) {
	t.Helper()
	for _, name := range names {
		c, err := s.Update(context.Background(), callNamed(name), create(name))
		require.NoError(t, err)
		require.True(t, c.Changed)
		last = c
	}
	return last
}

// seen is what a reader of the store sees.
func seen(s *Store) (names []string, view View, err error) {
	view, err = s.View(context.Background(), func(st *thread.State) error {
		for o := range st.Objectives.All() {
			names = append(names, string(o.ID))
		}
		return nil
	})
	return names, view, err
}

func names(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("obj-%04d", i))
	}
	return out
}

// requireHolds asserts that a reader sees exactly these objectives and, unless
// warned is set, no warning.
func requireHolds(t testing.TB, s *Store, want []string, warned bool) View {
	t.Helper()
	got, view, err := seen(s)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, warned, hasWarning(view.Warnings, warnings.Recovered), "%v", view.Warnings)
	return view
}

func hasWarning(list warnings.List, code warnings.Code) bool {
	for _, w := range list {
		if w.Code == code {
			return true
		}
	}
	return false
}

func requireCode(t testing.TB, code codes.Code, err error) *codes.Error {
	t.Helper()
	require.Error(t, err)
	require.True(t, codes.Has(err, code), "want %s, got %v", code, err)
	return codes.Of(err)
}

func read(t testing.TB, s *Store, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(s.Path(name))
	require.NoError(t, err)
	return data
}

func put(t testing.TB, s *Store, name string, data []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(s.Path(name)), 0o755))
	require.NoError(t, os.WriteFile(s.Path(name), data, 0o644))
}

// copyStore is the same store in another folder.
func copyStore(t testing.TB, s *Store) *Store {
	t.Helper()
	to := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(to, Dir), os.DirFS(s.Path("."))))
	out := Open(to, s.opts)
	if now, err := s.load(); err == nil && s.sharesBackup(now) {
		prepareOneInode(t, out)
	}
	return out
}

// listing is every name below the store's folder, with its content.
func listing(t testing.TB, s *Store) map[string]string {
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

// requireTidy asserts that nothing temporary is left.
func requireTidy(t testing.TB, s *Store) {
	t.Helper()
	for name := range listing(t, s) {
		assert.False(t, temporary(name), "%s is left", name)
		assert.False(t, strings.HasPrefix(name, TmpDir+"/"), "%s is left", name)
	}
}
