package thread_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

// child spawns a thread that inherits a manifest of its parent.
func (w *fixture) child(id, parent, manifest string, scope ...string) {
	w.t.Helper()
	w.spawned(thread.NewThread{
		ID: thread.ThreadID(id), Parent: parent, Title: id, Intent: id, Inherit: thread.InheritFull, Shared: thread.BlobID(manifest), Scope: scope,
	})
}

func manifests(all []thread.Common) (out []string) {
	for _, c := range all {
		out = append(out, string(c.Manifest))
	}
	return out
}

// both asserts what two threads shared, in either order of arguments.
func (w *fixture) both(a, b thread.ThreadID, want ...string) {
	w.t.Helper()
	assert.Equal(w.t, want, manifests(w.Common(a, b)), "%s and %s", a, b)
	assert.Equal(w.t, want, manifests(w.Common(b, a)), "%s and %s", b, a)
}

func TestThreadsThatSharedNothingHaveNoBase(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a")
	w.both("main", "a")
	assert.Empty(t, w.IndirectBases("main", "a"))
	w.spawned(thread.NewThread{ID: "bare", Parent: "main", Title: "t", Intent: "i", Inherit: thread.InheritNone})
	w.both("main", "bare")
	assert.Empty(t, w.Common("main", "nobody"))
}

func TestTheBaseIsTheNewestContentThatBothHad(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main")
	w.child("a", "main", "spawned")
	spawnedAt := w.Revision
	w.both("main", "a", "spawned")

	w.brought("main", share("a", "merged-up"))
	upAt := w.Revision
	w.both("main", "a", "merged-up", "spawned")

	w.brought("a", share("main", "refreshed")) // the parent went on, the child is refreshed
	downAt := w.Revision
	w.both("main", "a", "refreshed", "merged-up", "spawned")

	w.brought("main", share("a", "up-again", "plan.md"))
	w.both("main", "a", "up-again", "refreshed", "merged-up", "spawned")
	scopedAt := w.Revision

	_, _, err := w.Refer(thread.NewReference{ID: "ref-1", From: "a", Target: "main", Binding: thread.Frozen, Scope: []string{"design"}, Content: thread.Content{Manifest: "frozen", Files: 1}}, w.stamp(thread.User))
	require.NoError(t, err)
	w.commit()
	assert.Equal(t, []thread.Common{
		{Manifest: "frozen", Scope: []string{"design"}, At: w.Revision, From: "reference ref-1", Frozen: true},
		{Manifest: "up-again", Scope: []string{"plan.md"}, At: scopedAt, From: "merge of a into main"},
		{Manifest: "refreshed", At: downAt, From: "merge of main into a"},
		{Manifest: "merged-up", At: upAt, From: "merge of a into main"},
		{Manifest: "spawned", At: spawnedAt, From: "spawn of a"},
	}, w.Common("main", "a"))
	assert.Less(t, spawnedAt, upAt)
}

func TestWhatASpawnGaveIsNamedAfterTheChild(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main")
	w.child("a", "main", "m1", "plan.md", "design")
	want := []thread.Common{{Manifest: "m1", Scope: []string{"plan.md", "design"}, At: w.Revision, From: "spawn of a"}}
	assert.Equal(t, want, w.Common("main", "a"))
	assert.Equal(t, want, w.Common("a", "main"))
}

func TestARefreshedReferenceIsANewerBase(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main")
	w.child("a", "main", "spawned")
	w.tied("ref-1", "a", "main")
	w.brought("main", share("a", "merged"))
	w.both("main", "a", "merged", "m1", "spawned")
	_, err := w.Refresh("ref-1", thread.Content{Manifest: "m2", Files: 1}, w.stamp(thread.User))
	require.NoError(t, err)
	w.commit()
	w.both("main", "a", "m2", "merged", "spawned")
	_, err = w.RemoveReference("ref-1")
	require.NoError(t, err)
	w.commit()
	w.both("main", "a", "merged", "spawned")
}

func TestALiveOrUnresolvedReferenceSharesNothing(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a")
	_, _, err := w.Refer(thread.NewReference{ID: "ref-1", From: "a", Target: "main", Binding: thread.Live}, w.stamp(thread.User))
	require.NoError(t, err)
	_, _, err = w.Refer(thread.NewReference{ID: "ref-2", From: "a", Target: "main", Binding: thread.Frozen, Scope: []string{"x"}, Content: thread.Content{Unresolved: thread.ReasonMissing}}, w.stamp(thread.User))
	require.NoError(t, err)
	w.commit()
	w.both("main", "a")
	assert.Empty(t, w.IndirectBases("main", "a"))
}

func TestSiblingsShareContentFromAThirdThread(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "zoo", "main", "lonely")
	w.child("a", "main", "to-a")
	w.child("b", "main", "to-b")
	w.child("c", "a", "to-c")
	w.both("a", "b")

	thirds := w.IndirectBases("a", "b")
	require.Len(t, thirds, 1)
	assert.Equal(t, thread.ThreadID("main"), thirds[0].ID)
	assert.Equal(t, []string{"to-a"}, manifests(thirds[0].ToA))
	assert.Equal(t, []string{"to-b"}, manifests(thirds[0].ToB))
	assert.Empty(t, thirds[0].FromA)
	assert.Empty(t, thirds[0].FromB)
	swapped := w.IndirectBases("b", "a")
	require.Len(t, swapped, 1)
	assert.Equal(t, []string{"to-b"}, manifests(swapped[0].ToA))
	assert.Equal(t, []string{"to-a"}, manifests(swapped[0].ToB))
	assert.Empty(t, w.IndirectBases("a", "lonely"))
	assert.Empty(t, w.IndirectBases("main", "a"), "neither of the two is a third")
	through := w.IndirectBases("main", "c")
	require.Len(t, through, 1, "a grandchild through the child")
	assert.Equal(t, thread.ThreadID("a"), through[0].ID)
	assert.Equal(t, []string{"to-a"}, manifests(through[0].FromA))
	assert.Equal(t, []string{"to-c"}, manifests(through[0].ToB))

	w.brought("main", share("a", "from-a")) // whichever way it went
	w.tied("ref-1", "b", "zoo")
	_, _, err := w.Refer(thread.NewReference{ID: "ref-2", From: "a", Target: "zoo", Binding: thread.Frozen, Content: thread.Content{Manifest: "m2"}}, w.stamp(thread.User))
	require.NoError(t, err)
	w.commit()
	w.brought("lonely", share("a", "one-side"))
	thirds = w.IndirectBases("a", "b")
	require.Len(t, thirds, 2, "by id, and only those that both had to do with")
	assert.Equal(t, thread.ThreadID("main"), thirds[0].ID)
	assert.Equal(t, []string{"to-a"}, manifests(thirds[0].ToA))
	assert.Equal(t, []string{"from-a"}, manifests(thirds[0].FromA))
	assert.Equal(t, thread.ThreadID("zoo"), thirds[1].ID)
	assert.Equal(t, []string{"m2"}, manifests(thirds[1].ToA))
	assert.Equal(t, []string{"m1"}, manifests(thirds[1].ToB))
}

// A frozen copy is stored next to a thread's artifacts, so the thread does not pass it on.
func TestFrozenContentIsNotPassedOnThroughAThirdThread(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a", "b")
	w.tied("ref-1", "main", "a")
	w.brought("b", share("main", "m2"))
	assert.Empty(t, w.IndirectBases("a", "b"), "main froze of a and gave b its own")
	w.brought("main", share("a", "m3"))
	thirds := w.IndirectBases("a", "b")
	require.Len(t, thirds, 1)
	assert.Equal(t, []string{"m3"}, manifests(thirds[0].FromA), "without what was frozen")
	assert.Equal(t, []string{"m2"}, manifests(thirds[0].ToB))
}

// The caller checks with the revisions whether content passed through the third thread
// in time: IndirectBases returns all of them, newest first.
func TestIndirectBasesAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main")
	w.child("a", "main", "1")
	w.child("b", "main", "2")
	w.brought("a", share("main", "3", "plan.md"))
	w.brought("b", share("main", "4", "plan.md"))
	thirds := w.IndirectBases("a", "b")
	require.Len(t, thirds, 1)
	assert.Equal(t, []string{"3", "1"}, manifests(thirds[0].ToA))
	assert.Equal(t, []string{"4", "2"}, manifests(thirds[0].ToB))
}

func TestAnArchivedThreadIsStillAnIndirectBase(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main")
	w.child("a", "main", "to-a")
	w.child("b", "main", "to-b")
	w.brought("main", share("a", "from-a"))
	w.moved("main", thread.Done, thread.Archive)
	thirds := w.IndirectBases("a", "b")
	require.Len(t, thirds, 1)
	assert.Equal(t, []string{"to-a"}, manifests(thirds[0].ToA))
	assert.Equal(t, []string{"from-a"}, manifests(thirds[0].FromA))
}

// reverted rolls a thread's artifacts back to one of its checkpoints.
func (w *fixture) reverted(id string, to thread.Checkpoint) {
	w.t.Helper()
	_, _, err := w.Checkpoint(thread.NewCheckpoint{ID: thread.CheckpointID(fmt.Sprintf("ckpt-auto%04d", w.Revision)), Thread: id, Manifest: "m", Undo: "list", To: to}, w.stamp(thread.User))
	require.NoError(w.t, err)
	w.commit()
}

func (w *fixture) checkpointed(id string) thread.Checkpoint {
	w.t.Helper()
	c, _, err := w.Checkpoint(thread.NewCheckpoint{ID: thread.CheckpointID(fmt.Sprintf("ckpt-made%04d", w.Revision)), Thread: id, Manifest: "m"}, w.stamp(thread.User))
	require.NoError(w.t, err)
	w.commit()
	return c
}

func TestRevertedContentIsNoBase(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main")
	w.child("a", "main", "to-a")
	w.child("b", "main", "to-b")
	before := w.checkpointed("main")
	w.brought("main", share("a", "from-a"))
	w.brought("b", share("main", "through-main"))
	w.brought("a", share("main", "back-to-a"))
	w.both("main", "a", "back-to-a", "from-a", "to-a")
	require.NotEmpty(t, w.IndirectBases("b", "a")[0].FromB)

	w.reverted("main", before)
	main, err := w.Thread("main")
	require.NoError(t, err)
	require.Equal(t, []thread.RevertedRange{{After: before.At, Until: w.Revision}}, main.Reverted)
	w.both("main", "a", "to-a")
	w.both("main", "b", "to-b")
	thirds := w.IndirectBases("b", "a")
	require.Len(t, thirds, 1)
	assert.Equal(t, []string{"to-a"}, manifests(thirds[0].ToB), "what main gives later does not go on from what it took back")
	assert.Empty(t, thirds[0].FromB, "main took back what a had given it")

	w.brought("main", share("a", "again"))
	w.both("main", "a", "again", "to-a")
	back := main.Checkpoints[len(main.Checkpoints)-1] // what main held before it went back
	w.reverted("main", back)
	w.both("main", "a", "to-a")
	main, err = w.Thread("main")
	require.NoError(t, err)
	w.reverted("main", main.Checkpoints[len(main.Checkpoints)-1]) // without what a had given it
	w.both("main", "a", "to-a")
}

func TestARevertedRangeIsKeptOnlyIfSomethingWasSharedSince(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main")
	w.child("a", "main", "to-a")
	before := w.checkpointed("main")
	w.reverted("main", before)
	main, err := w.Thread("main")
	require.NoError(t, err)
	assert.Empty(t, main.Reverted)
	for range 25 {
		before = w.checkpointed("main")
		w.brought("a", share("main", "refreshed"))
		w.reverted("main", before)
	}
	main, err = w.Thread("main")
	require.NoError(t, err)
	assert.Len(t, main.Reverted, 20)
	w.both("main", "a", "to-a")
}
