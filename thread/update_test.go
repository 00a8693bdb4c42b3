package thread_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

func ptr(s string) *string { return &s }

func TestAnEditChangesOnlyTheNamedFields(t *testing.T) {
	t.Parallel()
	prepared := func(t *testing.T) (*fixture, thread.Thread) {
		w := newFixture(t)
		w.objective("obj-one")
		w.threads("first", "second")
		return w, w.spawned(thread.NewThread{
			ID: "it", Title: "T", Intent: "I", Tags: []string{"api", "ui"}, DependsOn: []string{"first"}, Branch: "b", Worktree: "w",
		})
	}
	cases := []struct {
		name string
		edit thread.Edit
		want func(*thread.Thread)
	}{
		{"the title", thread.Edit{Title: ptr("N")}, func(th *thread.Thread) { th.Title = "N" }},
		{"the branch", thread.Edit{Branch: ptr("n")}, func(th *thread.Thread) { th.Branch = "n" }},
		{"the worktree", thread.Edit{Worktree: ptr("n")}, func(th *thread.Thread) { th.Worktree = "n" }},
		{"a tag more, in order", thread.Edit{AddTags: []string{"core"}}, func(th *thread.Thread) { th.Tags = []string{"api", "core", "ui"} }},
		{"a tag less", thread.Edit{DropTags: []string{"api", "unknown"}}, func(th *thread.Thread) { th.Tags = []string{"ui"} }},
		{"the last tags gone", thread.Edit{DropTags: []string{"ui", "api"}}, func(th *thread.Thread) { th.Tags = nil }},
		{"a dependency more", thread.Edit{AddDepends: []string{"seco"}}, func(th *thread.Thread) { th.DependsOn = []thread.ThreadID{"first", "second"} }},
		{"a dependency less", thread.Edit{DropDepend: []string{"firs"}}, func(th *thread.Thread) { th.DependsOn = nil }},
		{"one dependency for another", thread.Edit{AddDepends: []string{"second"}, DropDepend: []string{"first"}}, func(th *thread.Thread) { th.DependsOn = []thread.ThreadID{"second"} }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, want := prepared(t)
			stamp := w.stamp(thread.Agent)
			got, err := w.Edit("it", c.edit, stamp)
			require.NoError(t, err)
			c.want(&want)
			want.Updated, want.Revision = stamp.Time, w.Revision+1
			assert.Equal(t, want, got)
			assert.Equal(t, []string{"threads/it"}, w.recordsChanged())
		})
	}
}

func TestAnEditThatChangesNothingKeepsRevisionAndTime(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("first")
	was := w.spawned(thread.NewThread{ID: "it", Title: "T", Tags: []string{"api"}, DependsOn: []string{"first"}, Branch: "b"})
	for name, edit := range map[string]thread.Edit{
		"nothing named":               {},
		"the values that it has":      {Title: ptr("T"), Branch: ptr("b"), AddTags: []string{"api", "api"}, AddDepends: []string{"first"}},
		"a tag that it does not have": {DropTags: []string{"ui"}},
	} {
		got, err := w.Edit("it", edit, w.stamp(thread.User))
		require.NoError(t, err, name)
		assert.Equal(t, was, got, name)
		assert.Empty(t, w.Changes(), name)
	}
}

func TestAnEditLeavesTheStateAsItWasWhenTagsAreShared(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	was := w.spawned(thread.NewThread{ID: "it", Tags: []string{"a", "b", "c"}})
	before, _ := w.Threads.Get("it")
	_, err := w.Edit("it", thread.Edit{DropTags: []string{"a"}}, w.stamp(thread.User))
	require.NoError(t, err)
	assert.Equal(t, was.Tags, before.Tags, "a record that was handed out does not change")
}

func TestATerminatedThreadIsEditedUntilItIsArchived(t *testing.T) {
	t.Parallel()
	for _, status := range thread.Statuses() {
		w := standing(t, status)
		_, err := w.Edit("it", thread.Edit{Title: ptr("N")}, w.stamp(thread.User))
		if status == thread.Archived {
			failed(t, err, codes.NotWritable, map[string]any{"threadId": thread.ThreadID("it"), "status": thread.Archived})
			continue
		}
		assert.NoError(t, err, "%s", status)
	}
}

func TestDependenciesCannotFormACycle(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("a", "x")
	w.spawned(thread.NewThread{ID: "b", DependsOn: []string{"a", "x"}})
	w.spawned(thread.NewThread{ID: "c", DependsOn: []string{"b"}})
	cases := []struct {
		name, on, path string
		threads        []string
	}{
		{"on itself", "a", "a -> a", []string{"a", "a"}},
		{"on the one that depends on it", "b", "a -> b -> a", []string{"a", "b", "a"}},
		{"on one further along", "c", "a -> c -> b -> a", []string{"a", "c", "b", "a"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Edit("a", thread.Edit{Title: ptr("N"), AddDepends: []string{"x", c.on}}, w.stamp(thread.User))
			e := failed(t, err, codes.CircularReference, map[string]any{"path": c.path, "threads": c.threads})
			assert.Equal(t, []string{"leslie status a"}, e.Next())
			assert.Empty(t, w.Changes())
		})
	}
	_, err := w.Edit("c", thread.Edit{AddDepends: []string{"a", "x"}}, w.stamp(thread.User))
	assert.NoError(t, err, "two ways to one thread are no cycle")
}

func TestAnEditRefusesMissingDependencies(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("a", "other")
	_, err := w.Edit("a", thread.Edit{AddDepends: []string{"nobody"}}, w.stamp(thread.User))
	failed(t, err, codes.ThreadNotFound, map[string]any{"threadId": "nobody"})

	for _, drop := range []string{"other", "nobody"} {
		_, err = w.Edit("a", thread.Edit{DropDepend: []string{drop}}, w.stamp(thread.User))
		e := failed(t, err, codes.InvalidArgument, map[string]any{"threadId": thread.ThreadID("a")})
		assert.Contains(t, e.Error(), "'a' does not depend on '"+drop+"'")
	}
	assert.Empty(t, w.Changes())
}

func TestADependencyThatVanishedCanBeDropped(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("gone")
	w.spawned(thread.NewThread{ID: "it", DependsOn: []string{"gone"}})
	w.Threads.Delete("gone") // no rule does this; a damaged archive looks like it
	w.commit()
	delete(w.archive.taken, "gone")

	th, err := w.Edit("it", thread.Edit{DropDepend: []string{"gone"}}, w.stamp(thread.User))
	require.NoError(t, err)
	assert.Empty(t, th.DependsOn)
}
