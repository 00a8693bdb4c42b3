package thread_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

// coding gives threads code, each with a branch of its id.
func (w *fixture) coding(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		was := w.get(id)
		branch, stamp := id, w.stamp(thread.User)
		_, err := w.Edit(id, thread.Edit{Branch: &branch, Worktree: new("../" + id)}, stamp)
		require.NoError(w.t, err)
		_, err = w.Rehome(was, w.get(id), &thread.Code{State: thread.CodeReady, Repo: "/r", Start: "0"}, stamp)
		require.NoError(w.t, err)
		w.commit()
	}
}

// overlap is NoteOverlap as an operation.
func (w *fixture) overlap(own, other string, paths ...string) (fresh bool) {
	w.t.Helper()
	fresh = w.NoteOverlap(thread.ThreadID(own), thread.ThreadID(other), paths)
	w.commit()
	return fresh
}

func TestAPairIsToldOfEachConflictOnceWhicheverSideLooks(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a", "b", "notes")
	w.coding("a", "b")
	before := w.get("a")
	assert.True(t, w.overlap("a", "b", "x"))
	assert.Equal(t, before, w.get("a"), "the thread that looks is not changed")
	assert.False(t, w.overlap("a", "b", "x"))
	assert.False(t, w.overlap("b", "a", "x"))
	assert.True(t, w.overlap("b", "a", "x", "y"), "y is new")
	assert.False(t, w.overlap("a", "b", "y"))
	assert.False(t, w.overlap("a", "b", "x"), "it was gone and is there again")
	assert.True(t, w.overlap("a", "b", "\xff"))
	assert.False(t, w.overlap("a", "b", "\xff"), "a record keeps it as text")
	assert.False(t, w.overlap("a", "notes", "x"), "it owns no code")
	assert.False(t, w.overlap("a", "gone", "x"))
	assert.Equal(t, []thread.Overlap{{With: "b", Paths: []string{"y"}}}, w.get("a").OwnedCode().Overlaps)
	assert.Equal(t, []thread.Overlap{{With: "a", Paths: []string{"x", "\uFFFD"}}}, w.get("b").OwnedCode().Overlaps)
}

func TestWhatIsRememberedOfConflictsIsBounded(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a", "b")
	w.coding("a", "b")
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint("path", i))
	}
	assert.True(t, w.overlap("a", "b", many...))
	assert.False(t, w.overlap("a", "b", "another"), "they know that nearly everything conflicts")
	assert.Len(t, w.get("b").OwnedCode().Overlaps[0].Paths, 20)
	for i := range 60 {
		id := fmt.Sprint("more", i)
		w.threads(id)
		w.coding(id)
		assert.True(t, w.overlap(id, "b", "x"))
	}
	assert.Len(t, w.get("b").OwnedCode().Overlaps, 50)
	assert.True(t, w.overlap("a", "b", "x"), "the oldest is forgotten")
}

func TestAMergeOfCodeIsUndoneAlsoIfItsSourceWasToldOfAConflictSince(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a", "b")
	w.coding("a", "b")
	landing := thread.CodeLanding{New: "2", Sources: []thread.CodeLandingSource{{ThreadID: "b", Tip: "1"}}}
	op := w.did(thread.User, "merge", func(stamp thread.Stamp) error {
		return w.RecordLanding(thread.Merge{Target: "a"}, landing, "merge", stamp)
	})
	require.True(t, w.overlap("a", "b", "x"))
	_, undo := w.undone(thread.User, op)
	assert.Empty(t, w.get("b").OwnedCode().Landed)
	assert.False(t, w.overlap("a", "b", "x"), "what was told stays told")
	w.undone(thread.User, undo)
	assert.True(t, w.get("b").OwnedCode().LandedAt("1"))
	assert.Len(t, w.get("b").OwnedCode().Overlaps, 1)
}
