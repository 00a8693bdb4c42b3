package store_test

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/doctor"
	"leslie/store/internal/filework"
	"leslie/store/internal/storetest"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

// This file tests operations whose file work cannot be finished for a while: nothing
// of them is swept, and nothing counts as done because its staged name is gone.

// manyExchanged are ten files that change from one version to the next.
func manyExchanged() (all []exchanged) {
	for i := range 10 {
		all = append(all, exchanged{fmt.Sprintf("file-%d.md", i), fmt.Sprint("old ", i), fmt.Sprint("new ", i)})
	}
	return all
}

func withVersion(all []exchanged, of func(exchanged) string) map[string]string {
	out := map[string]string{}
	for _, x := range all {
		if of(x) != "" {
			out[x.path] = of(x)
		}
	}
	return out
}

func before(x exchanged) string { return x.from }

func behind(x exchanged) string { return x.to }

// cutOffAt makes an exchange, as a merge does, whose process dies before its n-th
// link: each link puts one file in its place.
func cutOffAt(t testing.TB, s *store.Store, n int, all ...exchanged) {
	t.Helper()
	stage, err := s.Stage("op-exchange")
	require.NoError(t, err)
	var steps []thread.Step
	for i, x := range all {
		name := fmt.Sprint("result/", i)
		require.NoError(t, stage.Write(name, []byte(x.to), false))
		content, err := stage.Put([]byte(x.to))
		require.NoError(t, err)
		step := thread.Step{Do: thread.StepReplace, From: stage.Rel(name), To: teststore.InThread + x.path, Content: content}
		if x.from != "" {
			step.Expect = storetest.Sum(x.from)
		}
		steps = append(steps, step)
	}
	require.NoError(t, stage.Sync())
	links, committed := 0, false
	opts := store.Options{Now: teststore.Clock, Before: func(a store.Action, path string) error {
		committed = committed || a == store.ActRename && path == s.Path(store.StateFile)
		if committed && a == store.ActLink {
			links++
		}
		if links >= n {
			return syscall.EIO
		}
		return nil
	}}
	_, err = teststore.RunWith(s.Root(), opts, teststore.CallNamed("exchange"), func(st *thread.State) (store.Outcome, error) {
		st.Plan(steps...)
		return teststore.Create("obj-new")(st)
	})
	require.ErrorIs(t, err, teststore.ErrUnsettled)
	require.NoError(t, stage.Close())
}

// A merge was killed; the target's folder is moved away, a link stands in its place;
// doctor --repair runs; the folder is put back.
func TestRepairNeverHalfAppliesAnOperation(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 7, 10} {
		t.Run(fmt.Sprint("killed at file ", n), func(t *testing.T) {
			t.Parallel()
			s := teststore.ExchangeStore(t)
			all := manyExchanged()
			teststore.Save(t, s, withVersion(all, before))
			cutOffAt(t, s, n, all...)

			folder := s.Path("threads/thread-old")
			away := t.TempDir() + "/away"
			require.NoError(t, os.Rename(folder, away))
			require.NoError(t, os.Symlink(away, folder))
			r, err := doctor.Doctor{Store: s}.Repair(context.Background(), teststore.RepairCall())
			if err == nil {
				assert.False(t, r.After.Healthy, "files are missing: %v", r.After.Findings)
			}
			require.NoError(t, os.Remove(folder))
			require.NoError(t, os.Rename(away, folder))

			_, err = doctor.Doctor{Store: s}.Repair(context.Background(), teststore.RepairCall())
			require.NoError(t, err)
			assert.Equal(t, withVersion(all, behind), held(t, s), "all of it is in place")
			d, err := doctor.Doctor{Store: s}.Diagnose(context.Background())
			require.NoError(t, err)
			assert.Empty(t, d.Findings)
			teststore.Add(t, s, "obj-next")
			teststore.RequireTidy(t, s)
		})
	}
}

// The staged files are gone, by whatever hand: what the places hold says what was done.
func TestAFileIsInPlaceWhenItHasTheContent(t *testing.T) {
	t.Parallel()
	s := teststore.ExchangeStore(t)
	all := manyExchanged()
	teststore.Save(t, s, withVersion(all, before))
	cutOffAt(t, s, 7, all...)
	require.NoError(t, os.RemoveAll(s.Path(store.TmpDir)))

	_, view, err := teststore.Seen(s)
	require.NoError(t, err)
	var undone []string
	for _, step := range view.Undone {
		undone = append(undone, step.To)
	}
	assert.Equal(t, []string{teststore.InThread + "file-6.md", teststore.InThread + "file-7.md", teststore.InThread + "file-8.md", teststore.InThread + "file-9.md"}, undone)
	teststore.Add(t, s, "obj-next")
	want := withVersion(all, behind)
	delete(want, "file-6.md") // it was displaced, and where it lay is gone as well
	want["file-6.md"+mark] = "new 6"
	assert.Equal(t, want, held(t, s))
	teststore.RequireTidy(t, s)
}

// What somebody saved in the meantime is theirs, also where the staged file is gone.
func TestASavedFileStaysWhereTheStagedOneIsGone(t *testing.T) {
	t.Parallel()
	s := teststore.ExchangeStore(t)
	all := manyExchanged()
	teststore.Save(t, s, withVersion(all, before))
	cutOffAt(t, s, 7, all...)
	require.NoError(t, os.RemoveAll(s.Path(store.TmpDir)))
	teststore.Save(t, s, map[string]string{"file-8.md": "saved"})

	teststore.Add(t, s, "obj-next")
	want := withVersion(all, behind)
	want["file-8.md"] = "saved"
	delete(want, "file-6.md") // it was displaced, and where it lay is gone as well
	want["file-6.md"+mark] = "new 6"
	assert.Equal(t, want, held(t, s))
	teststore.Add(t, s, "obj-third")
	assert.Equal(t, want, held(t, s))
}

func TestASweepLeavesAPendingOperationAlone(t *testing.T) {
	t.Parallel()
	s := teststore.ExchangeStore(t)
	all := manyExchanged()
	teststore.Save(t, s, withVersion(all, before))
	cutOffAt(t, s, 7, all...)
	was := teststore.Listing(t, s)
	w, err := s.Files().Lock(context.Background(), store.Wait{})
	require.NoError(t, err)
	now, err := w.Load()
	require.NoError(t, err)
	require.NoError(t, w.DropTemporary())
	require.NoError(t, filework.SweepStages(w.Disk, w.Unfinished(now)...))
	w.Unlock()
	for name := range was {
		_, err := os.Lstat(s.Path(name))
		assert.NoError(t, err)
	}
	_, _, err = teststore.Seen(s)
	require.NoError(t, err)
	teststore.Add(t, s, "obj-next")
	assert.Equal(t, withVersion(all, behind), held(t, s))
	var unused thread.OperationID
	require.NoError(t, filework.SweepStages(s.Files().Disk, unused))
	teststore.RequireTidy(t, s)
}
