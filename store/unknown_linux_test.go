package store_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/teststore"
	"leslie/thread"
	"leslie/warnings"
)

// This file takes the right to look at a place away: what stands there is then
// unknown, and unknown is neither there nor gone.

// giveAway makes everything of a store nobody's, whom permissions bind.
func giveAway(t *testing.T, s *store.Store) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	require.NoError(t, filepath.WalkDir(s.Root(), func(name string, _ fs.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Lchown(name, 65534, 65534)
	}))
}

// unsearchable closes a folder until the test's end, and gives back what opens it.
func unsearchable(t *testing.T, dir string) (open func()) {
	t.Helper()
	require.NoError(t, os.Chmod(dir, 0o600))
	open = func() { _ = os.Chmod(dir, 0o755) }
	t.Cleanup(open)
	return open
}

func TestStepsThatCannotBeLookedAtAreNotTakenForDone(t *testing.T) {
	t.Parallel()
	for name, sc := range map[string]scenario{
		"placed":    {prepare: prepareHalfPlaced, after: afterHalfPlaced},
		"exchanged": {prepare: prepareHalfExchanged, after: func(t testing.TB, s *store.Store, _ bool) { afterExchange(t, s, true) }},
	} {
		s := sc.prepared(t)
		giveAway(t, s)
		open := unsearchable(t, s.Path(store.TmpDir))
		teststore.AsNobody(t, s, func() {
			_, err := s.Update(context.Background(), teststore.CallNamed("obj-early"), teststore.Create("obj-early"))
			assert.True(t, codes.Has(err, codes.ReadFailed), "%s: %v", name, err)
			view, err := s.View(context.Background(), func(*thread.State) error { return nil })
			assert.NoError(t, err)
			assert.NotEmpty(t, view.Undone, "%s: a reader is told", name)
		})
		open()
		teststore.AsNobody(t, s, func() {
			_, err := s.Update(context.Background(), teststore.CallNamed("obj-then"), teststore.Create("obj-then"))
			assert.NoError(t, err, name)
		})
		sc.after(t, s, true)
	}
}

func TestWhatWasDisplacedAndCannotBeReadIsMovedAsideAndBlocksNobody(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.PrepareThread(t, s)
	teststore.Put(t, s, "threads/thread-old/closed/x.md", []byte("precious"))
	giveAway(t, s)
	unsearchable(t, s.Path("threads/thread-old/closed"))
	write := func(id thread.ObjectiveID, steps ...thread.Step) (c store.Commit) {
		teststore.AsNobody(t, s, func() {
			var err error
			c, err = s.Update(context.Background(), teststore.CallNamed(string(id)), func(st *thread.State) (store.Outcome, error) {
				st.Plan(steps...)
				return teststore.Create(string(id))(st)
			})
			assert.NoError(t, err, "%s", id)
		})
		return c
	}
	c := write("obj-a", thread.Step{Do: thread.StepRemove, To: "threads/thread-old/closed"})
	assert.True(t, teststore.HasWarning(c.Warnings, warnings.NotSettled), "it is told at once")
	c = write("obj-b")
	require.True(t, teststore.HasWarning(c.Warnings, warnings.NotSettled))
	assert.Contains(t, c.Warnings[0].Message, "displaced.set-aside-", "who mends it is told where it is")
	assert.Empty(t, write("obj-c").Warnings, "and once")

	aside, err := filepath.Glob(s.Path("displaced" + saferoot.AsideMark + "*"))
	require.NoError(t, err)
	require.Len(t, aside, 1)
	require.NoError(t, os.Chmod(filepath.Join(aside[0], "0"), 0o755))
	text, err := os.ReadFile(filepath.Join(aside[0], "0", "x.md"))
	require.NoError(t, err)
	assert.Equal(t, "precious", string(text), "nothing was deleted that is no blob")
	teststore.RequireTidy(t, s)
	requireNoGap(t, s)
}

func TestAFileThatCannotBeReadIsNotTakenForChanged(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.PrepareThread(t, s)
	teststore.Put(t, s, "threads/thread-old/design/a.md", []byte("a"))
	giveAway(t, s)
	unsearchable(t, s.Path("threads/thread-old/design"))
	teststore.AsNobody(t, s, func() {
		moved, err := s.Unmoved("thread-old", map[string]thread.BlobID{"design/a.md": thread.BlobID(strings.Repeat("0", 64))})
		assert.True(t, codes.Has(err, codes.ReadFailed), "%v %v", moved, err)
	})
}

func TestAThreadThatCannotBeLookedAtIsNotMissing(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.PrepareThread(t, s)
	there, err := s.HasThread("thread-old")
	require.NoError(t, err)
	require.True(t, there)
	there, err = s.HasThread("thread-none")
	require.NoError(t, err)
	require.False(t, there)
	giveAway(t, s)
	unsearchable(t, s.Path(store.ThreadsDir))
	teststore.AsNobody(t, s, func() {
		_, err := s.HasThread("thread-old")
		assert.True(t, codes.Has(err, codes.ReadFailed), "%v", err)
	})
}
