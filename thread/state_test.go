package thread_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

func TestChangesAreOrdered(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "b", "c")
	w.tied("ref-2", "b", "c")
	before := map[string]string{}
	for _, table := range thread.Tables() {
		for _, line := range w.Lines(table) {
			before[table+"/"+line.ID] = string(line.JSON)
		}
	}
	stamp := w.stamp(thread.User)
	_, err := w.RemoveReference("ref-2")
	require.NoError(t, err)
	_, err = w.Lifecycle("c", thread.Done, "", stamp)
	require.NoError(t, err)
	_, err = w.Spawn(thread.NewThread{ID: "a"}, stamp)
	require.NoError(t, err)
	_, _, err = w.Refer(thread.NewReference{ID: "ref-1", From: "a", Target: "c"}, stamp)
	require.NoError(t, err)
	_, err = w.CreateObjective(thread.NewObjective{ID: "obj-two"}, stamp)
	require.NoError(t, err)

	assert.Equal(t, []string{"objectives/obj-two", "threads/a", "threads/c", "references/ref-1", "references/ref-2"}, w.recordsChanged())
	for _, c := range w.Changes() {
		assert.Equal(t, before[c.Record], string(c.Before), "%s before", c.Record)
		if c.Record == "references/ref-2" {
			assert.Nil(t, c.After)
			continue
		}
		var now struct {
			Revision thread.Revision `json:"revision"`
		}
		require.NoError(t, json.Unmarshal(c.After, &now))
		assert.Equal(t, w.Revision+1, now.Revision, "%s carries the revision of its last change", c.Record)
	}
}

func TestAChangeWithoutBeforeOrAfterSaysNullInTheJournal(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	_, err := w.CreateObjective(thread.NewObjective{ID: "obj-two"}, w.stamp(thread.User))
	require.NoError(t, err)
	raw, err := json.Marshal(w.Changes())
	require.NoError(t, err)
	assert.Contains(t, string(raw), `"record":"objectives/obj-two","before":null,"after":{`)
}

func TestApplyRefusesInvalidChanges(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, record, after string }{
		{"a table that is not there", "sessions/a", `{}`},
		{"no id", "threads/", `{}`},
		{"no table", "a", `{}`},
		{"bytes that are no JSON", "threads/a", `{`},
		{"a record of another id", "threads/a", `{"threadId":"b"}`},
		{"a record without an id", "threads/a", `{}`},
		{"a record with a field of another kind", "threads/a", `{"threadId":"a","title":5}`},
		{"a value that is no record", "threads/a", `[]`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := thread.NewState(4, nil, nil)
			err := s.Apply(thread.Operation{Seq: 5, ID: "op-5", Changes: []thread.Change{{Record: c.record, After: json.RawMessage(c.after)}}})
			e := failed(t, err, codes.Internal, nil)
			assert.Contains(t, e.Error(), "op-5")
			assert.Equal(t, thread.Revision(4), s.Revision)
		})
	}
}

func TestApplyRemovesARecordForNullAndForNothing(t *testing.T) {
	t.Parallel()
	for _, after := range []json.RawMessage{nil, json.RawMessage("null")} {
		s, _ := objectives(t, "a", "b")
		require.NoError(t, s.Apply(thread.Operation{Seq: 6, Changes: []thread.Change{{Record: "objectives/a", After: after}, {Record: "objectives/never", After: after}}}))
		assert.Equal(t, []string{"b"}, lineIDs(s.Lines(thread.TableObjectives)))
		assert.Equal(t, thread.Revision(6), s.Revision)
	}
}

func TestTheNextRuleAfterAReplayGetsTheNextRevision(t *testing.T) {
	t.Parallel()
	s, _ := objectives(t, "a")
	require.NoError(t, s.Apply(thread.Operation{Seq: 9}))
	assert.Equal(t, thread.Revision(10), s.Objectives.Put(thread.Objective{ID: "b"}).Revision)
}

func TestStaleNamesARecordThatWasChangedOrReliedOn(t *testing.T) {
	t.Parallel()
	// Revisions: obj-one 1, a 2, b 3, c 4, cold 5 and archived at 7, ref 8 (b -> c).
	prepared := func(t *testing.T) *fixture {
		w := withThreads(t, "a", "b", "c", "cold")
		w.moved("cold", thread.Done, thread.Archive)
		w.tied("ref-1", "b", "c")
		require.Equal(t, thread.Revision(8), w.Revision)
		return w
	}
	spawn := func(in thread.NewThread) func(*fixture) error {
		return func(w *fixture) error {
			in.ID, in.Objective = "new", "obj-one"
			_, err := w.Spawn(in, w.stamp(thread.User))
			return err
		}
	}
	cases := []struct {
		name string
		do   func(*fixture) error
		rev  thread.Revision
		id   string
		at   thread.Revision
	}{
		{"a record that is changed", func(w *fixture) error { _, err := w.Lifecycle("b", thread.Done, "", w.stamp(thread.User)); return err }, 2, "b", 3},
		{"at that revision it is what the caller knew", func(w *fixture) error { _, err := w.Lifecycle("b", thread.Done, "", w.stamp(thread.User)); return err }, 3, "", 0},
		{"a change that is none still relies", func(w *fixture) error { _, err := w.Edit("b", thread.Edit{}, w.stamp(thread.User)); return err }, 2, "b", 3},
		{"a parent", spawn(thread.NewThread{Parent: "c"}), 7, "", 0},
		{"a parent that is newer", spawn(thread.NewThread{Parent: "c"}), 2, "obj-one", 7},
		{"a dependency in the archive", spawn(thread.NewThread{DependsOn: []string{"cold"}}), 6, "obj-one", 7},
		{"a record that is read by prefix", func(w *fixture) error { _, err := w.Thread("cold"); return err }, 6, "cold", 7},
		{"a refused action", func(w *fixture) error { _, _ = w.Lifecycle("b", thread.Archive, "", w.stamp(thread.User)); return nil }, 2, "b", 3},
		{"a refused edit of an archived thread", func(w *fixture) error { _, _ = w.Edit("cold", thread.Edit{}, w.stamp(thread.User)); return nil }, 6, "cold", 7},
		{"a list relies on nothing", func(w *fixture) error { _, err := w.List(thread.Filter{All: true}); return err }, 0, "", 0},
		{"a reference that is removed", func(w *fixture) error { _, err := w.RemoveReference("ref-1"); return err }, 7, "ref-1", 8},
		{"the newest counts, whatever its table", func(w *fixture) error { _, err := w.RemoveReference("ref-1"); return err }, 0, "ref-1", 8},
		{"what is new was never changed before", spawn(thread.NewThread{}), 7, "", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := prepared(t)
			require.NoError(t, c.do(w))
			id, at := stale(t, w.State, c.rev)
			assert.Equal(t, c.id, id)
			assert.Equal(t, c.at, at)
		})
	}
}

// stale returns the record and revision of a T503; "" and 0 for none.
func stale(t *testing.T, s *thread.State, rev thread.Revision) (id string, at thread.Revision) {
	t.Helper()
	err := s.Stale(rev)
	if err == nil {
		return "", 0
	}
	e := codes.Of(err)
	require.NotNil(t, e)
	require.Equal(t, codes.StaleRevision, e.Code())
	actual, _ := e.Facts().Get("actual")
	return e.Facts().Text("id"), actual.(thread.Revision)
}

func TestStaleNamesTheFirstOfSeveralThatChangedTogether(t *testing.T) {
	t.Parallel()
	for range 20 { // maps have no order
		s := thread.NewState(0, nil, nil)
		for _, id := range []thread.ObjectiveID{"c", "a", "b", "d"} {
			s.Objectives.Put(thread.Objective{ID: id})
		}
		s = thread.NewState(1, thread.Records{thread.TableObjectives: s.Lines(thread.TableObjectives)}, nil)
		for _, id := range []string{"d", "c", "b"} {
			s.Objectives.Get(id)
		}
		id, at := stale(t, s, 0)
		assert.Equal(t, "b", id)
		assert.Equal(t, thread.Revision(1), at)
	}
}

func TestPlannedStepsBelongToTheOperation(t *testing.T) {
	t.Parallel()
	s := thread.NewState(0, nil, nil)
	s.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/a"})
	s.Plan(thread.Step{Do: thread.StepRemove, To: "threads/b"})
	assert.Equal(t, []thread.Step{{Do: thread.StepMakeDir, To: "threads/a"}, {Do: thread.StepRemove, To: "threads/b"}}, s.Planned())
}

func TestStaleSuggestsTheCommandThatReadsTheRecordAgain(t *testing.T) {
	t.Parallel()
	// Revisions: obj-one 1, a 2, b 3, ref-1 4, merge-1 5.
	cases := []struct {
		name string
		do   func(*fixture) error
		id   string
		at   thread.Revision
		next string
	}{
		{"a thread", func(w *fixture) error { _, err := w.Thread("b"); return err }, "b", 3, "leslie status b"},
		{"an objective", func(w *fixture) error { _, err := w.Objective("obj-one"); return err }, "obj-one", 1, "leslie objective status obj-one"},
		{"a reference", func(w *fixture) error { _, err := w.Reference("ref-1"); return err }, "ref-1", 4, "leslie reference show ref-1"},
		{"a merge", func(w *fixture) error { _, err := w.Merge("merge-1"); return err }, "merge-1", 5, "leslie merge status merge-1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := withThreads(t, "a", "b")
			w.tied("ref-1", "a", "b")
			w.begun("merge-1", "a", thread.Interactive, "b")
			require.NoError(t, c.do(w))
			assert.NoError(t, w.Stale(c.at), "at that revision it is what the caller knew")
			e := failed(t, w.Stale(c.at-1), codes.StaleRevision, map[string]any{"id": c.id, "actual": c.at, "expected": c.at - 1})
			assert.Equal(t, []string{c.next}, e.Next())
		})
	}
}
