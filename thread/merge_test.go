package thread_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

func TestTheThreadsOfAMergeAreFound(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "thread-main1111", "thread-aaaa1111", "thread-aaaa2222", "thread-done1111", "thread-paused11")
	w.moved("thread-done1111", thread.Done)
	w.moved("thread-paused11", thread.Suspend)

	p, err := w.Parties("thread-main", []string{"thread-done1111", "thread-aaaa2", "thread-paused11"})
	require.NoError(t, err)
	assert.Equal(t, thread.ThreadID("thread-main1111"), p.Target.ID)
	assert.Equal(t, []thread.ThreadID{"thread-done1111", "thread-aaaa2222", "thread-paused11"}, ids(p.Sources), "in the order given; a completed one is a fine source")
	assert.Empty(t, w.Changes(), "to look changes nothing")

	p, err = w.Parties("thread-paused11", []string{"thread-main1111"})
	require.NoError(t, err, "one that waits may be merged into")
	assert.Equal(t, thread.Suspended, p.Target.Status)
}

func TestTheThreadsOfAMergeAreRefused(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a", "thread-twin1aaa", "thread-twin1bbb", "done-one", "cancelled-one", "archived-one")
	w.moved("done-one", thread.Done)
	w.moved("cancelled-one", thread.Cancel)
	w.moved("archived-one", thread.Done, thread.Archive)
	id := func(s string) thread.ThreadID { return thread.ThreadID(s) }
	cases := []struct {
		name, target string
		sources      []string
		code         codes.Code
		facts        map[string]any
	}{
		{"an unknown target", "nobody", []string{"a"}, codes.ThreadNotFound, map[string]any{"threadId": "nobody"}},
		{"an unknown source", "main", []string{"a", "nobody"}, codes.ThreadNotFound, map[string]any{"threadId": "nobody"}},
		{"one of two targets", "thread-twin1", []string{"a"}, codes.AmbiguousID, map[string]any{"count": 2}},
		{"one of two sources", "main", []string{"thread-twin1"}, codes.AmbiguousID, map[string]any{"count": 2}},
		{"a completed target", "done-one", []string{"a"}, codes.NotWritable, map[string]any{"threadId": id("done-one"), "status": thread.Completed}},
		{"a cancelled target", "cancelled-one", []string{"a"}, codes.NotWritable, map[string]any{"threadId": id("cancelled-one")}},
		{"an archived target", "archived-one", []string{"a"}, codes.NotWritable, map[string]any{"status": thread.Archived}},
		{"an archived source", "main", []string{"a", "archived-one"}, codes.NotWritable, map[string]any{"threadId": id("archived-one"), "status": thread.Archived}},
		{"itself", "main", []string{"a", "main"}, codes.InvalidArgument, map[string]any{"threadId": id("main")}},
		{"itself by a shorter name", "thread-twin1aaa", []string{"thread-twin1a"}, codes.InvalidArgument, map[string]any{"threadId": id("thread-twin1aaa")}},
		{"a source twice", "main", []string{"a", "done-one", "a"}, codes.InvalidArgument, map[string]any{"threadId": id("a")}},
		{"a source twice by a shorter name", "main", []string{"thread-twin1b", "thread-twin1bbb"}, codes.InvalidArgument, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Parties(c.target, c.sources)
			failed(t, err, c.code, c.facts)
			var sources []thread.ThreadID
			for _, s := range c.sources {
				sources = append(sources, thread.ThreadID(s))
			}
			_, err = w.BeginMerge(thread.Merge{ID: "merge-1", Target: thread.ThreadID(c.target), Sources: sources}, w.stamp(thread.User))
			failed(t, err, c.code, c.facts)
			assert.Empty(t, w.Changes())
		})
	}
}

// begun records a pending merge, which must succeed.
func (w *fixture) begun(id, target string, strategy thread.Strategy, sources ...thread.ThreadID) thread.Merge {
	w.t.Helper()
	m, err := w.BeginMerge(thread.Merge{ID: thread.MergeID(id), Target: thread.ThreadID(target), Sources: sources, Strategy: strategy}, w.stamp(thread.Agent))
	require.NoError(w.t, err)
	w.commit()
	return m
}

func TestOneMergeIsPendingPerTarget(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a", "b")
	stamp := w.stamp(thread.Agent)
	m, err := w.BeginMerge(thread.Merge{ID: "merge-abcdefgh", Target: "main", Sources: []thread.ThreadID{"a"}, Strategy: thread.HumanOnly, Scope: []string{"plan.md"}}, stamp)
	require.NoError(t, err)
	assert.Equal(t, thread.Merge{
		ID: "merge-abcdefgh", Target: "main", Sources: []thread.ThreadID{"a"}, Strategy: thread.HumanOnly, Scope: []string{"plan.md"},
		Created: thread.Attribution{At: stamp.Time, As: thread.Agent, Actor: stamp.Actor}, Revision: w.Revision + 1,
	}, m)
	assert.Equal(t, []string{"merges/merge-abcdefgh"}, w.recordsChanged())
	w.commit()

	_, err = w.BeginMerge(thread.Merge{ID: "merge-2", Target: "main", Sources: []thread.ThreadID{"b"}}, w.stamp(thread.User))
	failed(t, err, codes.MergePending, map[string]any{"target": thread.ThreadID("main"), "mergeId": thread.MergeID("merge-abcdefgh")})
	assert.Empty(t, w.Changes())
	failed(t, w.NoPendingMerge("main"), codes.MergePending, nil)

	require.NoError(t, w.NoPendingMerge("a"), "its source is free")
	w.begun("merge-3", "a", thread.Interactive, "b")
	_, err = w.EndMerge("merge-abcd", "it was aborted", w.stamp(thread.User))
	require.NoError(t, err)
	w.commit()
	w.begun("merge-4", "main", thread.Interactive, "b")
}

func TestAPendingMergeIsFoundByIDOrPrefix(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a", "b")
	w.begun("merge-abcd1111", "main", thread.Interactive, "a")
	w.begun("merge-abcd2222", "a", thread.Interactive, "b")
	m, err := w.Merge("merge-abcd1")
	require.NoError(t, err)
	assert.Equal(t, thread.MergeID("merge-abcd1111"), m.ID)
	_, err = w.Merge("merge-abcd")
	failed(t, err, codes.AmbiguousID, map[string]any{"count": 2})
	_, err = w.EndMerge("merge-abcd", "it was aborted", w.stamp(thread.User))
	failed(t, err, codes.AmbiguousID, nil)
	_, err = w.Merge("merge-zzzz")
	failed(t, err, codes.MergeNotFound, map[string]any{"mergeId": "merge-zzzz"})
	_, err = w.EndMerge("merge-zzzz", "it was aborted", w.stamp(thread.User))
	failed(t, err, codes.MergeNotFound, nil)
	assert.Empty(t, w.Changes())

	ended, err := w.EndMerge("merge-abcd2222", "it was aborted", w.stamp(thread.User))
	require.NoError(t, err)
	assert.Equal(t, thread.ThreadID("a"), ended.Target)
	assert.Equal(t, []string{"merges/merge-abcd2222"}, w.recordsChanged())
	w.commit()
	_, err = w.Merge("merge-abcd2222")
	failed(t, err, codes.MergeNotFound, map[string]any{"mergeId": "merge-abcd2222"})
}

func TestPendingMergesAreListedByCreationTime(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a", "b", "c")
	w.begun("merge-z", "main", thread.Interactive, "a", "b")
	w.begun("merge-y", "a", thread.Interactive, "c")
	w.begun("merge-x", "c", thread.Interactive, "b")
	of := func(id thread.ThreadID) (out []thread.MergeID) {
		for _, m := range w.MergesOf(id) {
			out = append(out, m.ID)
		}
		return out
	}
	assert.Equal(t, []thread.MergeID{"merge-z", "merge-y", "merge-x"}, of(""))
	assert.Equal(t, []thread.MergeID{"merge-z", "merge-y"}, of("a"), "into it or from it")
	assert.Equal(t, []thread.MergeID{"merge-z", "merge-x"}, of("b"))
	assert.Empty(t, of("nobody"))
}

// setting returns a function that sets a decision.
func setting(id string, d thread.Decision) func(map[string]thread.Decision) (map[string]thread.Decision, error) {
	return func(all map[string]thread.Decision) (map[string]thread.Decision, error) {
		if all == nil {
			all = map[string]thread.Decision{}
		}
		all[id] = d
		return all, nil
	}
}

func TestDecisionsAreKeptWithTheirMerge(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a")
	w.begun("merge-1", "main", thread.Interactive, "a")
	ours, theirs := thread.Decision{Take: "ours", How: "user"}, thread.Decision{Take: "theirs", How: "agent", Reason: "newer"}

	_, err := w.Decide("merge-1", setting("c1", ours), nil, thread.DefaultPolicy(), w.stamp(thread.User))
	require.NoError(t, err)
	w.commit()
	_, err = w.Decide("merge-1", setting("c2", ours), map[string]string{"plan.md": "it declined"}, thread.DefaultPolicy(), w.stamp(thread.Agent))
	require.NoError(t, err, "an agent may decide where no person was asked for")
	w.commit()
	before, err := w.Merge("merge-1")
	require.NoError(t, err)
	m, err := w.Decide("merge-1", setting("c1", theirs), map[string]string{"design.md": "too long"}, thread.DefaultPolicy(), w.stamp(thread.User))
	require.NoError(t, err)
	assert.Equal(t, map[string]thread.Decision{"c1": theirs, "c2": ours}, m.Decisions, "an answer given twice is replaced")
	assert.Equal(t, map[string]string{"plan.md": "it declined", "design.md": "too long"}, m.Declined)
	assert.Equal(t, map[string]thread.Decision{"c1": ours, "c2": ours}, before.Decisions, "what was read before stays as it was")
	assert.Equal(t, map[string]string{"plan.md": "it declined"}, before.Declined)
	w.commit()

	m, err = w.Decide("merge-1", func(map[string]thread.Decision) (map[string]thread.Decision, error) {
		return map[string]thread.Decision{}, nil
	}, nil, thread.DefaultPolicy(), w.stamp(thread.User))
	require.NoError(t, err)
	assert.Nil(t, m.Decisions)
	assert.Len(t, m.Declined, 2)
}

func TestADecisionIsRefused(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a", "b")
	w.begun("merge-1", "main", thread.HumanOnly, "a")
	ours := setting("c1", thread.Decision{Take: "ours"})
	asked := false
	never := func(map[string]thread.Decision) (map[string]thread.Decision, error) { asked = true; return nil, nil }

	_, err := w.Decide("merge-9", never, nil, thread.DefaultPolicy(), w.stamp(thread.User))
	failed(t, err, codes.MergeNotFound, map[string]any{"mergeId": "merge-9"})
	_, err = w.Decide("merge-1", never, nil, thread.DefaultPolicy(), w.stamp(thread.Agent))
	failed(t, err, codes.PermissionDenied, map[string]any{"mergeId": thread.MergeID("merge-1")})
	_, err = w.Decide("merge-1", never, nil, thread.DefaultPolicy(), w.stamp(thread.System))
	failed(t, err, codes.PermissionDenied, map[string]any{"mergeId": thread.MergeID("merge-1")})
	assert.False(t, asked, "nothing is asked of one who may not decide")
	unfit := errors.New("does not fit")
	_, err = w.Decide("merge-1", func(have map[string]thread.Decision) (map[string]thread.Decision, error) { return nil, unfit }, nil, thread.DefaultPolicy(), w.stamp(thread.User))
	assert.ErrorIs(t, err, unfit)
	assert.Empty(t, w.Changes())

	_, err = w.Decide("merge-1", ours, nil, thread.DefaultPolicy(), w.stamp(thread.User))
	assert.NoError(t, err, "a person may")
	for _, s := range []thread.Strategy{thread.Interactive, thread.AgentFirst} {
		w := withThreads(t, "main", "a")
		w.begun("merge-1", "main", s, "a")
		_, err := w.Decide("merge-1", ours, nil, thread.DefaultPolicy(), w.stamp(thread.Agent))
		assert.NoError(t, err, "%s", s)
	}
}

// brought records an applied merge and returns its operation for undo.
func (w *fixture) brought(target string, shares ...thread.Share) thread.Operation {
	w.t.Helper()
	_, err := w.RecordMerge(thread.ThreadID(target), shares, w.stamp(thread.User))
	require.NoError(w.t, err)
	op := w.commit()
	op.ThreadID = thread.ThreadID(target)
	return op
}

func share(with, manifest string, scope ...string) thread.Share {
	return thread.Share{With: thread.ThreadID(with), Manifest: thread.BlobID(manifest), Scope: scope, How: "merge"}
}

func (w *fixture) shared(id string) (out []string) {
	w.t.Helper()
	th, err := w.Thread(id)
	require.NoError(w.t, err)
	for _, s := range th.Shared {
		out = append(out, string(s.Manifest))
	}
	return out
}

func TestANewerShareReplacesTheOnesItCovers(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		shares [][]thread.Share // by merge
		want   []string
	}{
		{"of everything, by everything", [][]thread.Share{{share("a", "1")}, {share("a", "2")}}, []string{"2"}},
		{"of a part, by everything", [][]thread.Share{{share("a", "1", "plan.md")}, {share("a", "2", "design")}, {share("a", "3")}}, []string{"3"}},
		{"of the same part", [][]thread.Share{{share("a", "1", "plan.md", "x")}, {share("a", "2", "plan.md", "x")}}, []string{"2"}},
		{"everything stays beside a part", [][]thread.Share{{share("a", "1")}, {share("a", "2", "plan.md")}}, []string{"1", "2"}},
		{"a part stays beside another", [][]thread.Share{{share("a", "1", "design")}, {share("a", "2", "plan.md")}}, []string{"1", "2"}},
		{"a part stays beside a part of it", [][]thread.Share{{share("a", "1", "design", "plan.md")}, {share("a", "2", "plan.md")}}, []string{"1", "2"}},
		{"another thread's stays", [][]thread.Share{{share("a", "1")}, {share("b", "2")}}, []string{"1", "2"}},
		{"several at once", [][]thread.Share{{share("a", "1"), share("b", "2")}, {share("b", "3"), share("a", "4")}}, []string{"3", "4"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := withThreads(t, "main", "a", "b")
			for _, shares := range c.shares {
				w.brought("main", shares...)
			}
			assert.Equal(t, c.want, w.shared("main"))
		})
	}
}

func TestAMergeIsRecordedOnlyInItsTarget(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a", "done-one")
	before, _ := w.Threads.Get("main")
	stamp := w.stamp(thread.User)
	got, err := w.RecordMerge("main", []thread.Share{share("a", "1")}, stamp)
	require.NoError(t, err)
	assert.Equal(t, []thread.Share{{With: "a", Manifest: "1", How: "merge", At: w.Revision + 1}}, got.Shared)
	assert.Equal(t, stamp.Time, got.Updated)
	assert.Equal(t, []string{"threads/main"}, w.recordsChanged())
	assert.Empty(t, before.Shared)
	w.commit()

	w.moved("done-one", thread.Done)
	_, err = w.RecordMerge("done-one", []thread.Share{share("a", "1")}, w.stamp(thread.User))
	failed(t, err, codes.NotWritable, map[string]any{"threadId": thread.ThreadID("done-one")})
	_, err = w.RecordMerge("nobody", []thread.Share{share("a", "1")}, w.stamp(thread.User))
	failed(t, err, codes.ThreadNotFound, nil)
	assert.Empty(t, w.Changes())
}

// Between the plan of a merge and its commit the source's spawn may be undone.
func TestNothingIsSharedWithASourceThatIsGone(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "target", "source")
	_, err := w.RecordMerge("target", []thread.Share{{With: "source", Manifest: "m1", How: "merge"}, {With: "gone", Manifest: "m2", How: "merge"}}, w.stamp(thread.User))
	failed(t, err, codes.ThreadNotFound, map[string]any{"threadId": "gone"})
	assert.Empty(t, w.Changes())
}
