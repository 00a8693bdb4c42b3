package store

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
	"leslie/warnings"
)

func TestAReaderIsToldWhatIsNotInPlaceYet(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, names(2)...)
	prepareHalfPlaced(t, s)
	_, view, err := seen(s)
	require.NoError(t, err)
	var undone []string
	for _, step := range view.Undone {
		undone = append(undone, string(step.Do)+" "+step.To)
	}
	assert.Equal(t, []string{
		"mkdir threads/thread-old/discuss", "place threads/thread-old/plan.md",
		"place threads/thread-old/design", "remove threads/thread-old/gone.md",
	}, undone)
	add(t, s, "obj-next")
	_, view, err = seen(s)
	require.NoError(t, err)
	assert.Empty(t, view.Undone)
	afterPlace(t, s, true)
}

func TestWorkThatCannotBeSeenThroughIsNotDropped(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, names(2)...)
	prepareHalfPlaced(t, s)
	before := read(t, s, StateFile)
	broken := with(s, Options{Before: func(a Action, path string) error {
		if a == ActRename && path == s.Path("threads/thread-old/design") {
			return syscall.EIO
		}
		return nil
	}})
	_, err := broken.Update(context.Background(), callNamed("x"), create("x"))
	requireCode(t, codes.WriteFailed, err)
	assert.Equal(t, before, read(t, s, StateFile))
	add(t, s, "obj-next")
	afterPlace(t, s, true)
}

func TestWhatIsMadeAnewBehindARemovalStays(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, names(2)...)
	prepareFiles(t, s)
	require.NoError(t, runPlace(s.Root(), s.opts))
	put(t, s, "threads/thread-old/gone.md", []byte("made anew"))
	put(t, s, "threads/thread-old/plan.md", []byte("written on"))
	add(t, s, "obj-next") // finds the steps in the state, all done
	assert.Equal(t, "made anew", string(read(t, s, "threads/thread-old/gone.md")))
	assert.Equal(t, "written on", string(read(t, s, "threads/thread-old/plan.md")))
}

// What the last operation placed is owed to the disk by the next write, and anybody
// may have taken it away by then, with the folders it lies in.
func TestAPlaceThatWasTakenAwaySinceIsInNoWritersWay(t *testing.T) {
	t.Parallel()
	for _, gone := range []string{"merges/merge-a", "merges", "threads"} {
		for _, by := range []string{"nothing", "a file"} {
			s := newStore(t, Options{})
			st := stageFor(t, s)
			require.NoError(t, st.Write("work/plan.md", []byte("<<<<<<<"), false))
			require.NoError(t, st.Write("plan.md", []byte("plan"), false))
			require.NoError(t, st.Sync())
			place := func(from, to string) thread.Step {
				return thread.Step{Do: thread.StepPlace, From: st.Rel(from), To: to}
			}
			_, err := s.Update(context.Background(), callNamed("op-1"), func(state *thread.State) (Outcome, error) {
				state.Plan(place("work", "merges/merge-a/work"), place("plan.md", "threads/thread-a/deep/plan.md"))
				return Outcome{}, nil
			})
			require.NoError(t, err)
			require.NoError(t, os.RemoveAll(s.Path(gone)))
			if by == "a file" {
				put(t, s, gone, nil)
			}
			add(t, s, "obj-next")
			requireHolds(t, s, []string{"obj-next"}, false)
		}
	}
}

func TestStepsStayWhereStepsBelong(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, "obj-a")
	before := listing(t, s)
	for _, step := range []thread.Step{
		{Do: thread.StepMakeDir, To: "threads"},
		{Do: thread.StepMakeDir, To: "../x"},
		{Do: thread.StepMakeDir, To: "threads/../../x"},
		{Do: thread.StepMakeDir, To: "/threads/x"},
		{Do: thread.StepRemove, To: StateFile},
		{Do: thread.StepPlace, To: "threads/a"},
		{Do: thread.StepPlace, To: "threads/a", From: "tmp/x"},
		{Do: thread.StepPlace, To: "threads/a", From: "threads/b/c"},
		{Do: "chmod", To: "threads/a"},
	} {
		_, err := s.Update(context.Background(), callNamed("x"), func(st *thread.State) (Outcome, error) {
			st.Plan(step)
			return Outcome{}, nil
		})
		requireCode(t, codes.Internal, err)
		assert.Equal(t, before, listing(t, s), "%+v", step)
	}
}

func TestALinkInTheWayIsNotFollowedOut(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	outside := t.TempDir()
	require.NoError(t, os.Symlink(outside, s.Path("threads/evil")))
	c, err := s.Update(context.Background(), callNamed("x"), func(st *thread.State) (Outcome, error) {
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/evil/inside"})
		return Outcome{}, nil
	})
	require.NoError(t, err)
	assert.True(t, hasWarning(c.Warnings, warnings.FilesPending))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestAnOperationThatPlacesWhatNobodyStagedIsNotCommitted(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	before := listing(t, s)
	_, err := s.Update(context.Background(), callNamed("obj-a"), func(st *thread.State) (Outcome, error) {
		st.Plan(thread.Step{Do: thread.StepPlace, From: TmpDir + "/op-x/gone", To: ThreadsDir + "/x"})
		return create("obj-a")(st)
	})
	requireCode(t, codes.Internal, err)
	assert.Equal(t, before, listing(t, s))
}

// What stands where a folder has to go is left as it is, and keeps nobody from
// writing.
func TestAStepThatFindsItsPlaceTakenIsDone(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	require.NoError(t, os.MkdirAll(s.Path(ThreadsDir), 0o755))
	put(t, s, ThreadsDir+"/thread-x", []byte("somebody's\n"))
	c, err := s.Update(context.Background(), callNamed("x"), makingThread("thread-x"))
	require.NoError(t, err)
	assert.Empty(t, c.Warnings)
	add(t, s, "obj-b")
	assert.Equal(t, "somebody's\n", string(read(t, s, ThreadsDir+"/thread-x")))
	_, view, err := seen(s)
	require.NoError(t, err)
	assert.Empty(t, view.Warnings)
}
