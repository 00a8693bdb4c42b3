package store_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/doctor"
	"leslie/store/internal/teststore"
	"leslie/thread"
	"leslie/warnings"
)

// dumped is a store with an archived thread and a file, and what it gives to restore.
func dumped(t *testing.T) (d store.Dump, revision thread.Revision) {
	t.Helper()
	s := newStoreAt(t, t.TempDir())
	mustUpdate(t, s, teststore.Create("goal"))
	mustUpdate(t, s, func(st *thread.State) (store.Outcome, error) {
		for _, id := range []thread.ThreadID{"cold", "warm"} {
			if _, err := st.Spawn(thread.NewThread{ID: id, Title: "T", Intent: "I", Executor: thread.ByAgent, Inherit: thread.InheritNone}, teststore.CallNamed("x").Stamp); err != nil {
				return store.Outcome{}, err
			}
			st.Plan(thread.Step{Do: thread.StepMakeDir, To: folderOf(id)})
		}
		return store.Outcome{Thread: "warm"}, nil
	})
	for _, action := range []thread.Action{thread.Done, thread.Archive} {
		mustUpdate(t, s, func(st *thread.State) (store.Outcome, error) {
			_, err := st.Lifecycle("cold", action, "", teststore.CallNamed("x").Stamp)
			return store.Outcome{Thread: "cold"}, err
		})
	}
	d, notes, err := s.Dump(context.Background())
	require.NoError(t, err)
	assert.Empty(t, notes)
	require.Len(t, d.Operations, 4)
	require.Len(t, d.Archive, 1)
	return d, d.Revision
}

func folderOf(id thread.ThreadID) string { return store.ThreadsDir + "/" + string(id) }

func newStoreAt(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, _, _, err := store.Create(context.Background(), store.Wait{}, dir, store.Options{})
	require.NoError(t, err)
	return s
}

func mustUpdate(t *testing.T, s *store.Store, fn func(*thread.State) (store.Outcome, error)) {
	t.Helper()
	_, err := s.Update(context.Background(), teststore.CallNamed("op"), fn)
	require.NoError(t, err)
}

// restoreInto restores a dump with one file for each thread.
func restoreInto(s *store.Store, d store.Dump) (store.Commit, error) {
	stage, err := s.Stage("op-restore")
	if err != nil {
		return store.Commit{}, err
	}
	var steps []thread.Step
	for _, id := range []thread.ThreadID{"cold", "warm"} {
		if err := stage.Write(folderOf(id)+"/plan.md", []byte("plan\n"), false); err != nil {
			return store.Commit{}, errors.Join(err, stage.Discard())
		}
		steps = append(steps, thread.Step{Do: thread.StepPlace, From: stage.Rel(folderOf(id)), To: folderOf(id)})
	}
	c, err := s.Restore(context.Background(), store.Wait{}, stage, d, nil, steps)
	if err != nil {
		return c, errors.Join(err, stage.Discard())
	}
	return c, errors.Join(stage.Close())
}

// TestARestoreIsWholeOrAbsent lets every step on the disk fail from the n-th one on, as
// it is when a process dies there, and lets the next writer find what is left.
func TestARestoreIsWholeOrAbsent(t *testing.T) {
	t.Parallel()
	d, revision := dumped(t)
	dead := errors.New("dead")
	seen, warned := map[bool]int{}, 0 // how often it was whole, or absent
	for n, more := 1, true; more; n++ {
		require.Less(t, n, 500)
		s := newStoreAt(t, t.TempDir())
		step := 0
		dying := store.Open(s.Root(), store.Options{Before: func(store.Action, string) error {
			if step++; step >= n {
				return dead
			}
			return nil
		}})
		_, _ = restoreInto(dying, d) // what is acknowledged does not matter here
		more = step >= n
		if lacking := checkUnfinished(t, s, revision, n); lacking {
			warned++
		}
		mustUpdate(t, s, teststore.Create("later"))
		seen[checkRestored(t, s, revision, n)]++
	}
	assert.Greater(t, seen[false], 5, "failures before the commit")
	assert.Greater(t, seen[true], 5, "and after it")
	assert.Positive(t, warned, "a reader met a restored store whose journal was not in place")
}

// checkUnfinished reads a store that a dying process left: whoever finds the restored
// state without its whole history, or its archive, is warned.
func checkUnfinished(t *testing.T, s *store.Store, revision thread.Revision, n int) (lacking bool) {
	t.Helper()
	h, err := s.History(context.Background(), store.HistoryQuery{})
	require.NoError(t, err)
	var archived error
	view, err := s.View(context.Background(), func(st *thread.State) error { _, archived = st.Thread("cold"); return nil })
	require.NoError(t, err)
	if h.Revision < revision {
		return false
	}
	lacking = len(h.Operations) < int(revision) || archived != nil
	for _, found := range []warnings.List{h.Warnings, view.Warnings} {
		warned := slices.ContainsFunc(found, func(w warnings.Warning) bool { return w.Code == warnings.FilesPending })
		assert.Equal(t, lacking, warned, "step %d: %v", n, found)
	}
	return lacking
}

func checkRestored(t *testing.T, s *store.Store, revision thread.Revision, n int) (whole bool) {
	t.Helper()
	h, err := s.History(context.Background(), store.HistoryQuery{})
	require.NoError(t, err)
	_, statErr := os.Stat(s.Path("threads/cold/plan.md"))
	_, statErr2 := os.Stat(s.Path("threads/warm/plan.md"))
	if h.Revision == 1 {
		assert.Len(t, h.Operations, 1, "step %d", n)
		assert.ErrorIs(t, statErr, os.ErrNotExist, "step %d", n)
		assert.ErrorIs(t, statErr2, os.ErrNotExist, "step %d", n)
	} else {
		assert.Equal(t, revision+1, h.Revision, "step %d", n)
		assert.Len(t, h.Operations, int(revision)+1, "step %d: the journal is whole", n)
		assert.NoError(t, statErr, "step %d", n)
		assert.NoError(t, statErr2, "step %d", n)
		_, err := s.View(context.Background(), func(st *thread.State) error { _, err := st.Thread("cold"); return err })
		assert.NoError(t, err, "step %d: the archive is there", n)
	}
	report, err := doctor.Doctor{Store: s}.Diagnose(context.Background())
	require.NoError(t, err)
	for _, f := range report.Findings {
		assert.True(t, f.Info, "step %d: %+v", n, f)
	}
	return h.Revision > 1
}

func TestRestoreRefusesWhatDoesNotFitTogether(t *testing.T) {
	t.Parallel()
	d, _ := dumped(t)
	for name, edit := range map[string]func(*store.Dump){
		"a damaged operation": func(d *store.Dump) { d.Operations = append([][]byte{[]byte("{}")}, d.Operations[1:]...) },
		"operations out of order": func(d *store.Dump) {
			d.Operations = [][]byte{d.Operations[1], d.Operations[0], d.Operations[2], d.Operations[3]}
		},
		"no last operation": func(d *store.Dump) { d.Operations = d.Operations[:3] },
		"a damaged archive": func(d *store.Dump) { d.Archive = [][]byte{[]byte("{}")} },
		"a record over two lines": func(d *store.Dump) {
			d.Records = thread.Records{thread.TableObjectives: {{ID: "goal", JSON: []byte("{\n}")}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := d
			edit(&bad)
			s := newStoreAt(t, t.TempDir())
			_, err := restoreInto(s, bad)
			require.True(t, codes.Has(err, codes.ParseError), "%v", err)
			mustUpdate(t, s, teststore.Create("later"))
			checkRestored(t, s, 0, 0)
		})
	}
	s := newStoreAt(t, t.TempDir())
	mustUpdate(t, s, teststore.Create("taken"))
	_, err := restoreInto(s, d)
	require.ErrorIs(t, err, store.ErrNotEmpty)
}
