package store

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store/internal/filework"
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

func withVersion(all []exchanged, of func(exchanged) string) files {
	out := files{}
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
func cutOffAt(t testing.TB, s *Store, n int, all ...exchanged) {
	t.Helper()
	stage, err := s.Stage("op-exchange")
	require.NoError(t, err)
	var steps []thread.Step
	for i, x := range all {
		name := fmt.Sprint("result/", i)
		require.NoError(t, stage.Write(name, []byte(x.to), false))
		content, err := stage.Put([]byte(x.to))
		require.NoError(t, err)
		step := thread.Step{Do: thread.StepReplace, From: stage.Rel(name), To: inThread + x.path, Content: content}
		if x.from != "" {
			step.Expect = hashOf(x.from)
		}
		steps = append(steps, step)
	}
	require.NoError(t, stage.Sync())
	links, committed := 0, false
	opts := Options{Now: clock, Before: func(a Action, path string) error {
		committed = committed || a == ActRename && path == s.Path(StateFile)
		if committed && a == ActLink {
			links++
		}
		if links >= n {
			return syscall.EIO
		}
		return nil
	}}
	_, err = runWith(s.Root(), opts, callNamed("exchange"), func(st *thread.State) (Outcome, error) {
		st.Plan(steps...)
		return create("obj-new")(st)
	})
	require.ErrorIs(t, err, errUnsettled)
	require.NoError(t, stage.Close())
}

// A merge was killed; the target's folder is moved away, a link stands in its place;
// doctor --repair runs; the folder is put back.
func TestRepairNeverHalfAppliesAnOperation(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 7, 10} {
		t.Run(fmt.Sprint("killed at file ", n), func(t *testing.T) {
			t.Parallel()
			s := exchangeStore(t)
			all := manyExchanged()
			save(t, s, withVersion(all, before))
			cutOffAt(t, s, n, all...)

			folder := s.Path("threads/thread-old")
			away := t.TempDir() + "/away"
			require.NoError(t, os.Rename(folder, away))
			require.NoError(t, os.Symlink(away, folder))
			r, err := s.Repair(context.Background(), repairCall())
			if err == nil {
				assert.False(t, r.After.Healthy, "files are missing: %v", r.After.Findings)
			}
			require.NoError(t, os.Remove(folder))
			require.NoError(t, os.Rename(away, folder))

			_, err = s.Repair(context.Background(), repairCall())
			require.NoError(t, err)
			assert.Equal(t, withVersion(all, behind), held(t, s), "all of it is in place")
			d, err := s.Diagnose(context.Background())
			require.NoError(t, err)
			assert.Empty(t, d.Findings)
			add(t, s, "obj-next")
			requireTidy(t, s)
		})
	}
}

// The staged files are gone, by whatever hand: what the places hold says what was done.
func TestAFileIsInPlaceWhenItHasTheContent(t *testing.T) {
	t.Parallel()
	s := exchangeStore(t)
	all := manyExchanged()
	save(t, s, withVersion(all, before))
	cutOffAt(t, s, 7, all...)
	require.NoError(t, os.RemoveAll(s.Path(TmpDir)))

	_, view, err := seen(s)
	require.NoError(t, err)
	var undone []string
	for _, step := range view.Undone {
		undone = append(undone, step.To)
	}
	assert.Equal(t, []string{inThread + "file-6.md", inThread + "file-7.md", inThread + "file-8.md", inThread + "file-9.md"}, undone)
	add(t, s, "obj-next")
	want := withVersion(all, behind)
	delete(want, "file-6.md") // it was displaced, and where it lay is gone as well
	want["file-6.md"+mark] = "new 6"
	assert.Equal(t, want, held(t, s))
	requireTidy(t, s)
}

// What somebody saved in the meantime is theirs, also where the staged file is gone.
func TestASavedFileStaysWhereTheStagedOneIsGone(t *testing.T) {
	t.Parallel()
	s := exchangeStore(t)
	all := manyExchanged()
	save(t, s, withVersion(all, before))
	cutOffAt(t, s, 7, all...)
	require.NoError(t, os.RemoveAll(s.Path(TmpDir)))
	save(t, s, files{"file-8.md": "saved"})

	add(t, s, "obj-next")
	want := withVersion(all, behind)
	want["file-8.md"] = "saved"
	delete(want, "file-6.md") // it was displaced, and where it lay is gone as well
	want["file-6.md"+mark] = "new 6"
	assert.Equal(t, want, held(t, s))
	add(t, s, "obj-third")
	assert.Equal(t, want, held(t, s))
}

func TestASweepLeavesAPendingOperationAlone(t *testing.T) {
	t.Parallel()
	s := exchangeStore(t)
	all := manyExchanged()
	save(t, s, withVersion(all, before))
	cutOffAt(t, s, 7, all...)
	was := listing(t, s)
	m := &repairRun{store: s, ctx: context.Background(), call: repairCall(), seen: newMemory()}
	require.NoError(t, m.sweep())
	for name := range was {
		_, err := os.Lstat(s.Path(name))
		assert.NoError(t, err)
	}
	_, _, err := seen(s)
	require.NoError(t, err)
	add(t, s, "obj-next")
	assert.Equal(t, withVersion(all, behind), held(t, s))
	var unused thread.OperationID
	require.NoError(t, filework.SweepStages(s.disk, unused))
	requireTidy(t, s)
}
