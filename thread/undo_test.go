package thread_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

// did runs rules as one operation and returns it as in the journal.
func (w *fixture) did(as thread.ActorKind, command string, rules ...func(thread.Stamp) error) thread.Operation {
	w.t.Helper()
	stamp := w.stamp(as)
	for _, rule := range rules {
		require.NoError(w.t, rule(stamp))
	}
	op := w.commit()
	op.As, op.Command = as, command
	raw, err := json.Marshal(op)
	require.NoError(w.t, err)
	var read thread.Operation
	require.NoError(w.t, json.Unmarshal(raw, &read))
	return read
}

// undone undoes an operation, which must succeed.
func (w *fixture) undone(as thread.ActorKind, op thread.Operation) (thread.Inversion, thread.Operation) {
	w.t.Helper()
	var in thread.Inversion
	undo := w.did(as, "undo", func(stamp thread.Stamp) (err error) {
		in, err = w.Invert(op, stamp)
		return err
	})
	return in, undo
}

// refused asserts that an undo is T110 with this reason and changes nothing.
func (w *fixture) refused(as thread.ActorKind, op thread.Operation, reason string) *codes.Error {
	w.t.Helper()
	_, err := w.Invert(op, w.stamp(as))
	e := failed(w.t, err, codes.UndoConflict, map[string]any{"reason": reason})
	require.Empty(w.t, w.Changes())
	return e
}

// Rules as functions for did.
func (w *fixture) spawning(in thread.NewThread) func(thread.Stamp) error {
	return func(stamp thread.Stamp) error { _, err := w.Spawn(in, stamp); return err }
}

func (w *fixture) moving(id string, action thread.Action) func(thread.Stamp) error {
	return func(stamp thread.Stamp) error { _, err := w.Lifecycle(id, action, "why", stamp); return err }
}

func (w *fixture) editing(id string, in thread.Edit) func(thread.Stamp) error {
	return func(stamp thread.Stamp) error { _, err := w.Edit(id, in, stamp); return err }
}

func (w *fixture) tying(id, from, target string, content thread.Content) func(thread.Stamp) error {
	return func(stamp thread.Stamp) error {
		_, _, err := w.Refer(thread.NewReference{ID: thread.ReferenceID(id), From: from, Target: target, Binding: thread.Frozen, Content: content}, stamp)
		return err
	}
}

func (w *fixture) asking(id, by string, scope ...string) func(thread.Stamp) error {
	if len(scope) == 0 {
		scope = []string{"deploy"}
	}
	return func(stamp thread.Stamp) error {
		_, _, err := w.Request(thread.NewGrant{ID: thread.ApprovalID(id), Thread: by, Scope: scope}, stamp)
		return err
	}
}

func (w *fixture) deciding(id string, d thread.GrantDecision) func(thread.Stamp) error {
	return func(stamp thread.Stamp) error { _, _, err := w.DecideGrant(id, d, "", stamp); return err }
}

func (w *fixture) checkpointing(in thread.NewCheckpoint) func(thread.Stamp) error {
	return func(stamp thread.Stamp) error { _, _, err := w.Checkpoint(in, stamp); return err }
}

func (w *fixture) get(id string) thread.Thread {
	w.t.Helper()
	th, err := w.Thread(id)
	require.NoError(w.t, err)
	return th
}

func titled(title string) thread.Edit { return thread.Edit{Title: &title} }

func TestAnUndoneEditKeepsWhatElseWasChangedSince(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "part")
	op := w.did(thread.User, "update", w.editing("main", thread.Edit{Title: new("Renamed"), AddTags: []string{"a"}}))
	w.did(thread.Agent, "update", w.editing("main", thread.Edit{Branch: new("topic"), AddDepends: []string{"part"}}))
	w.did(thread.Agent, "suspend", w.moving("main", thread.Suspend))
	stamp := w.stamp(thread.User)
	in, _ := w.undone(thread.User, op)
	got := w.get("main")
	assert.Equal(t, "Thread main", got.Title)
	assert.Empty(t, got.Tags)
	assert.Equal(t, "topic", got.Branch)
	assert.Equal(t, []thread.ThreadID{"part"}, got.DependsOn)
	assert.Equal(t, thread.Suspended, got.Status)
	assert.Equal(t, stamp.Time, got.Updated)
	assert.Equal(t, w.Revision, got.Revision, "the record was changed by the undo")
	require.Len(t, in.Changes, 1)
	assert.Empty(t, append(in.Removed, in.Remade...), "an edit moves no files")

	w.refused(thread.User, op, "it is already undone")
}

func TestAFieldThatWasChangedSinceIsNamed(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main")
	op := w.did(thread.User, "update", w.editing("main", thread.Edit{Title: new("One"), Branch: new("b")}))
	w.did(thread.User, "update", w.editing("main", titled("Two")))
	later := w.did(thread.User, "update", w.editing("main", titled("Three")))
	e := w.refused(thread.User, op, "title of thread 'main' was changed since")
	for key, want := range map[string]any{"record": "threads/main", "field": "title", "revision": later.Seq, "operationId": op.ID} {
		got, _ := e.Facts().Get(key)
		assert.Equal(t, want, got, key)
	}
	assert.True(t, later.Changed("threads/main", "title"))
	assert.False(t, later.Changed("threads/main", "branch"))
	assert.False(t, later.Changed("threads/part", "title"))
	assert.True(t, w.did(thread.User, "spawn", w.spawning(thread.NewThread{ID: "new"})).Changed("threads/new", "title"))
}

func TestAnUndoCanBeUndone(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "part")
	tests := map[string]func() thread.Operation{
		"an edit": func() thread.Operation { return w.did(thread.User, "update", w.editing("main", titled("New"))) },
		"a spawn": func() thread.Operation { return w.did(thread.User, "spawn", w.spawning(thread.NewThread{ID: "new"})) },
		"a reference": func() thread.Operation {
			return w.did(thread.User, "reference", w.tying("ref-1", "main", "part", thread.Content{Manifest: "m1", Files: 1}))
		},
		"a done": func() thread.Operation { return w.did(thread.User, "done", w.moving("part", thread.Done)) },
		"an objective": func() thread.Operation {
			return w.did(thread.User, "objective create", func(stamp thread.Stamp) error {
				_, err := w.CreateObjective(thread.NewObjective{ID: "obj-2", Title: "Two"}, stamp)
				return err
			})
		},
		"a checkpoint": func() thread.Operation {
			return w.did(thread.User, "checkpoint", w.checkpointing(thread.NewCheckpoint{ID: "ckpt-1", Thread: "main", Name: "one", Manifest: "m1"}))
		},
	}
	for name, do := range tests {
		op := do()
		after := fieldsOf(lines(w.State))
		_, undo := w.undone(thread.User, op)
		require.NotEqual(t, after, fieldsOf(lines(w.State)), name)
		_, redo := w.undone(thread.User, undo)
		assert.Equal(t, after, fieldsOf(lines(w.State)), name)
		w.undone(thread.User, redo)
	}
}

func TestAThreadThatLaterWorkNamesIsNotRemoved(t *testing.T) {
	t.Parallel()
	spawn := thread.NewThread{ID: "it", Title: "It", Intent: "Be undone"}
	tests := []struct {
		name, reason string
		later        func(w *fixture)
	}{
		{"a child", "later work depends on it: thread 'child' was spawned from it", func(w *fixture) {
			w.spawned(thread.NewThread{ID: "child", Parent: "it"})
		}},
		{"an archived child", "later work depends on it: thread 'child' was spawned from it", func(w *fixture) {
			w.spawned(thread.NewThread{ID: "child", Parent: "it"})
			w.moved("child", thread.Done, thread.Archive)
		}},
		{"a dependency", "later work depends on it: thread 'other' depends on it", func(w *fixture) {
			w.did(thread.User, "update", w.editing("other", thread.Edit{AddDepends: []string{"it"}}))
		}},
		{"a merge from it", "later work depends on it: thread 'other' was merged with it", func(w *fixture) { w.brought("other", share("it", "m1")) }},
		{"a reference to it", "later work depends on it: reference 'ref-1' names it", func(w *fixture) { w.tied("ref-1", "other", "it") }},
		{"a reference from it", "later work depends on it: reference 'ref-1' names it", func(w *fixture) { w.tied("ref-1", "it", "other") }},
		{"a grant", "later work depends on it: approval 'appr-1' was given to it", func(w *fixture) {
			w.did(thread.User, "transfer", func(stamp thread.Stamp) error {
				_, _, err := w.Delegate(thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"read"}}, thread.DefaultPolicy(), stamp)
				return err
			})
		}},
		{"a pending merge", "later work depends on it: merge 'merge-1' names it", func(w *fixture) { w.begun("merge-1", "other", thread.Interactive, "it") }},
		{"a new title", "title of thread 'it' was changed since", func(w *fixture) { w.did(thread.User, "update", w.editing("it", titled("New"))) }},
		{"a checkpoint", "checkpoints of thread 'it' was changed since", func(w *fixture) {
			w.did(thread.User, "checkpoint", w.checkpointing(thread.NewCheckpoint{ID: "ckpt-1", Thread: "it", Manifest: "m1"}))
		}},
		{"an injection", "injections of thread 'it' was changed since", func(w *fixture) {
			w.did(thread.User, "inject", func(stamp thread.Stamp) error {
				_, _, err := w.Inject(thread.NewInjection{ID: "inj-1", Thread: "it", Type: thread.InjectData, Urgency: thread.NextStep, Content: "x"}, stamp)
				return err
			})
		}},
		{"a claim", "claim of thread 'it' was changed since", func(w *fixture) {
			w.did(thread.User, "claim", func(stamp thread.Stamp) error { _, err := w.Claim("it", time.Hour, stamp); return err })
		}},
		{"its end", "thread 'it' was archived since", func(w *fixture) { w.moved("it", thread.Done, thread.Archive) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := withThreads(t, "other")
			op := w.did(thread.User, "spawn", w.spawning(spawn))
			tt.later(w)
			w.refused(thread.User, op, tt.reason)
		})
	}
}

func TestAThreadThatNothingNamesIsRemovedWithItsReferences(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "parent", "other")
	frozen := thread.Content{Manifest: "m2", Files: 2}
	op := w.did(thread.Agent, "spawn", w.spawning(thread.NewThread{ID: "it", Parent: "parent", DependsOn: []string{"other"}, Shared: "m1"}),
		w.tying("ref-1", "it", "other", frozen))
	w.did(thread.Agent, "claim", func(stamp thread.Stamp) error { _, err := w.Claim("it", time.Second, stamp); return err })

	in, undo := w.undone(thread.Agent, op)
	_, err := w.Thread("it")
	failed(t, err, codes.ThreadNotFound, nil)
	assert.Empty(t, w.AllReferences())
	assert.Equal(t, []thread.ThreadID{"it"}, ids(in.Removed), "its folder goes")
	assert.Len(t, in.Taken, 1)
	assert.Empty(t, in.Dropped, "the copy goes with the folder")

	in, _ = w.undone(thread.Agent, undo)
	assert.Equal(t, []thread.ThreadID{"it"}, ids(in.Remade), "its folder has to be made")
	require.Len(t, in.Copied, 1)
	assert.Equal(t, thread.BlobID("m2"), in.Copied[0].Manifest)
	assert.Equal(t, thread.ThreadID("parent"), w.get("it").ParentID)
}

func TestAThreadIsNotRestoredWithoutTheRecordsItNames(t *testing.T) {
	t.Parallel()
	undoOf := func(w *fixture, in thread.NewThread) (spawn, undo thread.Operation) {
		spawn = w.did(thread.User, "spawn", w.spawning(in))
		_, undo = w.undone(thread.User, spawn)
		return spawn, undo
	}
	t.Run("its parent", func(t *testing.T) {
		t.Parallel()
		w := withThreads(t)
		parent := w.did(thread.User, "spawn", w.spawning(thread.NewThread{ID: "parent"}))
		_, undo := undoOf(w, thread.NewThread{ID: "it", Parent: "parent"})
		w.undone(thread.User, parent)
		w.refused(thread.User, undo, "its parent 'parent' is gone")
	})
	t.Run("what it depends on", func(t *testing.T) {
		t.Parallel()
		w := withThreads(t)
		other := w.did(thread.User, "spawn", w.spawning(thread.NewThread{ID: "other"}))
		_, undo := undoOf(w, thread.NewThread{ID: "it", DependsOn: []string{"other"}})
		w.undone(thread.User, other)
		w.refused(thread.User, undo, "its dependency 'other' is gone")
	})
	t.Run("an open objective", func(t *testing.T) {
		t.Parallel()
		w := withThreads(t)
		_, undo := undoOf(w, thread.NewThread{ID: "it"})
		done := w.did(thread.User, "objective done", func(stamp thread.Stamp) error { _, err := w.FinishObjective("obj-one", stamp); return err })
		w.refused(thread.User, undo, "objective 'obj-one' is done, and one of its threads would be active")
		w.undone(thread.User, done)
		w.undone(thread.User, undo)
	})
	t.Run("an objective at all", func(t *testing.T) {
		t.Parallel()
		w := newFixture(t)
		made := w.did(thread.User, "objective create", func(stamp thread.Stamp) error {
			_, err := w.CreateObjective(thread.NewObjective{ID: "obj-one", Title: "One"}, stamp)
			return err
		})
		spawn, undo := undoOf(w, thread.NewThread{ID: "it"})
		w.undone(thread.User, made)
		w.refused(thread.User, undo, "its objective 'obj-one' is gone")
		w.refused(thread.User, spawn, "thread 'it' is gone: it was undone or archived since")
	})
	t.Run("its own name", func(t *testing.T) {
		t.Parallel()
		w := withThreads(t)
		_, undo := undoOf(w, thread.NewThread{ID: "it"})
		delete(w.archive.taken, "it") // its folder is gone
		w.threads("it")
		w.refused(thread.User, undo, "thread 'it' exists again with other values")
	})
}

func TestAnObjectiveWithThreadsIsNotRemoved(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	op := w.did(thread.User, "objective create", func(stamp thread.Stamp) error {
		_, err := w.CreateObjective(thread.NewObjective{ID: "obj-one", Title: "One"}, stamp)
		return err
	})
	w.threads("it")
	w.refused(thread.User, op, "later work depends on it: objective 'obj-one' has threads")
	w.moved("it", thread.Done, thread.Archive)
	w.refused(thread.User, op, "archived of objective 'obj-one' was changed since")
}

func TestArchivingIsUndone(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it", "other", "third")
	w.tied("ref-1", "it", "other")
	w.did(thread.User, "transfer", func(stamp thread.Stamp) error {
		_, _, err := w.Delegate(thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"deploy"}}, thread.DefaultPolicy(), stamp)
		return err
	})
	w.moved("it", thread.Done)
	w.moved("third", thread.Done)
	before := fieldsOf(lines(w.State))
	op := w.did(thread.Agent, "archive", w.moving("it", thread.Archive))
	w.moved("third", thread.Archive)

	in, undo := w.undone(thread.Agent, op)
	assert.Equal(t, thread.Completed, w.get("it").Status)
	assert.Len(t, w.ReferencesFrom("it"), 1)
	assert.Len(t, w.ApprovalsOf("it"), 1, "a grant that it had comes back with it")
	o, _ := w.Objectives.Get("obj-one")
	assert.Equal(t, 1, o.Archived, "the other one stays archived")
	got := fieldsOf(lines(w.State))
	for _, record := range []string{"threads/it", "references/ref-1", "approvals/appr-1"} {
		assert.Equal(t, before[record], got[record])
	}
	assert.Empty(t, in.Remade, "its folder stayed")
	assert.Empty(t, in.Copied, "and the copy in it")

	w.refused(thread.User, op, "it is already undone")
	e := w.refused(thread.User, undo, "its changes to the archive cannot be undone")
	assert.Contains(t, e.Hint(), "leslie archive")
	w.did(thread.User, "update", w.editing("it", titled("New")))
	w.moved("it", thread.Archive)
	assert.Equal(t, thread.Archived, w.get("it").Status, "it can be archived again")
	w.refused(thread.User, op, "thread 'it' was archived since")
}

// If its spawn were undone, a thread that was archived once would still be in the
// archive.
func TestAThreadThatWasArchivedOnceIsNotRemoved(t *testing.T) {
	t.Parallel()
	w := withThreads(t)
	spawn := w.did(thread.User, "spawn", w.spawning(thread.NewThread{ID: "it"}))
	done := w.did(thread.User, "done", w.moving("it", thread.Done))
	archive := w.did(thread.User, "archive", w.moving("it", thread.Archive))
	w.undone(thread.User, archive)
	w.undone(thread.User, done)
	w.refused(thread.User, spawn, "thread 'it' is in the archive, from which nothing is removed")
}

func TestAnOperationThatArchivedItsOwnThreadIsNotUndone(t *testing.T) {
	t.Parallel()
	w := withThreads(t)
	op := w.did(thread.User, "batch", w.spawning(thread.NewThread{ID: "it"}), w.moving("it", thread.Done), w.moving("it", thread.Archive))
	w.refused(thread.User, op, "its changes to the archive cannot be undone")
}

func TestAnOperationOfSeveralRulesIsUndoneAsAWhole(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main")
	before := fieldsOf(lines(w.State))
	op := w.did(thread.User, "batch",
		func(stamp thread.Stamp) error {
			_, err := w.CreateObjective(thread.NewObjective{ID: "obj-two", Title: "Two"}, stamp)
			return err
		},
		w.spawning(thread.NewThread{ID: "a", Objective: "obj-two"}), w.spawning(thread.NewThread{ID: "b", Parent: "a", DependsOn: []string{"a"}}),
		w.tying("ref-1", "b", "a", thread.Content{Manifest: "m1"}), w.tying("ref-2", "main", "a", thread.Content{Manifest: "m1"}),
		w.editing("main", titled("New")), w.moving("main", thread.Suspend), w.moving("a", thread.Done))
	in, _ := w.undone(thread.User, op)
	assert.Equal(t, before, fieldsOf(lines(w.State)))
	assert.Equal(t, []thread.ThreadID{"a", "b"}, ids(in.Removed))
	require.Len(t, in.Dropped, 1, "of the thread that stays")
	assert.Equal(t, thread.ReferenceID("ref-2"), in.Dropped[0].ID)
}

func TestReferencesAndTheirCopies(t *testing.T) {
	t.Parallel()
	one, two, none := thread.Content{Manifest: "m1", Files: 1}, thread.Content{Manifest: "m2", Files: 2}, thread.Content{Unresolved: thread.ReasonMissing}
	w := withThreads(t, "main", "part")
	refresh := func(c thread.Content) func(thread.Stamp) error {
		return func(stamp thread.Stamp) error { _, err := w.Refresh("ref-1", c, stamp); return err }
	}
	made := w.did(thread.User, "reference", w.tying("ref-1", "main", "part", one))
	first := w.did(thread.User, "reference refresh", refresh(two))
	w.refused(thread.User, made, "files of reference 'ref-1' was changed since")

	in, undo := w.undone(thread.User, first)
	require.Len(t, in.Copied, 1, "the copy is that of the older manifest again")
	assert.Equal(t, thread.BlobID("m1"), in.Copied[0].Manifest)
	w.undone(thread.User, undo)
	w.undone(thread.User, first)

	lost := w.did(thread.User, "reference refresh", refresh(none))
	in, undo = w.undone(thread.User, lost)
	require.Len(t, in.Copied, 1)
	in, _ = w.undone(thread.User, undo)
	require.Len(t, in.Dropped, 1, "what has no content has no copy")
	w.undone(thread.User, lost)

	removed := w.did(thread.User, "reference remove", func(thread.Stamp) error { _, err := w.RemoveReference("ref-1"); return err })
	in, undo = w.undone(thread.User, removed)
	require.Len(t, in.Copied, 1)
	assert.Len(t, w.ReferencesFrom("main"), 1)
	w.undone(thread.User, undo)

	w.did(thread.User, "reference", w.tying("ref-2", "main", "part", one))
	w.refused(thread.User, removed, "reference 'ref-2' has replaced 'ref-1'")
	w.did(thread.User, "reference remove", func(thread.Stamp) error { _, err := w.RemoveReference("ref-2"); return err })
	back := w.did(thread.User, "reference", w.tying("ref-3", "part", "main", one))
	w.refused(thread.User, removed, "references would form a cycle: main -> part -> main")
	w.undone(thread.User, back)
	w.moved("main", thread.Done)
	_, err := w.Invert(removed, w.stamp(thread.User))
	failed(t, err, codes.NotWritable, map[string]any{"threadId": thread.ThreadID("main")})
}

func TestDependenciesThatWouldFormACycleAreNotRestored(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a", "b")
	w.did(thread.User, "update", w.editing("a", thread.Edit{AddDepends: []string{"b"}}))
	op := w.did(thread.User, "update", w.editing("a", thread.Edit{DropDepend: []string{"b"}}))
	w.did(thread.User, "update", w.editing("b", thread.Edit{AddDepends: []string{"a"}}))
	w.refused(thread.User, op, "dependencies would form a cycle: a -> b -> a")
}

func TestAThreadIsNotReopenedUnderADoneObjective(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	op := w.did(thread.User, "done", w.moving("it", thread.Done))
	finish := w.did(thread.User, "objective done", func(stamp thread.Stamp) error { _, err := w.FinishObjective("obj-one", stamp); return err })
	w.refused(thread.User, op, "objective 'obj-one' is done, and one of its threads would be active")
	_, undo := w.undone(thread.User, finish)
	w.undone(thread.User, op)
	w.refused(thread.User, undo, "objective 'obj-one' is done, and one of its threads would be active")
}

func TestAPersonUndoesTheirDecisions(t *testing.T) {
	t.Parallel()
	for _, d := range []thread.GrantDecision{thread.Approve, thread.Deny, thread.Revoke} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			w := withThreads(t, "it")
			w.asked("appr-1", "it", "deploy")
			op := w.did(thread.User, string(d), w.deciding("appr-1", d))
			require.Equal(t, thread.Active, w.statusOf("it"))
			_, undo := w.undone(thread.User, op)
			g, _ := w.Approval("appr-1")
			assert.Equal(t, thread.GrantOpen, g.Status)
			assert.Nil(t, g.Decided)
			assert.Equal(t, thread.WaitingHuman, w.statusOf("it"), "it waits again")
			w.undone(thread.User, undo)
			assert.Equal(t, thread.Active, w.statusOf("it"))
			w.undone(thread.User, w.did(thread.User, "suspend", w.moving("it", thread.Suspend)))

			w.moved("it", thread.Done)
			w.refused(thread.User, op, "status of thread 'it' was changed since")
		})
	}
}

func TestAThreadWaitsAsLongAsOneOfItsRequestsIsOpen(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	first := w.did(thread.User, "transfer", w.asking("appr-1", "it"))
	second := w.did(thread.User, "transfer", w.asking("appr-2", "it", "code_edit"))
	w.undone(thread.User, first)
	assert.Equal(t, thread.WaitingHuman, w.statusOf("it"), "the second one is open")
	w.undone(thread.User, second)
	assert.Equal(t, thread.Active, w.statusOf("it"))

	w.asked("appr-3", "it", "deploy")
	w.asked("appr-4", "it", "code_edit")
	denied := w.did(thread.User, "deny", w.deciding("appr-3", thread.Deny))
	w.decided("appr-4", thread.Approve, "")
	w.undone(thread.User, denied)
	assert.Equal(t, thread.WaitingHuman, w.statusOf("it"), "it went on, and has to wait again")

	w.decided("appr-3", thread.Deny, "")
	w.moved("it", thread.Suspend)
	w.refused(thread.User, denied, "decided of approval 'appr-3' was changed since")
}

func TestARequestIsNotReopenedForATerminatedThread(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	w.asked("appr-1", "it", "deploy")
	w.asked("appr-2", "it", "code_edit")
	op := w.did(thread.User, "deny", w.deciding("appr-1", thread.Deny))
	w.decided("appr-2", thread.Deny, "")
	w.moved("it", thread.Done)
	w.refused(thread.User, op, "thread 'it' is completed and would have to wait for a person")
	w.moved("it", thread.Archive)
	w.refused(thread.User, op, "approval 'appr-1' is gone: it was undone or archived since")
}

func TestAThreadIsNotEndedWhileALaterRequestIsOpen(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	w.asked("appr-1", "it", "deploy")
	cancelled := w.did(thread.User, "cancel", w.moving("it", thread.Cancel))
	_, undo := w.undone(thread.User, cancelled)
	w.asked("appr-2", "it", "read")
	w.refused(thread.User, undo, "later work depends on it: the thread waits for approval 'appr-2' and would be cancelled")
}

func TestARequestIsNotReopenedAfterItsDeadline(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	w.askedWith(thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"deploy"}, Timeout: time.Second, Fallback: thread.Skip})
	op := w.did(thread.System, "lapse", func(stamp thread.Stamp) error { w.Expire(stamp); return nil })
	w.refused(thread.User, op, "the deadline of 'appr-1' has passed")
}

func TestAnAgentUndoesNoDecisionAndNoOperationOfAPerson(t *testing.T) {
	t.Parallel()
	tests := map[string]func(w *fixture) thread.Operation{
		"undoing what a person did": func(w *fixture) thread.Operation {
			return w.did(thread.User, "update", w.editing("it", titled("New")))
		},
		"undoing what leslie itself did": func(w *fixture) thread.Operation {
			return w.did(thread.System, "suspend", func(stamp thread.Stamp) error {
				_, err := w.SuspendFor("it", thread.Mistakes{Count: 5, LastCode: "T101", Actor: "bot"}, stamp)
				return err
			})
		},
		"ending a wait for a person by undo": func(w *fixture) thread.Operation {
			return w.did(thread.Agent, "transfer", w.asking("appr-1", "it"))
		},
		"granting by undo": func(w *fixture) thread.Operation {
			give := w.did(thread.Agent, "transfer", func(stamp thread.Stamp) error {
				_, _, err := w.Delegate(thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"read"}}, thread.DefaultPolicy(), stamp)
				return err
			})
			_, undo := w.undone(thread.Agent, give)
			return undo
		},
		"undoing a person's decision": func(w *fixture) thread.Operation {
			w.asked("appr-1", "it", "deploy")
			op := w.did(thread.User, "approve", w.deciding("appr-1", thread.Approve))
			op.As = thread.Agent // as no journal has it
			return op
		},
	}
	for what, do := range tests {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := withThreads(t, "it")
			op := do(w)
			for _, as := range []thread.ActorKind{thread.Agent, thread.System} {
				_, err := w.Invert(op, w.stamp(as))
				e := failed(t, err, codes.PermissionDenied, map[string]any{"capability": what, "operationId": op.ID})
				assert.Regexp(t, "^A person decides", e.Hint())
				assert.Empty(t, w.Changes())
			}
			_, err := w.Invert(op, w.stamp(thread.User))
			assert.NoError(t, err, "a person may")
		})
	}
}

func TestAnAgentWithdrawsNoneOfSeveralRequests(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	w.asked("appr-1", "it", "deploy")
	second := w.did(thread.Agent, "transfer", w.asking("appr-2", "it"))
	_, err := w.Invert(second, w.stamp(thread.Agent))
	failed(t, err, codes.PermissionDenied, map[string]any{"capability": "ending a wait for a person by undo"})
	w.undone(thread.User, second)
	assert.Equal(t, thread.WaitingHuman, w.statusOf("it"))
}

// The field has the value that the operation gave it, but another operation set it.
func TestTheMistakeLimitIsNotLiftedByUndo(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	op := w.did(thread.Agent, "suspend", func(stamp thread.Stamp) error {
		_, err := w.Lifecycle("it", thread.Suspend, "the mistake limit was reached", stamp)
		return err
	})
	w.moved("it", thread.Resume)
	w.did(thread.System, "suspend", func(stamp thread.Stamp) error {
		_, err := w.SuspendFor("it", thread.Mistakes{Count: 5, LastCode: "T101", Actor: "bot"}, stamp)
		return err
	})
	_, err := w.Invert(op, w.stamp(thread.Agent))
	failed(t, err, codes.MistakeLimit, map[string]any{"threadId": thread.ThreadID("it"), "count": 5})
	w.refused(thread.User, op, "the mistake limit suspended the thread since")
}

func TestAPendingMergeIsNotUndone(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a")
	begin := w.did(thread.User, "merge", func(stamp thread.Stamp) error {
		_, err := w.BeginMerge(thread.Merge{ID: "merge-1", Target: "main", Sources: []thread.ThreadID{"a"}}, stamp)
		return err
	})
	decide := w.did(thread.User, "merge resolve", func(stamp thread.Stamp) error {
		_, err := w.Decide("merge-1", setting("c1", thread.Decision{Take: "ours", How: "user"}), nil, thread.DefaultPolicy(), stamp)
		return err
	})
	assert.Contains(t, w.refused(thread.User, begin, "merge 'merge-1' is pending").Hint(), "leslie merge abort merge-1")
	assert.Contains(t, w.refused(thread.User, decide, "merge 'merge-1' is pending").Hint(), "leslie merge resolve merge-1")
	abort := w.did(thread.User, "merge abort", func(stamp thread.Stamp) error { _, err := w.EndMerge("merge-1", "it was aborted", stamp); return err })
	w.refused(thread.User, abort, "merge 'merge-1' was aborted")
	w.refused(thread.User, begin, "merge 'merge-1' is no longer pending")
}

func TestAnInjectionIsNotUndone(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	tell := w.did(thread.User, "inject", func(stamp thread.Stamp) error {
		_, _, err := w.Inject(thread.NewInjection{ID: "inj-1", Thread: "it", Type: thread.InjectData, Urgency: thread.NextStep, Content: "x"}, stamp)
		return err
	})
	assert.Contains(t, w.refused(thread.User, tell, "the injection was delivered").Hint(), "leslie inject")
	see := w.did(thread.Agent, "context", func(stamp thread.Stamp) error {
		_, err := w.See("it", []thread.InjectionID{"inj-1"}, stamp)
		return err
	})
	w.refused(thread.Agent, see, "it changed nothing that can be undone")
}

func TestAClaimIsUndoneWhileItsHolderIsTheSame(t *testing.T) {
	t.Parallel()
	claiming := func(w *fixture, actor string, d time.Duration) thread.Operation {
		return w.did(thread.Agent, "claim", func(stamp thread.Stamp) error {
			stamp.Actor = actor
			_, err := w.Claim("it", d, stamp)
			return err
		})
	}
	w := withThreads(t, "it")
	op := claiming(w, "one", 10*time.Minute)
	renew := w.did(thread.Agent, "renew", func(stamp thread.Stamp) error { stamp.Actor = "one"; _, err := w.Renew("it", stamp); return err })
	w.refused(thread.Agent, renew, "it changed nothing that can be undone")
	w.undone(thread.Agent, op)
	assert.Nil(t, w.get("it").Claim, "though it was prolonged since")

	claiming(w, "one", time.Hour)
	done := w.did(thread.Agent, "done", w.moving("it", thread.Done))
	require.Nil(t, w.get("it").Claim)
	w.undone(thread.Agent, done)
	require.NotNil(t, w.get("it").Claim)
	assert.Equal(t, "one", w.get("it").Claim.Holder)

	release := w.did(thread.Agent, "release", func(stamp thread.Stamp) error { stamp.Actor = "one"; _, err := w.Release("it", "", stamp); return err })
	other := claiming(w, "two", time.Hour)
	w.refused(thread.Agent, release, "claim of thread 'it' was changed since")
	w.refused(thread.Agent, op, "claim of thread 'it' was changed since")
	w.undone(thread.Agent, other)
	w.undone(thread.Agent, release)
	assert.Equal(t, "one", w.get("it").Claim.Holder)
}

func TestAThreadThatIsDoneAgainHasNoClaim(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	_, undo := w.undone(thread.User, w.did(thread.User, "done", w.moving("it", thread.Done)))
	w.did(thread.User, "claim", func(stamp thread.Stamp) error { _, err := w.Claim("it", time.Hour, stamp); return err })
	w.undone(thread.User, undo)
	assert.Equal(t, thread.Completed, w.statusOf("it"))
	assert.Nil(t, w.get("it").Claim, "the claim came later, and ended with the thread")
}

func TestUndoingAMergeRestoresTheEarlierShares(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a", "b")
	bringing := func(target string, shares ...thread.Share) thread.Operation {
		return w.did(thread.User, "merge", func(stamp thread.Stamp) error {
			_, err := w.RecordMerge(thread.ThreadID(target), shares, stamp)
			return err
		})
	}
	applied := func(with, manifest string) thread.Share {
		s := share(with, manifest)
		s.Undo = thread.BlobID("undo-" + manifest)
		return s
	}
	bringing("main", applied("a", "1"), applied("b", "2"))
	op := bringing("main", applied("a", "3"))
	require.Equal(t, []string{"2", "3"}, w.shared("main"))
	w.did(thread.User, "update", w.editing("main", titled("Renamed")))
	bringing("b", applied("a", "4"))

	in, undo := w.undone(thread.User, op)
	assert.Equal(t, []thread.Replaced{{ThreadID: "main", List: "undo-3"}}, in.Replaced)
	assert.Equal(t, []string{"1", "2"}, w.shared("main"))
	assert.Equal(t, "Renamed", w.get("main").Title)
	w.refused(thread.User, op, "it is already undone")
	w.refused(thread.User, undo, "it restored files")

	op = bringing("main", applied("a", "3"))
	assert.Equal(t, []string{"2", "3"}, w.shared("main"), "the same merge can be made anew")
	later := bringing("main", applied("b", "5"))
	w.refused(thread.User, op, "a later merge depends on it")
	w.undone(thread.User, later)
	w.moved("main", thread.Done)
	_, err := w.Invert(op, w.stamp(thread.User))
	failed(t, err, codes.NotWritable, map[string]any{"threadId": thread.ThreadID("main")})
}

// The merge does not become pending again, and a person's decision about it stays.
func TestAnAppliedMergeDoesNotBecomePendingAgain(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a")
	m := w.begun("merge-1", "main", thread.Interactive, "a")
	w.did(thread.User, "transfer", func(stamp thread.Stamp) error {
		_, _, err := w.AskMerge(m, thread.NewGrant{ID: "appr-1", Thread: "main", Scope: []string{thread.ApproveMerge}, Plan: "p1"}, stamp)
		return err
	})
	op := w.did(thread.Agent, "merge continue", func(stamp thread.Stamp) error {
		brought := share("a", "1")
		brought.Undo = "undo-1"
		if _, err := w.EndMerge("merge-1", "the merge was applied", stamp); err != nil {
			return err
		}
		_, err := w.RecordMerge("main", []thread.Share{brought}, stamp)
		return err
	})
	require.Equal(t, thread.Active, w.statusOf("main"))
	w.undone(thread.Agent, op)
	assert.Empty(t, w.MergesOf("main"))
	g, _ := w.Approval("appr-1")
	assert.Equal(t, thread.GrantWithdrawn, g.Status)
	assert.Equal(t, thread.Active, w.statusOf("main"))
	assert.Empty(t, w.shared("main"))
}

func TestADecisionAboutAnEndedMergeStays(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a")
	m := w.begun("merge-1", "main", thread.Interactive, "a")
	w.did(thread.User, "transfer", func(stamp thread.Stamp) error {
		_, _, err := w.AskMerge(m, thread.NewGrant{ID: "appr-1", Thread: "main", Scope: []string{thread.ApproveMerge}, Plan: "p1"}, stamp)
		return err
	})
	op := w.did(thread.User, "deny", w.deciding("appr-1", thread.Deny))
	w.did(thread.User, "merge abort", func(stamp thread.Stamp) error { _, err := w.EndMerge("merge-1", "it was aborted", stamp); return err })
	w.refused(thread.User, op, "its merge 'merge-1' is no longer pending")
}

func TestAnOperationWithoutChangesIsNotUndone(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	w.refused(thread.User, thread.Operation{ID: "op-1", Command: "doctor"}, "it changed nothing that can be undone")
	line := w.Lines(thread.TableThreads)[0]
	repair := thread.Operation{ID: "op-2", Changes: []thread.Change{{Record: "threads/it", Before: line.JSON, After: line.JSON}}}
	w.refused(thread.User, repair, "it changed nothing that can be undone")
	stray := thread.Operation{ID: "op-3", Changes: []thread.Change{{Record: "wishes/it", After: line.JSON}}}
	_, err := w.Invert(stray, w.stamp(thread.User))
	failed(t, err, codes.Internal, nil)
}

func TestAnUnreadableArchiveIsReported(t *testing.T) {
	t.Parallel()
	w := withThreads(t)
	op := w.did(thread.User, "spawn", w.spawning(thread.NewThread{ID: "it"}))
	w.archive.err = errUnreadable
	_, err := w.Invert(op, w.stamp(thread.User))
	assert.ErrorIs(t, err, errUnreadable)
	assert.Empty(t, w.Changes())
}

func TestAnOperationsIDMayBeShortened(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]bool{"op-abcdefgh": true, "op-a": true, "op-": true, // matches, and names nothing (CutOff)
		"op": false, "abcd": false, "op-abce": false} {
		assert.Equal(t, want, thread.ShortensOperation(arg, "op-abcdefgh"), arg)
	}
}

// T110 names records in words.
func TestReasonsNameRecordsInWords(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "part")
	op := w.did(thread.User, "reference", w.tying("ref-1", "main", "part", thread.Content{}))
	w.did(thread.User, "reference remove", func(thread.Stamp) error { _, err := w.RemoveReference("ref-1"); return err })
	e := w.refused(thread.User, op, "reference 'ref-1' is gone: it was undone or archived since")
	assert.True(t, strings.HasPrefix(e.Error(), fmt.Sprintf("Operation '%s' cannot be undone: reference 'ref-1' is gone", op.ID)), e.Error())
}
