package doctor

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

// lived is a store in which things happened: objectives, threads, one of them
// archived, files.
func lived(t testing.TB) *store.Store {
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	teststore.PrepareFiles(t, s)
	require.NoError(t, teststore.RunPlace(s.Root(), teststore.OptionsOf(s)))
	require.NoError(t, teststore.Archiving(s.Root(), teststore.OptionsOf(s), "obj-last"))
	call := teststore.CallNamed("spawn-2")
	_, err := s.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
		st.Threads.Put(thread.Thread{ID: "thread-live", ParentID: "thread-old", ObjectiveID: "obj-0000", Status: thread.Active, Updated: teststore.Clock()})
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/thread-live"})
		return store.Outcome{Thread: "thread-live"}, nil
	})
	require.NoError(t, err)
	teststore.Add(t, s, "obj-since") // the operation before is done with: its work is no more looked at
	return s
}

// told is what a store tells a reader, whole.
func told(t testing.TB, s *store.Store) string {
	t.Helper()
	var b strings.Builder
	_, err := s.View(context.Background(), func(st *thread.State) error {
		for _, table := range thread.Tables() {
			for _, line := range st.Lines(table) {
				b.WriteString(table + "/" + line.ID + " " + string(line.JSON) + "\n")
			}
		}
		th, err := st.Thread("thread-old")
		b.WriteString(string(th.Status) + "\n")
		return err
	})
	require.NoError(t, err)
	return b.String()
}

func diagnose(t testing.TB, s *store.Store) Diagnosis {
	t.Helper()
	d, err := Doctor{Store: s}.Diagnose(context.Background())
	require.NoError(t, err)
	return d
}

func TestAStoreThatLivedIsHealthy(t *testing.T) {
	t.Parallel()
	s := lived(t)
	before := teststore.Listing(t, s)
	d := diagnose(t, s)
	assert.True(t, d.Healthy)
	assert.Empty(t, d.Findings)
	r, err := Doctor{Store: s}.Repair(context.Background(), teststore.CallNamed("doctor"))
	require.NoError(t, err)
	assert.Empty(t, r.Actions)
	assert.Equal(t, before, teststore.Listing(t, s), "there is nothing to mend")
}

func TestRepairMendsWhatDoctorFindsAndLosesNothing(t *testing.T) {
	t.Parallel()
	cut := func(name string) func(testing.TB, *store.Store) {
		return func(t testing.TB, s *store.Store) { teststore.Put(t, s, name, teststore.Read(t, s, name)[:40]) }
	}
	gone := func(name string) func(testing.TB, *store.Store) {
		return func(t testing.TB, s *store.Store) { require.NoError(t, os.RemoveAll(s.Path(name))) }
	}
	folder := func(name string) func(testing.TB, *store.Store) {
		return func(t testing.TB, s *store.Store) {
			require.NoError(t, os.Remove(s.Path(name)))
			require.NoError(t, os.Mkdir(s.Path(name), 0o755))
		}
	}
	both := func(fns ...func(testing.TB, *store.Store)) func(testing.TB, *store.Store) {
		return func(t testing.TB, s *store.Store) {
			for _, fn := range fns {
				fn(t, s)
			}
		}
	}
	middle := func(name string) func(testing.TB, *store.Store) {
		return func(t testing.TB, s *store.Store) {
			data := teststore.Read(t, s, name)
			data[bytes.IndexByte(data, '\n')+20] ^= 1
			teststore.Put(t, s, name, data)
		}
	}
	cases := map[string]struct {
		harm       func(testing.TB, *store.Store)
		code, path string
		unreadable bool
	}{
		"state cut":                   {harm: cut(store.StateFile), code: "W502", path: store.StateFile},
		"state gone":                  {harm: gone(store.StateFile), code: "W502", path: store.StateFile},
		"state a folder":              {harm: folder(store.StateFile), code: "W502", path: store.StateFile},
		"backup cut":                  {harm: cut(store.BackupFile), code: "W502", path: store.BackupFile},
		"backup gone":                 {harm: gone(store.BackupFile), code: "W502", path: store.BackupFile},
		"backup a folder":             {harm: folder(store.BackupFile), code: "W502", path: store.BackupFile},
		"one inode":                   {harm: teststore.PrepareOneInode, code: "W505", path: store.BackupFile},
		"journal gone":                {harm: gone(store.JournalFile), code: "T502", path: store.JournalFile},
		"journal a folder":            {harm: folder(store.JournalFile), code: "T502", path: store.JournalFile},
		"journal damaged inside":      {harm: middle(store.JournalFile), code: "T502", path: store.JournalFile},
		"archive gone":                {harm: gone(store.ArchiveFile), code: "T502", path: store.ArchiveFile},
		"archive a folder":            {harm: folder(store.ArchiveFile), code: "T502", path: store.ArchiveFile},
		"archive cut":                 {harm: cut(store.ArchiveFile), code: "T502", path: store.ArchiveFile},
		"a thread's folder gone":      {harm: gone("threads/thread-live"), code: "T202", path: "threads/thread-live"},
		"state and backup gone":       {harm: both(gone(store.StateFile), gone(store.BackupFile)), code: "T502", path: store.StateFile, unreadable: true},
		"state and backup cut":        {harm: both(cut(store.StateFile), cut(store.BackupFile)), code: "T502", path: store.BackupFile, unreadable: true},
		"state, backup, archive gone": {harm: both(gone(store.StateFile), gone(store.BackupFile), gone(store.ArchiveFile)), code: "T502", path: store.StateFile, unreadable: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := lived(t)
			want := told(t, s)
			c.harm(t, s)
			d, err := Doctor{Store: s}.Diagnose(context.Background())
			if c.unreadable {
				teststore.RequireCode(t, codes.ParseError, err)
			} else {
				require.NoError(t, err)
			}
			assert.False(t, d.Healthy)
			requireFinding(t, d, c.code, c.path)
			r, err := Doctor{Store: s}.Repair(context.Background(), teststore.CallNamed("doctor"))
			require.NoError(t, err)
			assert.NotEmpty(t, r.Actions)
			assert.True(t, r.After.Healthy, "%v", r.After.Findings)
			assert.Equal(t, want, told(t, s), "nothing is lost")
			again, err := Doctor{Store: s}.Repair(context.Background(), teststore.CallNamed("doctor-2"))
			require.NoError(t, err)
			assert.Empty(t, again.Actions, "a second run has nothing to do")
			teststore.Add(t, s, "obj-then")
			teststore.RequireTidy(t, s)
			assert.True(t, diagnose(t, s).Healthy)
		})
	}
}

func requireFinding(t testing.TB, d Diagnosis, code, path string) {
	t.Helper()
	for _, f := range d.Findings {
		if f.Code == code && f.Path == store.Dir+"/"+path && f.Repairable {
			return
		}
	}
	require.Fail(t, "not found", "%s at %s in %v", code, path, d.Findings)
}

func TestAfterABaselineTheJournalRebuildsTheStateAgain(t *testing.T) {
	t.Parallel()
	s := lived(t)
	require.NoError(t, os.Remove(s.Path(store.JournalFile)))
	_, err := Doctor{Store: s}.Repair(context.Background(), teststore.CallNamed("doctor"))
	require.NoError(t, err)
	teststore.Add(t, s, "obj-then")
	want := told(t, s)
	require.NoError(t, os.Remove(s.Path(store.StateFile)))
	require.NoError(t, os.Remove(s.Path(store.BackupFile)))
	_, err = Doctor{Store: s}.Repair(context.Background(), teststore.CallNamed("doctor-2"))
	require.NoError(t, err)
	assert.Equal(t, want, told(t, s))
}

func TestWhatTheJournalDoesNotGiveBackIsNotInvented(t *testing.T) {
	t.Parallel()
	s := lived(t)
	for _, name := range []string{store.StateFile, store.BackupFile, store.JournalFile} {
		require.NoError(t, os.Remove(s.Path(name)))
	}
	before := teststore.Listing(t, s)
	_, err := Doctor{Store: s}.Repair(context.Background(), teststore.CallNamed("doctor"))
	teststore.RequireCode(t, codes.ParseError, err)
	assert.Equal(t, before, teststore.Listing(t, s))
}

func TestAStoreInWhichNothingHappenedIsRebuiltEmpty(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Put(t, s, store.StateFile, []byte("{"))
	teststore.Put(t, s, store.BackupFile, []byte("{"))
	r, err := Doctor{Store: s}.Repair(context.Background(), teststore.CallNamed("doctor"))
	require.NoError(t, err)
	assert.True(t, r.After.Healthy)
	teststore.RequireHolds(t, s, nil, false)
}

func TestDoctorNamesACheckpointWhoseFilesAreGone(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	gone := thread.BlobID(strings.Repeat("1", 64))
	_, err := s.Update(context.Background(), teststore.CallNamed("odd"), func(st *thread.State) (store.Outcome, error) {
		st.Objectives.Put(thread.Objective{ID: "obj-a"})
		st.Threads.Put(thread.Thread{ID: "thread-a", ObjectiveID: "obj-a", Updated: teststore.Clock(), Checkpoints: []thread.Checkpoint{{ID: "ckpt-a", Manifest: gone}}})
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/thread-a"})
		return store.Outcome{}, nil
	})
	require.NoError(t, err)
	d := diagnose(t, s)
	require.Len(t, d.Findings, 1)
	assert.Equal(t, "T509", d.Findings[0].Code)
	assert.Contains(t, d.Findings[0].Message, "the checkpoint 'ckpt-a' of 'thread-a'")
}

func TestDoctorNamesWhatNobodyCanMend(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	call := teststore.CallNamed("odd")
	_, err := s.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
		st.Threads.Put(thread.Thread{ID: "thread-a", ParentID: "thread-none", ObjectiveID: "obj-none", DependsOn: []thread.ThreadID{"thread-nil"}, Updated: teststore.Clock()})
		st.References.Put(thread.Reference{ID: "ref-a", From: "thread-a", Target: "thread-none", Resolved: true, Manifest: thread.BlobID(strings.Repeat("0", 64))})
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/thread-a"})
		return store.Outcome{}, nil
	})
	require.NoError(t, err)
	teststore.Put(t, s, "notes.txt", nil)
	require.NoError(t, os.Mkdir(s.Path("threads/stray"), 0o755))
	teststore.Put(t, s, store.StateFile+saferoot.AsideMark+"x", nil)
	var lasting, info []string
	for _, f := range diagnose(t, s).Findings {
		if f.Info {
			info = append(info, f.Code+" "+f.Path)
		} else {
			assert.False(t, f.Repairable, "%v", f)
			lasting = append(lasting, f.Code+" "+f.Path)
		}
	}
	blob := "T202 .leslie/blobs/sha256/00/" + strings.Repeat("0", 62)
	assert.ElementsMatch(t, []string{"T101 .leslie/threads/thread-a", "T101 .leslie/threads/thread-a", "T601 .leslie/threads/thread-a", "T202 .leslie/" + store.StateFile, blob}, lasting)
	assert.ElementsMatch(t, []string{"T101 .leslie/threads/stray", "W502 .leslie/" + store.StateFile + saferoot.AsideMark + "x", "W204 .leslie/notes.txt"}, info)
}
