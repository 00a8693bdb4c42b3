package thread_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

func withThreads(t testing.TB, names ...string) *fixture {
	t.Helper()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads(names...)
	return w
}

func TestAReferenceSaysWhatWasFound(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "thread-aaaa1111", "thread-bbbb2222")
	stamp := w.stamp(thread.Agent)
	ref, existed, err := w.Refer(thread.NewReference{
		ID: "ref-1", From: "thread-aaaa", Target: "thread-bbbb", Binding: thread.Frozen, Scope: []string{"plan.md", "design", "plan.md"},
		Content: thread.Content{Manifest: "m1", Files: 3},
	}, stamp)
	require.NoError(t, err)
	assert.False(t, existed)
	assert.Equal(t, thread.Reference{
		ID: "ref-1", From: "thread-aaaa1111", Target: "thread-bbbb2222", Binding: thread.Frozen, Scope: []string{"design", "plan.md"},
		Resolved: true, Manifest: "m1", Files: 3, TakenAt: stamp.Time,
		Created: thread.Attribution{At: stamp.Time, As: thread.Agent, Actor: "ann"}, Revision: w.Revision + 1,
	}, ref)
	assert.Equal(t, []string{"references/ref-1"}, w.recordsChanged())
}

// Between the copying and the commit the target's spawn may be undone.
func TestContentOfAVanishedTargetIsNotKept(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a", "b")
	ref, _, err := w.Refer(thread.NewReference{
		ID: "ref-1", From: "a", Target: "gone", Binding: thread.Frozen, Content: thread.Content{Manifest: "m1", Files: 3},
	}, w.stamp(thread.User))
	require.NoError(t, err)
	assert.False(t, ref.Resolved)
	assert.Equal(t, thread.ReasonMissing, ref.Unresolved)
	assert.Empty(t, ref.Manifest)
	assert.Zero(t, ref.Files)
	ref, err = w.Refresh("ref-1", thread.Content{Manifest: "m1", Files: 3}, w.stamp(thread.User))
	require.NoError(t, err)
	assert.False(t, ref.Resolved, "nor by a refresh")
}

func TestTheSameReferenceIsCreatedOnce(t *testing.T) {
	t.Parallel()
	first := thread.NewReference{ID: "ref-1", From: "a", Target: "b", Binding: thread.Frozen, Scope: []string{"plan.md", "design"}, Content: thread.Content{Manifest: "m1"}}
	cases := []struct {
		name  string
		again func(*thread.NewReference)
		same  bool
	}{
		{"again", func(*thread.NewReference) {}, true},
		{"with the scope in another order", func(in *thread.NewReference) { in.Scope = []string{"design", "plan.md", "design"} }, true},
		{"when the target's content has changed", func(in *thread.NewReference) { in.Content.Manifest = "m2" }, true},
		{"with another binding", func(in *thread.NewReference) { in.Binding = thread.Live }, false},
		{"with another scope", func(in *thread.NewReference) { in.Scope = []string{"design"} }, false},
		{"without a scope", func(in *thread.NewReference) { in.Scope = nil }, false},
		{"to another target", func(in *thread.NewReference) { in.Target = "c" }, false},
		{"from another thread", func(in *thread.NewReference) { in.From = "c" }, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := withThreads(t, "a", "b", "c")
			was, _, err := w.Refer(first, w.stamp(thread.User))
			require.NoError(t, err)
			w.commit()
			again := first
			again.ID = "ref-2"
			c.again(&again)
			got, existed, err := w.Refer(again, w.stamp(thread.User))
			require.NoError(t, err)
			assert.Equal(t, c.same, existed)
			if c.same {
				assert.Equal(t, was, got)
				assert.Empty(t, w.Changes())
			} else {
				assert.Equal(t, thread.ReferenceID("ref-2"), got.ID)
			}
		})
	}
}

func TestAMissingTargetIsStoredAsWritten(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a")
	ref, existed, err := w.Refer(thread.NewReference{
		ID: "ref-1", From: "a", Target: "thread-old", Binding: thread.Frozen, Content: thread.Content{Unresolved: thread.ReasonMissing},
	}, w.stamp(thread.User))
	require.NoError(t, err)
	assert.False(t, existed)
	assert.Equal(t, thread.ThreadID("thread-old"), ref.Target)
	assert.False(t, ref.Resolved)
	assert.Equal(t, "file not found", ref.Unresolved)
	w.commit()

	_, existed, err = w.Refer(thread.NewReference{ID: "ref-2", From: "a", Target: "thread-old", Binding: thread.Frozen}, w.stamp(thread.User))
	require.NoError(t, err)
	assert.True(t, existed, "the same missing target again is the same tie")
	for n, made := range []string{`say "no" & <go>`, `back\slash`, "tab\there", "Ärger", "UPPER", "under_score"} {
		for i, want := range []bool{false, true} {
			id := thread.ReferenceID(fmt.Sprintf("ref-made-%d-%d", n, i))
			_, existed, err := w.Refer(thread.NewReference{ID: id, From: "a", Target: made, Binding: thread.Frozen}, w.stamp(thread.User))
			require.NoError(t, err)
			assert.Equal(t, want, existed, "%q", made)
		}
	}
}

func TestReferencesCannotFormACycle(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a", "b", "c", "d")
	w.tied("ref-1", "a", "b")
	w.tied("ref-2", "b", "c")
	w.tied("ref-3", "a", "d")
	refer := func(from, target string) error {
		_, _, err := w.Refer(thread.NewReference{ID: "ref-9", From: from, Target: target, Binding: thread.Live}, w.stamp(thread.User))
		return err
	}
	cases := []struct{ name, from, target, path string }{
		{"of two", "b", "a", "b -> a -> b"},
		{"of three", "c", "a", "c -> a -> b -> c"},
		{"whatever the binding", "d", "a", "d -> a -> d"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := failed(t, refer(c.from, c.target), codes.CircularReference, map[string]any{"path": c.path, "threadId": thread.ThreadID(c.from)})
			assert.Equal(t, []string{"leslie reference list --from " + c.target}, e.Next(), "where the reference to be removed stands")
			assert.Empty(t, w.Changes())
		})
	}
	assert.NoError(t, refer("d", "c"), "two ways to one thread are no cycle")
}

func TestACycleThroughATargetThatAppearsLaterIsFound(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a")
	w.tied("ref-1", "a", "later")
	w.threads("later")
	_, _, err := w.Refer(thread.NewReference{ID: "ref-2", From: "later", Target: "a"}, w.stamp(thread.User))
	failed(t, err, codes.CircularReference, map[string]any{"path": "later -> a -> later"})
}

func TestAReferenceIsRefused(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a", "b", "thread-twin1aaa", "thread-twin1bbb", "done-one", "cancelled-one", "archived-one")
	w.tied("ref-1", "a", "b")
	w.moved("done-one", thread.Done)
	w.moved("cancelled-one", thread.Cancel)
	w.moved("archived-one", thread.Done, thread.Archive)
	cases := []struct {
		name  string
		in    thread.NewReference
		code  codes.Code
		facts map[string]any
	}{
		{"to itself", thread.NewReference{From: "a", Target: "a"}, codes.InvalidArgument, map[string]any{"threadId": thread.ThreadID("a")}},
		{"to itself by a shorter name", thread.NewReference{From: "thread-twin1aaa", Target: "thread-twin1a"}, codes.InvalidArgument, nil},
		{"from nobody", thread.NewReference{From: "nobody", Target: "a"}, codes.ThreadNotFound, map[string]any{"threadId": "nobody"}},
		{"from one of two", thread.NewReference{From: "thread-twin1", Target: "a"}, codes.AmbiguousID, map[string]any{"count": 2}},
		{"to one of two", thread.NewReference{From: "a", Target: "thread-twin1"}, codes.AmbiguousID, map[string]any{"count": 2}},
		{"from a completed thread", thread.NewReference{From: "done-one", Target: "a"}, codes.NotWritable, map[string]any{"status": thread.Completed}},
		{"from a cancelled thread", thread.NewReference{From: "cancelled-one", Target: "a"}, codes.NotWritable, map[string]any{"status": thread.Cancelled}},
		{"from an archived thread", thread.NewReference{From: "archived-one", Target: "a"}, codes.NotWritable, map[string]any{"status": thread.Archived}},
		{"under a taken id", thread.NewReference{ID: "ref-1", From: "b", Target: "done-one"}, codes.AlreadyExists, map[string]any{"id": thread.ReferenceID("ref-1")}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.in.ID == "" {
				c.in.ID = "ref-9"
			}
			c.in.Binding = thread.Live
			_, _, err := w.Refer(c.in, w.stamp(thread.User))
			failed(t, err, c.code, c.facts)
			assert.Empty(t, w.Changes())
		})
	}
}

func TestATerminatedThreadCanStillBeReferenced(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a", "done-one", "archived-one")
	w.moved("done-one", thread.Done)
	w.moved("archived-one", thread.Done, thread.Archive)
	for _, target := range []string{"done-one", "archived-one"} {
		ref := w.tied("ref-"+target, "a", target)
		assert.True(t, ref.Resolved)
		assert.Equal(t, thread.ThreadID(target), ref.Target)
	}
}

func TestAWaitingThreadMayAddReferences(t *testing.T) {
	t.Parallel()
	for _, status := range []thread.Status{thread.Suspended, thread.WaitingHuman} {
		w := standing(t, status)
		w.threads("b")
		w.tied("ref-1", "it", "b")
	}
}

func TestRefreshRecordsTheTargetsCurrentContent(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a", "b")
	was := w.tied("ref-abcdefgh", "a", "b")

	same, err := w.Refresh("ref-abcd", thread.Content{Manifest: "m1", Files: 1}, w.stamp(thread.User))
	require.NoError(t, err)
	assert.Equal(t, was, same, "what has not moved on keeps its time and revision")
	assert.Empty(t, w.Changes())

	stamp := w.stamp(thread.User)
	moved, err := w.Refresh("ref-abcdefgh", thread.Content{Manifest: "m2", Files: 2}, stamp)
	require.NoError(t, err)
	want := was
	want.Manifest, want.Files, want.TakenAt, want.Revision = "m2", 2, stamp.Time, w.Revision+1
	assert.Equal(t, want, moved)
	w.commit()

	lost, err := w.Refresh("ref-abcdefgh", thread.Content{Unresolved: "gone"}, w.stamp(thread.User))
	require.NoError(t, err)
	assert.False(t, lost.Resolved)
	assert.Equal(t, "gone", lost.Unresolved)
	w.commit()
	found, err := w.Refresh("ref-abcdefgh", thread.Content{Manifest: "m2", Files: 2}, w.stamp(thread.User))
	require.NoError(t, err)
	assert.True(t, found.Resolved)
	assert.Empty(t, found.Unresolved)
}

func TestALiveReferenceNoticesThatAnEmptyTargetVanished(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a", "b")
	_, _, err := w.Refer(thread.NewReference{ID: "ref-1", From: "a", Target: "b", Binding: thread.Live}, w.stamp(thread.User))
	require.NoError(t, err)
	w.commit()
	ref, err := w.Refresh("ref-1", thread.Content{Unresolved: thread.ReasonMissing}, w.stamp(thread.User))
	require.NoError(t, err)
	assert.False(t, ref.Resolved)
}

func TestAReferenceIsRemoved(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a", "b")
	was := w.tied("ref-abcdefgh", "a", "b")
	got, err := w.RemoveReference("ref-abcd")
	require.NoError(t, err)
	assert.Equal(t, was, got)
	assert.Equal(t, []string{"references/ref-abcdefgh"}, w.recordsChanged())
	w.commit()
	_, err = w.RemoveReference("ref-abcdefgh")
	failed(t, err, codes.ReferenceNotFound, map[string]any{"refId": "ref-abcdefgh"})
	w.tied("ref-2", "b", "a")
}

func TestTheReferencesOfATerminatedThreadStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, end := range [][]thread.Action{{thread.Done}, {thread.Cancel}, {thread.Done, thread.Archive}} {
		w := withThreads(t, "a", "b")
		w.tied("ref-abcdefgh", "a", "b")
		w.moved("a", end...)
		_, err := w.Refresh("ref-abcdefgh", thread.Content{Manifest: "m2"}, w.stamp(thread.User))
		failed(t, err, codes.NotWritable, map[string]any{"threadId": thread.ThreadID("a")})
		_, err = w.RemoveReference("ref-abcdefgh")
		failed(t, err, codes.NotWritable, map[string]any{"threadId": thread.ThreadID("a")})
		ref, err := w.Reference("ref-abcdefgh")
		require.NoError(t, err, "it is still shown, after %v", end)
		assert.Equal(t, thread.ThreadID("b"), ref.Target)
	}
}

func TestReferencesAreListedByCreationTimeThenID(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a", "b", "c")
	w.tied("ref-z", "a", "b")
	w.tied("ref-a", "a", "c")
	for _, id := range []thread.ReferenceID{"ref-y", "ref-x"} {
		_, _, err := w.Refer(thread.NewReference{ID: id, From: "b", Target: "c", Binding: thread.Live, Scope: []string{string(id)}}, w.stamp(thread.User))
		require.NoError(t, err)
	}
	refs := func(list []thread.Reference) (out []thread.ReferenceID) {
		for _, ref := range list {
			out = append(out, ref.ID)
		}
		return out
	}
	assert.Equal(t, []thread.ReferenceID{"ref-z", "ref-a", "ref-x", "ref-y"}, refs(w.AllReferences()))
	assert.Equal(t, []thread.ReferenceID{"ref-z", "ref-a"}, refs(w.ReferencesFrom("a")))
	assert.Equal(t, []thread.ReferenceID{"ref-a", "ref-x", "ref-y"}, refs(w.ReferencesTo("c")))
}

func TestAnUnreadableArchiveIsNoMissingThread(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a")
	w.archive.err = errUnreadable
	_, err := w.ArchivedReferencesFrom("a")
	assert.ErrorIs(t, err, errUnreadable)
	_, err = w.Thread("thread-unknown")
	assert.ErrorIs(t, err, errUnreadable)
	_, err = w.List(thread.Filter{All: true})
	assert.ErrorIs(t, err, errUnreadable)
	_, _, err = w.Refer(thread.NewReference{ID: "ref-1", From: "a", Target: "thread-unknown"}, w.stamp(thread.User))
	assert.ErrorIs(t, err, errUnreadable, "a target is missing only when it is known to be")
}
