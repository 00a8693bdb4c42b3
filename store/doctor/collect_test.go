package doctor

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/internal/content"
	"leslie/store/internal/storetest"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

// littered is a store in which two plans were given up: nothing names their blobs. One
// record names a blob, and a list in it another.
func littered(t testing.TB) (s *store.Store, named, unnamed []thread.BlobID) {
	t.Helper()
	s = teststore.ExchangeStore(t)
	put := func(st *store.Stage, text string) thread.BlobID {
		id, err := st.Put([]byte(text))
		require.NoError(t, err)
		return id
	}
	stage, err := s.Stage("op-keeps")
	require.NoError(t, err)
	content := put(stage, "named by a list")
	list := put(stage, `[{"path":"a","before":"`+string(content)+`","after":""}]`)
	require.NoError(t, stage.Sync())
	call := teststore.CallNamed("keeps")
	_, err = s.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
		th, _ := st.Threads.Get("thread-old")
		th.Shared = append(th.Shared, thread.Share{With: "thread-old", How: "merge", At: st.Revision + 1, Undo: list})
		st.Threads.Put(th)
		return store.Outcome{Thread: th.ID}, nil
	})
	require.NoError(t, err)
	require.NoError(t, stage.Close())
	for _, op := range []thread.OperationID{"op-given-up", "op-died"} {
		stage, err := s.Stage(op)
		require.NoError(t, err)
		unnamed = append(unnamed, put(stage, strings.Repeat(string(op), 1000)))
		require.NoError(t, stage.Sync())
		require.NoError(t, stage.Discard())
	}
	return s, []thread.BlobID{content, list}, unnamed
}

func readableBlobs(s *store.Store, all []thread.BlobID) (n int) {
	for _, id := range all {
		if _, err := s.Blob(id); err == nil {
			n++
		}
	}
	return n
}

func TestRepairRemovesBlobsThatNothingNames(t *testing.T) {
	t.Parallel()
	s, named, unnamed := littered(t)
	r, err := Doctor{Store: s}.Repair(context.Background(), teststore.RepairCall())
	require.NoError(t, err)
	assert.Contains(t, r.Actions, "removed 2 blobs that nothing names (0.0 MB)")
	assert.True(t, r.After.Healthy, "%v", r.After.Findings)
	assert.Equal(t, 2, readableBlobs(s, named))
	assert.Zero(t, readableBlobs(s, unnamed))
	r, err = Doctor{Store: s}.Repair(context.Background(), teststore.RepairCall())
	require.NoError(t, err)
	assert.Empty(t, r.Actions)
	teststore.RequireTidy(t, s)
}

// What a record of the past names may be needed to undo it, or to look at it.
func TestWhatAnyOperationNamesIsKept(t *testing.T) {
	t.Parallel()
	s, named, _ := littered(t)
	_, err := s.Update(context.Background(), teststore.CallNamed("forgets"), func(st *thread.State) (store.Outcome, error) {
		th, _ := st.Threads.Get("thread-old")
		th.Shared = nil
		st.Threads.Put(th)
		return store.Outcome{}, nil
	})
	require.NoError(t, err)
	teststore.Add(t, s, teststore.Names(6)[2:]...)
	_, err = Doctor{Store: s}.Repair(context.Background(), teststore.RepairCall())
	require.NoError(t, err)
	assert.Equal(t, 2, readableBlobs(s, named))
}

func TestNothingIsCollectedWhileSomebodyStages(t *testing.T) {
	t.Parallel()
	s, _, unnamed := littered(t)
	stage, err := s.Stage("op-lives")
	require.NoError(t, err)
	r, err := Doctor{Store: s}.Repair(context.Background(), teststore.RepairCall())
	require.NoError(t, err)
	assert.Empty(t, r.Actions)
	assert.Equal(t, 2, readableBlobs(s, unnamed))
	require.NoError(t, stage.Discard())
}

// A process begins to stage while blobs are being moved away, and relies on one that is
// there still.
func TestAStageThatBeginsMeanwhileKeepsItsBlobs(t *testing.T) {
	t.Parallel()
	s, _, unnamed := littered(t)
	var stage *store.Stage
	opts := store.Options{Now: teststore.Clock, Before: func(a store.Action, at string) error {
		if a == store.ActRename && stage == nil && strings.HasPrefix(at, s.Path(store.TmpDir+"/"+content.Collected)) {
			var err error
			stage, err = s.Stage("op-late")
			assert.NoError(t, err)
			for _, op := range []string{"op-given-up", "op-died"} {
				_, err = stage.Put([]byte(strings.Repeat(op, 1000)))
				assert.NoError(t, err)
			}
			assert.NoError(t, stage.Sync())
		}
		return nil
	}}
	r, err := Doctor{Store: teststore.With(s, opts)}.Repair(context.Background(), teststore.RepairCall())
	require.NoError(t, err)
	require.NotNil(t, stage)
	assert.Empty(t, r.Actions)
	assert.Equal(t, 2, readableBlobs(s, unnamed), "it finds what it relied on")
	require.NoError(t, stage.Discard())
	teststore.RequireTidy(t, s)
}

func TestACollectionThatIsCutOffLosesNothingThatIsNamed(t *testing.T) {
	t.Parallel()
	for cut := 1; ; cut++ {
		s, named, unnamed := littered(t)
		n := 0
		opts := store.Options{Now: teststore.Clock, Before: func(store.Action, string) error {
			if n++; n >= cut {
				return syscall.EIO
			}
			return nil
		}}
		_, err := Doctor{Store: teststore.With(s, opts)}.Repair(context.Background(), teststore.RepairCall())
		assert.Equal(t, 2, readableBlobs(s, named), "cut off at %d", cut)
		teststore.Add(t, s, "obj-next")
		all := readableBlobs(s, unnamed)
		assert.True(t, all == 0 || all == 2, "cut off at %d: %d", cut, all)
		teststore.RequireTidy(t, s)
		if err == nil && n < cut {
			require.Greater(t, cut, 4)
			return
		}
	}
}

// What an operation displaced and no list of its own names was somebody's.
func TestWhatWasDisplacedIsKept(t *testing.T) {
	t.Parallel()
	s := teststore.ExchangeStore(t)
	teststore.Save(t, s, map[string]string{"deep/a.md": "somebody's", "plan.md": "old"})
	_, err := s.Update(context.Background(), teststore.CallNamed("removes"), func(st *thread.State) (store.Outcome, error) {
		st.Plan(thread.Step{Do: thread.StepRemove, To: teststore.InThread + "deep"})
		return teststore.Create("obj-a")(st)
	})
	require.NoError(t, err)
	_, err = Doctor{Store: s}.Repair(context.Background(), teststore.RepairCall())
	require.NoError(t, err)
	data, err := s.Blob(storetest.Sum("somebody's"))
	require.NoError(t, err)
	assert.Equal(t, "somebody's", string(data))
	assert.Contains(t, string(teststore.Read(t, s, content.Kept+"/op-removes")), `"path":"`+teststore.InThread+`deep/a.md"`)
}

func TestNothingIsCollectedInADamagedStore(t *testing.T) {
	t.Parallel()
	s, _, unnamed := littered(t)
	require.NoError(t, os.RemoveAll(s.Path("threads/thread-old")))
	require.NoError(t, os.Symlink(t.TempDir(), s.Path("threads/thread-old")))
	_, err := Doctor{Store: s}.Repair(context.Background(), teststore.RepairCall())
	require.NoError(t, err)
	assert.Equal(t, 2, readableBlobs(s, unnamed))
}

// What was lost with the journal named blobs that nothing else names: merges that may be
// undone, what was displaced. That a new journal begins later does not make up for it.
func TestNothingIsCollectedWhereTheJournalLacksOperations(t *testing.T) {
	t.Parallel()
	for what, harm := range map[string]func(s *store.Store) error{
		"the journal is gone": func(s *store.Store) error { return os.Remove(s.Path(store.JournalFile)) },
		"its first line is damaged": func(s *store.Store) error {
			return os.WriteFile(s.Path(store.JournalFile), append([]byte("x"), teststore.Read(t, s, store.JournalFile)...), 0o644)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, _, unnamed := littered(t)
			require.NoError(t, harm(s))
			for _, later := range []string{"obj-one", "obj-two"} {
				r, err := Doctor{Store: s}.Repair(context.Background(), teststore.RepairCall())
				require.NoError(t, err)
				assert.True(t, r.After.Healthy, "%v", r.After.Findings)
				assert.Equal(t, 2, readableBlobs(s, unnamed))
				teststore.Add(t, s, later)
			}
		})
	}
}
