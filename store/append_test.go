package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/teststore"
	"leslie/thread"
	"leslie/warnings"
)

const (
	noted    = "threads/thread-old/.meta/injections.jsonl"
	notedOld = "{\"content\":\"old\"}\n{\"content\":\"torn" // as a power cut leaves it
	newLine  = `{"content":"new, with a \n in it"}`
)

func prepareNoted(t testing.TB, s *store.Store) {
	teststore.PrepareThread(t, s)
	require.NoError(t, os.Mkdir(s.Path("threads/thread-old/.meta"), 0o755))
	teststore.Put(t, s, noted, []byte(notedOld))
}

func runNote(dir string, opts store.Options) error { return noting(dir, opts, "obj-new", newLine) }

func noting(dir string, opts store.Options, objective, line string) error {
	_, err := teststore.RunWith(dir, opts, teststore.CallNamed("note"), func(st *thread.State) (store.Outcome, error) {
		st.Plan(thread.Step{Do: thread.StepAppend, To: noted, Line: line})
		return teststore.Create(objective)(st)
	})
	return err
}

// afterNote checks the file whose text was old before.
func afterNote(old string) func(testing.TB, *store.Store, bool) {
	return func(t testing.TB, s *store.Store, whole bool) {
		want := old
		if whole && old != "" {
			want += "\n"
		}
		if whole {
			want += newLine + "\n"
		}
		raw, err := os.ReadFile(s.Path(noted))
		if !whole && old == "" {
			require.ErrorIs(t, err, os.ErrNotExist)
			return
		}
		require.NoError(t, err)
		assert.Equal(t, want, string(raw))
	}
}

// prepareHalfNoted leaves the note as a kill behind the rename does.
func prepareHalfNoted(t testing.TB, s *store.Store) {
	prepareNoted(t, s)
	committed := false
	opts := store.Options{Now: teststore.Clock, Before: func(a store.Action, path string) error {
		if committed {
			return syscall.EIO
		}
		committed = a == store.ActRename && path == s.Path(store.StateFile)
		return nil
	}}
	require.ErrorIs(t, noting(s.Root(), opts, "obj-half", newLine), teststore.ErrUnsettled)
}

func TestALineIsAddedOnceWhateverADeadWriterLeft(t *testing.T) {
	t.Parallel()
	whole := "{\"content\":\"old\"}\n" + newLine + "\n"
	for cut := len("{\"content\":\"old\"}\n"); cut <= len(whole); cut++ {
		s := teststore.New(t, store.Options{})
		prepareHalfNoted(t, s)
		teststore.Put(t, s, noted, []byte(whole[:cut]))
		teststore.Add(t, s, "obj-then")
		lines := strings.Split(strings.TrimSuffix(string(teststore.Read(t, s, noted)), "\n"), "\n")
		n := 0
		for _, line := range lines {
			if line == newLine {
				n++
			}
		}
		require.Equal(t, 1, n, "the writer died at byte %d: %q", cut, lines)
		require.Equal(t, newLine, lines[len(lines)-1])
		require.LessOrEqual(t, len(lines), 3, "%q", lines)
	}
}

// What a line can never be added to is told before anything is committed: a step
// that can never be done would stand in every later writer's way.
func TestAFileThatCannotTakeALineIsToldBeforeTheCommit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		code codes.Code
		make func(t *testing.T, s *store.Store, outside string) error
	}{
		"a folder in its place": {codes.WriteFailed, func(_ *testing.T, s *store.Store, _ string) error { return os.MkdirAll(s.Path(noted), 0o755) }},
		"a link in its place": {codes.WriteFailed, func(t *testing.T, s *store.Store, outside string) error {
			require.NoError(t, os.MkdirAll(filepath.Dir(s.Path(noted)), 0o755))
			return os.Symlink(filepath.Join(outside, "f"), s.Path(noted))
		}},
		"a link inside, in its place": {codes.WriteFailed, func(t *testing.T, s *store.Store, _ string) error {
			teststore.Put(t, s, "threads/thread-old/plan.md", []byte("the plan\n"))
			require.NoError(t, os.MkdirAll(filepath.Dir(s.Path(noted)), 0o755))
			return os.Symlink("../plan.md", s.Path(noted))
		}},
		"a link for its folder": {codes.UnsafePath, func(_ *testing.T, s *store.Store, outside string) error {
			return os.Symlink(outside, filepath.Dir(s.Path(noted)))
		}},
		"a file for its folder": {codes.WriteFailed, func(_ *testing.T, s *store.Store, _ string) error {
			return os.WriteFile(filepath.Dir(s.Path(noted)), nil, 0o600)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, outside := teststore.New(t, store.Options{}), t.TempDir()
			teststore.Add(t, s, teststore.Names(2)...)
			teststore.PrepareThread(t, s)
			require.NoError(t, tt.make(t, s, outside))
			before := teststore.Listing(t, s)
			err := runNote(s.Root(), store.Options{Now: teststore.Clock})
			teststore.RequireCode(t, tt.code, err)
			assert.Contains(t, err.Error(), ".leslie/threads/thread-old/.meta")
			assert.Equal(t, before, teststore.Listing(t, s))
			entries, err := os.ReadDir(outside)
			require.NoError(t, err)
			assert.Empty(t, entries)
			teststore.Add(t, s, "obj-then")
		})
	}
}

func TestALineIsNotAddedThroughALinkThatComesLate(t *testing.T) {
	t.Parallel()
	s, outside := teststore.New(t, store.Options{}), t.TempDir()
	teststore.Add(t, s, teststore.Names(2)...)
	prepareNoted(t, s)
	target := filepath.Join(outside, "f")
	require.NoError(t, os.WriteFile(target, []byte("theirs"), 0o600))
	opts := store.Options{Now: teststore.Clock, Before: func(a store.Action, path string) error {
		if a == store.ActRename && path == s.Path(store.StateFile) {
			require.NoError(t, os.Remove(s.Path(noted)))
			require.NoError(t, os.Symlink(target, s.Path(noted)))
		}
		return nil
	}}
	require.ErrorIs(t, runNote(s.Root(), opts), teststore.ErrUnsettled)
	raw, err := os.ReadFile(target)
	require.NoError(t, err)
	assert.Equal(t, "theirs", string(raw))

	teststore.Add(t, s, "obj-between")
	raw, err = os.ReadFile(target)
	require.NoError(t, err)
	assert.Equal(t, "theirs", string(raw), "who writes something else is not held up, and writes through nothing")
	require.NoError(t, os.Remove(s.Path(noted)))
	teststore.Add(t, s, "obj-then")
	assert.Equal(t, newLine+"\n", string(teststore.Read(t, s, noted)), "out of the way, it is added by the next writer")
}

// The writer may have died between its write and its fsync.
func TestALineThatIsFoundIsPutOnDisk(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	prepareHalfNoted(t, s)
	teststore.Put(t, s, noted, []byte(newLine+"\n"))
	synced := false
	opts := store.Options{Now: teststore.Clock, Before: func(a store.Action, path string) error {
		synced = synced || a == store.ActSync && path == s.Path(noted)
		return nil
	}}
	require.NoError(t, runPlain(s.Root(), opts))
	assert.True(t, synced)
}

func TestAnAppendStaysInAThreadAndIsOneLine(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, "obj-a")
	before := teststore.Listing(t, s)
	for _, step := range []thread.Step{
		{Do: thread.StepAppend, To: noted},
		{Do: thread.StepAppend, To: noted, Line: "two\nlines"},
		{Do: thread.StepAppend, To: noted, Line: "two\rlines"},
		{Do: thread.StepAppend, To: noted, Line: "x", From: "tmp/op/x"},
		{Do: thread.StepAppend, To: "threads/x", Line: "x"},
		{Do: thread.StepAppend, To: "threads/../x/y", Line: "x"},
		{Do: thread.StepAppend, To: "threads/x/../../" + store.JournalFile, Line: "x"},
		{Do: thread.StepAppend, To: store.JournalFile, Line: "x"},
		{Do: thread.StepAppend, To: "merges/m/x", Line: "x"},
		{Do: thread.StepAppend, To: "/threads/x/y", Line: "x"},
	} {
		_, err := s.Update(context.Background(), teststore.CallNamed("x"), func(st *thread.State) (store.Outcome, error) {
			st.Plan(step)
			return store.Outcome{}, nil
		})
		teststore.RequireCode(t, codes.Internal, err)
		assert.Equal(t, before, teststore.Listing(t, s), "%+v", step)
	}
}

func TestSeveralLinesOfOneOperationComeInOrder(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	c, err := s.Update(context.Background(), teststore.CallNamed("x"), func(st *thread.State) (store.Outcome, error) {
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/thread-old"})
		for _, line := range []string{"a", "b", "a", "c"} {
			st.Plan(thread.Step{Do: thread.StepAppend, To: noted, Line: line})
		}
		return teststore.Create("obj-a")(st)
	})
	require.NoError(t, err)
	assert.False(t, teststore.HasWarning(c.Warnings, warnings.NotSettled))
	assert.Equal(t, "a\nb\nc\n", string(teststore.Read(t, s, noted)), "a line that is there is there")
	_, view, err := teststore.Seen(s)
	require.NoError(t, err)
	assert.Empty(t, view.Undone)
}
