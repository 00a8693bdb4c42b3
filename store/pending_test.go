package store_test

import (
	"context"
	"os"
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

func TestAReaderIsToldWhatIsNotInPlaceYet(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	prepareHalfPlaced(t, s)
	_, view, err := teststore.Seen(s)
	require.NoError(t, err)
	var undone []string
	for _, step := range view.Undone {
		undone = append(undone, string(step.Do)+" "+step.To)
	}
	assert.Equal(t, []string{
		"mkdir threads/thread-old/discuss", "place threads/thread-old/plan.md",
		"place threads/thread-old/design", "remove threads/thread-old/gone.md",
	}, undone)
	teststore.Add(t, s, "obj-next")
	_, view, err = teststore.Seen(s)
	require.NoError(t, err)
	assert.Empty(t, view.Undone)
	afterPlace(t, s, true)
}

func TestWorkThatCannotBeSeenThroughIsNotDropped(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	prepareHalfPlaced(t, s)
	before := teststore.Read(t, s, store.StateFile)
	broken := teststore.With(s, store.Options{Before: func(a store.Action, path string) error {
		if a == store.ActRename && path == s.Path("threads/thread-old/design") {
			return syscall.EIO
		}
		return nil
	}})
	_, err := broken.Update(context.Background(), teststore.CallNamed("x"), teststore.Create("x"))
	teststore.RequireCode(t, codes.WriteFailed, err)
	assert.Equal(t, before, teststore.Read(t, s, store.StateFile))
	teststore.Add(t, s, "obj-next")
	afterPlace(t, s, true)
}

func TestWhatIsMadeAnewBehindARemovalStays(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	teststore.PrepareFiles(t, s)
	require.NoError(t, teststore.RunPlace(s.Root(), teststore.OptionsOf(s)))
	teststore.Put(t, s, "threads/thread-old/gone.md", []byte("made anew"))
	teststore.Put(t, s, "threads/thread-old/plan.md", []byte("written on"))
	teststore.Add(t, s, "obj-next") // finds the steps in the state, all done
	assert.Equal(t, "made anew", string(teststore.Read(t, s, "threads/thread-old/gone.md")))
	assert.Equal(t, "written on", string(teststore.Read(t, s, "threads/thread-old/plan.md")))
}

// What the last operation placed is owed to the disk by the next write, and anybody
// may have taken it away by then, with the folders it lies in.
func TestAPlaceThatWasTakenAwaySinceIsInNoWritersWay(t *testing.T) {
	t.Parallel()
	for _, gone := range []string{"merges/merge-a", "merges", "threads"} {
		for _, by := range []string{"nothing", "a file"} {
			s := teststore.New(t, store.Options{})
			st := stageFor(t, s)
			require.NoError(t, st.Write("work/plan.md", []byte("<<<<<<<"), false))
			require.NoError(t, st.Write("plan.md", []byte("plan"), false))
			require.NoError(t, st.Sync())
			place := func(from, to string) thread.Step {
				return thread.Step{Do: thread.StepPlace, From: st.Rel(from), To: to}
			}
			_, err := s.Update(context.Background(), teststore.CallNamed("op-1"), func(state *thread.State) (store.Outcome, error) {
				state.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/thread-a"})
				state.Plan(place("work", "merges/merge-a/work"), place("plan.md", "threads/thread-a/deep/plan.md"))
				return store.Outcome{}, nil
			})
			require.NoError(t, err)
			require.NoError(t, os.RemoveAll(s.Path(gone)))
			if by == "a file" {
				teststore.Put(t, s, gone, nil)
			}
			teststore.Add(t, s, "obj-next")
			teststore.RequireHolds(t, s, []string{"obj-next"}, false)
		}
	}
}

func TestStepsStayWhereStepsBelong(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, "obj-a")
	before := teststore.Listing(t, s)
	for _, step := range []thread.Step{
		{Do: thread.StepMakeDir, To: "threads"},
		{Do: thread.StepMakeDir, To: "../x"},
		{Do: thread.StepMakeDir, To: "threads/../../x"},
		{Do: thread.StepMakeDir, To: "/threads/x"},
		{Do: thread.StepRemove, To: store.StateFile},
		{Do: thread.StepPlace, To: "threads/a"},
		{Do: thread.StepPlace, To: "threads/a", From: "tmp/x"},
		{Do: thread.StepPlace, To: "threads/a", From: "threads/b/c"},
		{Do: "chmod", To: "threads/a"},
	} {
		_, err := s.Update(context.Background(), teststore.CallNamed("x"), func(st *thread.State) (store.Outcome, error) {
			st.Plan(step)
			return store.Outcome{}, nil
		})
		teststore.RequireCode(t, codes.Internal, err)
		assert.Equal(t, before, teststore.Listing(t, s), "%+v", step)
	}
}

func TestALinkInTheWayIsNotFollowedOut(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	outside := t.TempDir()
	require.NoError(t, os.Symlink(outside, s.Path("threads/evil")))
	c, err := s.Update(context.Background(), teststore.CallNamed("x"), func(st *thread.State) (store.Outcome, error) {
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/evil/inside"})
		return store.Outcome{}, nil
	})
	require.NoError(t, err)
	assert.True(t, teststore.HasWarning(c.Warnings, warnings.FilesPending))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestAnOperationThatPlacesWhatNobodyStagedIsNotCommitted(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	before := teststore.Listing(t, s)
	_, err := s.Update(context.Background(), teststore.CallNamed("obj-a"), func(st *thread.State) (store.Outcome, error) {
		st.Plan(thread.Step{Do: thread.StepPlace, From: store.TmpDir + "/op-x/gone", To: store.ThreadsDir + "/x"})
		return teststore.Create("obj-a")(st)
	})
	teststore.RequireCode(t, codes.Internal, err)
	assert.Equal(t, before, teststore.Listing(t, s))
}

// What stands where a folder has to go is left as it is, and keeps nobody from
// writing.
func TestAStepThatFindsItsPlaceTakenIsDone(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	require.NoError(t, os.MkdirAll(s.Path(store.ThreadsDir), 0o755))
	teststore.Put(t, s, store.ThreadsDir+"/thread-x", []byte("somebody's\n"))
	c, err := s.Update(context.Background(), teststore.CallNamed("x"), makingThread("thread-x"))
	require.NoError(t, err)
	assert.Empty(t, c.Warnings)
	teststore.Add(t, s, "obj-b")
	assert.Equal(t, "somebody's\n", string(teststore.Read(t, s, store.ThreadsDir+"/thread-x")))
	_, view, err := teststore.Seen(s)
	require.NoError(t, err)
	assert.Empty(t, view.Warnings)
}
