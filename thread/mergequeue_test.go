package thread_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

// queued puts a merge of a source into main at the end of its queue.
func (w *fixture) queued(id, source string, at time.Time) thread.Merge {
	w.t.Helper()
	m, err := w.QueueMerge(mergeOf(id, source), thread.Stamp{Time: at, As: thread.Agent, Actor: source})
	require.NoError(w.t, err)
	w.commit()
	return m
}

func mergeOf(id, source string) thread.Merge {
	return thread.Merge{ID: thread.MergeID(id), Target: "main", Sources: []thread.ThreadID{thread.ThreadID(source)}, Strategy: thread.Interactive}
}

func inQueue(w *fixture) (ids []thread.MergeID) {
	for _, m := range w.QueueOf("main") {
		ids = append(ids, m.ID)
	}
	return ids
}

func TestAQueueHasTheOldestFirstAndWhatWasLandingBeforeIt(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a", "b", "c")
	w.queued("merge-3", "a", noon)
	w.queued("merge-2", "b", noon.Add(time.Second))
	w.queued("merge-1", "c", noon.Add(2*time.Second))
	assert.Equal(t, []thread.MergeID{"merge-3", "merge-2", "merge-1"}, inQueue(w))
	require.NoError(t, w.NoPendingMerge("main"), "a queue keeps nobody from the target")

	_, err := w.SetMergeCode("merge-1", thread.MergeCode{Landing: &thread.CodeLanding{Branch: "main"}})
	require.NoError(t, err)
	assert.Equal(t, []thread.MergeID{"merge-1", "merge-3", "merge-2"}, inQueue(w))
	failed(t, w.NoPendingMerge("main"), codes.MergePending, map[string]any{"mergeId": thread.MergeID("merge-1")})
	assert.Empty(t, w.QueueOf("a"))
}

func TestTheSameMergeIsQueuedOnce(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a", "b")
	first := w.queued("merge-1", "a", noon)
	w.RefuseQueued("merge-1", codes.Uncommitted, "files", false, noon)
	w.commit()
	again := w.queued("merge-2", "a", noon.Add(time.Hour))
	assert.Equal(t, first.ID, again.ID)
	assert.Equal(t, first.Queued.At, again.Queued.At, "it keeps its place")
	assert.Nil(t, again.Queued.Refused, "the reason may not hold any more")
	assert.False(t, again.Unchanged(first), "who has read the sources before reads them again")

	other := mergeOf("merge-3", "a")
	other.Strategy = thread.Strict
	_, err := w.QueueMerge(other, thread.Stamp{Time: noon})
	failed(t, err, codes.MergePending, map[string]any{"mergeId": thread.MergeID("merge-1")})
	other.Scope = []string{"plan.md"}
	_, err = w.QueueMerge(other, thread.Stamp{Time: noon})
	require.NoError(t, err, "it brings something else")
	assert.Len(t, w.QueueOf("main"), 2)
}

// What the sources get while git lands their code is not in that landing.
func TestAMergeThatIsLandingIsQueuedAnew(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a")
	w.queued("merge-1", "a", noon)
	_, err := w.SetMergeCode("merge-1", thread.MergeCode{Landing: &thread.CodeLanding{Branch: "main"}})
	require.NoError(t, err)
	again := w.queued("merge-2", "a", noon.Add(time.Second))
	assert.Equal(t, thread.MergeID("merge-2"), again.ID)
	assert.Equal(t, []thread.MergeID{"merge-1", "merge-2"}, inQueue(w))
}

func TestTheReasonWhyAMergeStaysQueuedIsRecordedOnce(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "a")
	w.queued("merge-1", "a", noon)
	refuse := func(landed bool) thread.Merge {
		w.RefuseQueued("merge-1", codes.LandingBlocked, "files are in the way", landed, noon)
		m, err := w.Merge("merge-1")
		require.NoError(t, err)
		return m
	}
	assert.Equal(t, codes.LandingBlocked, refuse(false).Queued.Refused.Code)
	w.commit()
	refuse(false)
	assert.Empty(t, w.Changes(), "nothing is new")

	_, err := w.SetMergeCode("merge-1", thread.MergeCode{Squash: true, Landing: &thread.CodeLanding{Branch: "main"}})
	require.NoError(t, err)
	w.commit()
	assert.True(t, refuse(true).Landing(), "it has landed, and is to be finished")
	m := refuse(false)
	assert.False(t, m.Landing(), "git has refused to land it")
	assert.True(t, m.Code.Squash)

	w.RefuseQueued("merge-nobody", codes.LandingBlocked, "gone", false, noon)
	_, err = w.BeginMerge(mergeOf("merge-own", "a"), thread.Stamp{Time: noon})
	require.NoError(t, err)
	w.commit()
	w.RefuseQueued("merge-own", codes.LandingBlocked, "not queued", false, noon)
	assert.Empty(t, w.Changes())
}
