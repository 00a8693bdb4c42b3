package thread_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

func TestAListIsFilteredAndInOrder(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("first")
	w.objective("second")
	for _, in := range []thread.NewThread{
		{ID: "zeta", Objective: "first", Executor: thread.ByAgent},
		{ID: "beta", Objective: "first", Parent: "zeta", Tags: []string{"api", "core"}, Executor: thread.ByHuman},
		{ID: "done", Objective: "first", Parent: "zeta", Executor: thread.ByAgent},
		{ID: "cold", Objective: "first", Tags: []string{"api"}, Executor: thread.ByAgent},
		{ID: "alpha", Objective: "second", DependsOn: []string{"done", "cold"}, Executor: thread.ByAgent},
		{ID: "gamma", Objective: "second", DependsOn: []string{"done", "beta"}, Executor: thread.ByAgent},
		{ID: "pause", Objective: "second", Executor: thread.ByAgent},
	} {
		w.spawned(in)
	}
	w.moved("done", thread.Done)
	w.moved("cold", thread.Cancel, thread.Archive)
	w.moved("pause", thread.Suspend)
	cases := []struct {
		name   string
		filter thread.Filter
		want   []thread.ThreadID
	}{
		{"everything but the archived", thread.Filter{}, []thread.ThreadID{"zeta", "beta", "done", "alpha", "gamma", "pause"}},
		{"the archived too, in their place", thread.Filter{All: true}, []thread.ThreadID{"zeta", "beta", "done", "cold", "alpha", "gamma", "pause"}},
		{"only the archived", thread.Filter{Status: thread.Archived}, []thread.ThreadID{"cold"}},
		{"one status", thread.Filter{Status: thread.Suspended}, []thread.ThreadID{"pause"}},
		{"one objective", thread.Filter{Objective: "second"}, []thread.ThreadID{"alpha", "gamma", "pause"}},
		{"one parent", thread.Filter{Parent: "zeta"}, []thread.ThreadID{"beta", "done"}},
		{"one tag", thread.Filter{Tag: "api"}, []thread.ThreadID{"beta"}},
		{"one tag, archived too", thread.Filter{Tag: "api", All: true}, []thread.ThreadID{"beta", "cold"}},
		{"a tag is not a part of a tag", thread.Filter{Tag: "ap"}, []thread.ThreadID{}},
		{"one executor", thread.Filter{Executor: thread.ByHuman}, []thread.ThreadID{"beta"}},
		{"what is ready", thread.Filter{Ready: true}, []thread.ThreadID{"zeta", "beta", "alpha"}},
		{"all conditions together", thread.Filter{Status: thread.Active, Objective: "first", Parent: "zeta"}, []thread.ThreadID{"beta"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := w.List(c.filter)
			require.NoError(t, err)
			assert.Equal(t, c.want, ids(got))
		})
	}
}

func TestThreadsCreatedAtTheSameTimeAreListedByID(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	for _, id := range []thread.ThreadID{"c", "a", "b"} {
		_, err := w.Spawn(thread.NewThread{ID: id}, w.stamp(thread.User))
		require.NoError(t, err)
	}
	w.commit()
	w.moved("a", thread.Done, thread.Archive)
	got, err := w.List(thread.Filter{All: true})
	require.NoError(t, err)
	assert.Equal(t, []thread.ThreadID{"a", "b", "c"}, ids(got), "whether it is archived or not")
}

func TestAThreadIsReadyWhenItIsActiveAndNothingItDependsOnIsOpen(t *testing.T) {
	t.Parallel()
	for _, status := range thread.Statuses() {
		w := standing(t, status)
		dependant := w.spawned(thread.NewThread{ID: "next", Objective: "obj-one", DependsOn: []string{"it"}})
		assert.Equal(t, status.Terminated(), w.Ready(dependant, noon), "it depends on a thread that is %s", status)
		it, err := w.Thread("it")
		require.NoError(t, err)
		assert.Equal(t, status == thread.Active, w.Ready(it, noon), "%s", status)
	}
}

func TestRelationsAreChildrenAndDependenciesBothWays(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it", "cold")
	w.moved("cold", thread.Done, thread.Archive)
	w.spawned(thread.NewThread{ID: "zz-child", Parent: "it"})
	w.spawned(thread.NewThread{ID: "aa-child", Parent: "it", DependsOn: []string{"it"}})
	w.spawned(thread.NewThread{ID: "other", DependsOn: []string{"it"}})
	th, err := w.Edit("it", thread.Edit{AddDepends: []string{"cold"}}, w.stamp(thread.User))
	require.NoError(t, err)
	assert.Equal(t, thread.Relations{
		Children:     []thread.ThreadID{"zz-child", "aa-child"},
		DependsOn:    []thread.ThreadID{"cold"},
		DependedOnBy: []thread.ThreadID{"aa-child", "other"},
	}, w.RelationsOf(th))

	alone, err := w.Thread("zz-child")
	require.NoError(t, err)
	assert.Equal(t, thread.Relations{Children: []thread.ThreadID{}, DependsOn: []thread.ThreadID{}, DependedOnBy: []thread.ThreadID{}}, w.RelationsOf(alone))
}

func TestWhatAThreadAboveWaitsForHoldsAThreadBack(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		threads []thread.NewThread
		deps    map[string][]string // added when all threads are there
		held    map[string][]thread.Hold
	}{
		"what the parent and its parent wait for": {
			threads: []thread.NewThread{{ID: "x"}, {ID: "a", DependsOn: []string{"x"}}, {ID: "b", Parent: "a"}, {ID: "c", Parent: "b", DependsOn: []string{"x"}}},
			held: map[string][]thread.Hold{
				"a": {{On: "x", Status: thread.Active, Of: "a"}}, "b": {{On: "x", Status: thread.Active, Of: "a"}},
				"c": {{On: "x", Status: thread.Active, Of: "c"}, {On: "x", Status: thread.Active, Of: "a"}},
			},
		},
		"not what is below the parent": {
			threads: []thread.NewThread{{ID: "a"}, {ID: "b", Parent: "a"}, {ID: "c", Parent: "b"}, {ID: "d", Parent: "a"}},
			deps:    map[string][]string{"a": {"c"}},
			held:    map[string][]thread.Hold{"a": {{On: "c", Status: thread.Active, Of: "a"}}},
		},
		"not what waits for the thread, or for one above it": {
			threads: []thread.NewThread{{ID: "a"}, {ID: "b", Parent: "a"}, {ID: "c", Parent: "b"}, {ID: "d", Parent: "a"}, {ID: "y", DependsOn: []string{"b"}}, {ID: "x", DependsOn: []string{"y"}}},
			deps:    map[string][]string{"a": {"x"}},
			held: map[string][]thread.Hold{
				"a": {{On: "x", Status: thread.Active, Of: "a"}}, "d": {{On: "x", Status: thread.Active, Of: "a"}},
				"x": {{On: "y", Status: thread.Active, Of: "x"}}, "y": {{On: "b", Status: thread.Active, Of: "y"}},
			},
		},
		"not what waits for it by a child": {
			threads: []thread.NewThread{{ID: "a"}, {ID: "b", Parent: "a"}, {ID: "d", Parent: "a"}, {ID: "x"}, {ID: "y", Parent: "x", DependsOn: []string{"b"}}},
			deps:    map[string][]string{"a": {"x"}},
			held: map[string][]thread.Hold{
				"a": {{On: "x", Status: thread.Active, Of: "a"}}, "d": {{On: "x", Status: thread.Active, Of: "a"}}, "y": {{On: "b", Status: thread.Active, Of: "y"}},
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.objective("obj-one")
			for _, n := range tt.threads {
				w.spawned(n)
			}
			for id, on := range tt.deps {
				_, err := w.Edit(id, thread.Edit{AddDepends: on}, w.stamp(thread.User))
				require.NoError(t, err)
				w.commit()
			}
			held, ready := map[string][]thread.Hold{}, []thread.ThreadID{}
			for _, n := range tt.threads {
				th, err := w.Thread(string(n.ID))
				require.NoError(t, err)
				if holds := w.Readiness().Holds(th); len(holds) > 0 {
					held[string(n.ID)] = holds
				} else {
					ready = append(ready, n.ID)
				}
			}
			assert.Equal(t, tt.held, held)
			listed, err := w.List(thread.Filter{Ready: true, Now: noon})
			require.NoError(t, err)
			assert.Equal(t, ready, ids(listed), "the list says the same")
		})
	}
}
