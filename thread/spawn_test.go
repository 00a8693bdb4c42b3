package thread_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

func TestANewThreadHasItsParameters(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("thread-parent11", "thread-first111", "thread-second11")
	stamp := w.stamp(thread.Agent)
	got, err := w.Spawn(thread.NewThread{
		ID: "child", Objective: "obj-one", Parent: "thread-pare", Title: "T", Intent: "I", Executor: thread.ByHuman,
		Tags: []string{"ui", "api", "ui"}, DependsOn: []string{"thread-seco", "thread-first111", "thread-second11"},
		Branch: "b", Worktree: "../w", Inherit: thread.InheritFull, Shared: "m1",
	}, stamp)
	require.NoError(t, err)
	assert.Equal(t, thread.Thread{
		ID: "child", ObjectiveID: "obj-one", ParentID: "thread-parent11", Title: "T", Intent: "I", Status: thread.Active,
		Executor: thread.ByHuman, Tags: []string{"api", "ui"}, DependsOn: []thread.ThreadID{"thread-first111", "thread-second11"},
		Branch: "b", Worktree: "../w", Inherit: thread.InheritFull,
		Shared:  []thread.Share{{With: "thread-parent11", Manifest: "m1", How: "spawn", At: w.Revision + 1}},
		Created: thread.Attribution{At: stamp.Time, As: thread.Agent, Actor: "ann"}, Updated: stamp.Time, Revision: w.Revision + 1,
	}, got)
	assert.Equal(t, []string{"threads/child"}, w.recordsChanged())
	w.commit()
	again, err := w.Thread("child")
	require.NoError(t, err)
	assert.Equal(t, got, again, "it is read back as it was written")
}

func TestAThreadIDIsNeverReused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("live", "old")
	w.moved("old", thread.Done, thread.Archive)
	w.archive.taken["only-a-folder"] = true
	for id, next := range map[thread.ThreadID]string{
		"live": "leslie status live", "old": "leslie status old", "only-a-folder": "leslie list --all",
	} {
		_, err := w.Spawn(thread.NewThread{ID: id}, w.stamp(thread.User))
		e := failed(t, err, codes.AlreadyExists, map[string]any{"id": id})
		assert.Equal(t, []string{next}, e.Next())
	}
	assert.Empty(t, w.Changes())
}

func TestAnIDIsTakenWithinOneOperation(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	_, err := w.Spawn(thread.NewThread{ID: "a"}, w.stamp(thread.User))
	require.NoError(t, err)
	for _, action := range []thread.Action{thread.Done, thread.Archive} {
		_, err = w.Lifecycle("a", action, "", w.stamp(thread.User))
		require.NoError(t, err)
		_, err = w.Spawn(thread.NewThread{ID: "a"}, w.stamp(thread.User))
		failed(t, err, codes.AlreadyExists, map[string]any{"id": thread.ThreadID("a")})
	}
}

func TestSpawnRefusesInvalidRelations(t *testing.T) {
	t.Parallel()
	prepared := func(t *testing.T) *fixture {
		w := newFixture(t)
		w.objective("obj-one")
		w.threads("thread-twin1aaa", "thread-twin1bbb", "done-one", "cancelled-one", "archived-one", "waiting-one")
		w.moved("done-one", thread.Done)
		w.moved("cancelled-one", thread.Cancel)
		w.moved("archived-one", thread.Done, thread.Archive)
		return w
	}
	cases := []struct {
		name  string
		in    thread.NewThread
		code  codes.Code
		facts map[string]any
	}{
		{"a parent that is not there", thread.NewThread{Parent: "nobody"}, codes.ThreadNotFound, map[string]any{"threadId": "nobody"}},
		{"a parent that could be two", thread.NewThread{Parent: "thread-twin1"}, codes.AmbiguousID,
			map[string]any{"prefix": "thread-twin1", "count": 2, "candidates": []string{"thread-twin1aaa", "thread-twin1bbb"}}},
		{"a completed parent", thread.NewThread{Parent: "done-one"}, codes.NotWritable,
			map[string]any{"threadId": thread.ThreadID("done-one"), "status": thread.Completed}},
		{"a cancelled parent", thread.NewThread{Parent: "cancelled-one"}, codes.NotWritable, map[string]any{"status": thread.Cancelled}},
		{"an archived parent", thread.NewThread{Parent: "archived-one"}, codes.NotWritable, map[string]any{"status": thread.Archived}},
		{"a dependency that is not there", thread.NewThread{DependsOn: []string{"done-one", "nobody"}}, codes.ThreadNotFound, map[string]any{"threadId": "nobody"}},
		{"itself as a dependency", thread.NewThread{DependsOn: []string{"new-one"}}, codes.ThreadNotFound, map[string]any{"threadId": "new-one"}},
		{"an objective that is not there", thread.NewThread{Objective: "obj-nope"}, codes.ObjectiveNotFound, map[string]any{"objectiveId": "obj-nope"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := prepared(t)
			c.in.ID = "new-one"
			_, err := w.Spawn(c.in, w.stamp(thread.User))
			failed(t, err, c.code, c.facts)
			assert.Empty(t, w.Changes())
		})
	}
}

func TestADependencyMayBeTerminatedOrArchived(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("finished", "archived-one")
	w.moved("finished", thread.Done)
	w.moved("archived-one", thread.Cancel, thread.Archive)
	th := w.spawned(thread.NewThread{ID: "next", DependsOn: []string{"finished", "archived-o"}})
	assert.Equal(t, []thread.ThreadID{"archived-one", "finished"}, th.DependsOn)
	assert.True(t, w.Ready(th, noon))
}

func TestANewThreadsObjective(t *testing.T) {
	t.Parallel()
	prepared := func(t *testing.T, open ...string) *fixture {
		w := newFixture(t)
		w.objective("finished")
		w.spawned(thread.NewThread{ID: "old-parent", Objective: "finished"})
		w.moved("old-parent", thread.Done)
		_, err := w.FinishObjective("finished", w.stamp(thread.User))
		require.NoError(t, err)
		w.commit()
		for _, id := range open {
			w.objective(id)
			w.spawned(thread.NewThread{ID: thread.ThreadID("parent-" + id), Objective: id})
		}
		return w
	}
	found := []struct {
		name string
		open []string
		in   thread.NewThread
		want thread.ObjectiveID
	}{
		{"is the one that the flag names", []string{"first", "second"}, thread.NewThread{Objective: "second", Parent: "parent-first"}, "second"},
		{"may be shortened", []string{"first", "second"}, thread.NewThread{Objective: "seco"}, "second"},
		{"else the parent's", []string{"first", "second"}, thread.NewThread{Parent: "parent-first"}, "first"},
		{"else the only one not marked done", []string{"first"}, thread.NewThread{}, "first"},
	}
	for _, c := range found {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := prepared(t, c.open...)
			c.in.ID = "new-one"
			th, err := w.Spawn(c.in, w.stamp(thread.User))
			require.NoError(t, err)
			assert.Equal(t, c.want, th.ObjectiveID)
		})
	}

	t.Run("is asked for when there are several, in order", func(t *testing.T) {
		t.Parallel()
		w := prepared(t, "second", "first")
		_, err := w.Spawn(thread.NewThread{ID: "new-one"}, w.stamp(thread.User))
		e := failed(t, err, codes.InvalidArgument, map[string]any{"count": 2, "candidates": []thread.ObjectiveID{"second", "first"}})
		assert.Equal(t, []string{"leslie objective list"}, e.Next())
	})
	t.Run("is asked for with the first of many", func(t *testing.T) {
		t.Parallel()
		var names []string
		for i := range 30 {
			names = append(names, fmt.Sprintf("obj-%02d", i))
		}
		w := prepared(t, names...)
		_, err := w.Spawn(thread.NewThread{ID: "new-one"}, w.stamp(thread.User))
		e := failed(t, err, codes.InvalidArgument, map[string]any{"count": 30})
		shown, _ := e.Facts().Get("candidates")
		assert.Len(t, shown, thread.MaxCandidates)
	})
	t.Run("is asked for when there is none", func(t *testing.T) {
		t.Parallel()
		w := prepared(t)
		_, err := w.Spawn(thread.NewThread{ID: "new-one"}, w.stamp(thread.User))
		e := failed(t, err, codes.InvalidArgument, nil)
		assert.Contains(t, e.Error(), "no open objective")
		assert.Equal(t, []string{"leslie objective list"}, e.Next())
	})
	t.Run("is refused when the named one is done", func(t *testing.T) {
		t.Parallel()
		w := prepared(t, "first")
		_, err := w.Spawn(thread.NewThread{ID: "new-one", Objective: "finished"}, w.stamp(thread.User))
		failed(t, err, codes.ObjectiveDone, map[string]any{"objectiveId": thread.ObjectiveID("finished")})
	})
	t.Run("that is completed but not marked done still takes threads", func(t *testing.T) {
		t.Parallel()
		w := prepared(t, "first")
		w.moved("parent-first", thread.Done)
		_, err := w.Spawn(thread.NewThread{ID: "new-one"}, w.stamp(thread.User))
		require.NoError(t, err)
	})
}

func TestNothingIsSharedWithoutAParent(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	th, err := w.Spawn(thread.NewThread{ID: "a", Shared: "m1"}, w.stamp(thread.User))
	require.NoError(t, err)
	assert.Empty(t, th.Shared)
}
