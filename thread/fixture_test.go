package thread_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

// This file has what the tests of the rules share: a fixture, which is a State with an
// archive and a commit in memory, and assertions about errors.

var noon = time.Date(2026, 2, 9, 12, 0, 0, 0, time.UTC)

// fixture stands in for the store: it keeps the records, moves archived ones to the
// archive, and creates a fresh State from them after each operation.
type fixture struct {
	*thread.State
	t       testing.TB
	archive *archive
}

// archive implements thread.ArchiveSource. all has every line, lines only those that count: the
// State's own records take precedence.
type archive struct {
	all, lines map[string][]thread.Line
	taken      map[thread.ThreadID]bool
	err        error
	reads      int
}

func (a *archive) Exists(id thread.ThreadID) bool { return a.taken[id] }

func (a *archive) Alike(id thread.ThreadID) thread.ThreadID {
	for name := range a.taken {
		if strings.EqualFold(string(name), string(id)) {
			return name
		}
	}
	return ""
}

func (a *archive) Archived(table string) ([]thread.Line, error) {
	a.reads++
	return a.lines[table], a.err
}

func (a *archive) HasLine(table, id string) (bool, error) {
	return slices.ContainsFunc(a.all[table], func(l thread.Line) bool { return l.ID == id }), a.err
}

// add puts a record into the archive and drops an older line of it.
func (a *archive) add(change thread.Change) {
	table, id, _ := strings.Cut(change.Record, "/")
	kept := slices.DeleteFunc(a.all[table], func(l thread.Line) bool { return l.ID == id })
	a.all[table] = append(kept, thread.Line{ID: id, JSON: change.After})
	slices.SortFunc(a.all[table], func(x, y thread.Line) int { return strings.Compare(x.ID, y.ID) })
}

// settle removes the records that the State has from lines.
func (a *archive) settle(records thread.Records) {
	for table, lines := range a.all {
		a.lines[table] = slices.DeleteFunc(slices.Clone(lines), func(l thread.Line) bool {
			return slices.ContainsFunc(records[table], func(live thread.Line) bool { return live.ID == l.ID })
		})
	}
}

func newFixture(t testing.TB) *fixture {
	a := &archive{all: map[string][]thread.Line{}, lines: map[string][]thread.Line{}, taken: map[thread.ThreadID]bool{}}
	return &fixture{State: thread.NewState(0, nil, a), t: t, archive: a}
}

// commit records what the rules changed and continues with a fresh State.
func (w *fixture) commit() thread.Operation {
	w.t.Helper()
	op := thread.Operation{Seq: w.Revision + 1, ID: thread.OperationID(fmt.Sprintf("op-%d", w.Revision+1)), Changes: w.Changes()}
	records := thread.Records{}
	for _, table := range thread.Tables() {
		records[table] = w.Lines(table)
	}
	for _, c := range w.ArchivedNow() {
		w.archive.add(c)
	}
	w.archive.settle(records)
	for th := range w.Threads.All() {
		w.archive.taken[th.ID] = true
	}
	for _, line := range w.archive.lines[thread.TableThreads] {
		w.archive.taken[thread.ThreadID(line.ID)] = true
	}
	w.State = thread.NewState(op.Seq, records, w.archive)
	return op
}

// stamp returns the stamp of the next operation; time advances by a minute with each.
func (w *fixture) stamp(as thread.ActorKind) thread.Stamp {
	n := w.Revision + 1
	return thread.Stamp{
		Operation: thread.OperationID(fmt.Sprintf("op-%d", n)),
		Time:      noon.Add(time.Duration(n) * time.Minute), As: as, Actor: "ann",
	}
}

// objective, spawned, moved and tied each run one operation, which must succeed.
func (w *fixture) objective(id string) thread.Objective {
	w.t.Helper()
	o, err := w.CreateObjective(thread.NewObjective{ID: thread.ObjectiveID(id), Title: "Objective " + id}, w.stamp(thread.User))
	require.NoError(w.t, err)
	w.commit()
	return o
}

func (w *fixture) spawned(in thread.NewThread) thread.Thread {
	w.t.Helper()
	th, err := w.Spawn(in, w.stamp(thread.User))
	require.NoError(w.t, err)
	w.commit()
	return th
}

// threads spawns plain threads under the only open objective.
func (w *fixture) threads(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		w.spawned(thread.NewThread{ID: thread.ThreadID(id), Title: "Thread " + id, Intent: "Do " + id, Executor: thread.ByAgent, Inherit: thread.InheritNone})
	}
}

func (w *fixture) moved(id string, actions ...thread.Action) thread.Thread {
	w.t.Helper()
	var last thread.Transition
	for _, action := range actions {
		var err error
		last, err = w.Lifecycle(id, action, "", w.stamp(thread.User))
		require.NoError(w.t, err)
		w.commit()
	}
	return last.Thread
}

func (w *fixture) tied(id, from, target string) thread.Reference {
	w.t.Helper()
	ref, existed, err := w.Refer(thread.NewReference{
		ID: thread.ReferenceID(id), From: from, Target: target, Binding: thread.Frozen, Content: thread.Content{Manifest: "m1", Files: 1},
	}, w.stamp(thread.User))
	require.NoError(w.t, err)
	require.False(w.t, existed)
	w.commit()
	return ref
}

// standing returns a fixture with one thread of this status.
func standing(t testing.TB, status thread.Status) *fixture {
	t.Helper()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("it")
	switch status {
	case thread.Active:
	case thread.Suspended:
		w.moved("it", thread.Suspend)
	case thread.WaitingHuman:
		th, _ := w.Threads.Get("it")
		th.Status = thread.WaitingHuman
		w.Threads.Put(th)
		w.commit()
	case thread.Completed:
		w.moved("it", thread.Done)
	case thread.Cancelled:
		w.moved("it", thread.Cancel)
	case thread.Archived:
		w.moved("it", thread.Done, thread.Archive)
	}
	require.Equal(t, status, w.statusOf("it"))
	return w
}

func (w *fixture) statusOf(id string) thread.Status {
	w.t.Helper()
	th, err := w.Thread(id)
	require.NoError(w.t, err)
	return th.Status
}

// recordsChanged returns the names of the records that the rules changed, in order.
func (w *fixture) recordsChanged() []string {
	names := []string{}
	for _, c := range w.Changes() {
		names = append(names, c.Record)
	}
	return names
}

// failed asserts that err has the code and these facts.
func failed(t testing.TB, err error, code codes.Code, facts map[string]any) *codes.Error {
	t.Helper()
	require.Error(t, err)
	e := codes.Of(err)
	require.NotNil(t, e, "%v has no code", err)
	require.Equal(t, code, e.Code(), "%v", err)
	for _, key := range slices.Sorted(maps.Keys(facts)) {
		got, ok := e.Facts().Get(key)
		assert.True(t, ok, "%s does not say %s", code, key)
		assert.Equal(t, facts[key], got, "%s of %s", key, code)
	}
	return e
}

var errUnreadable = errors.New("the archive cannot be read")

func ids(threads []thread.Thread) []thread.ThreadID {
	out := []thread.ThreadID{}
	for _, th := range threads {
		out = append(out, th.ID)
	}
	return out
}
