package store

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// lived is a store in which things happened: objectives, threads, one of them
// archived, files.
func lived(t testing.TB) *Store {
	s := newStore(t, Options{})
	add(t, s, names(2)...)
	prepareFiles(t, s)
	require.NoError(t, runPlace(s.Root(), s.opts))
	require.NoError(t, archiving(s.Root(), s.opts, "obj-last"))
	call := callNamed("spawn-2")
	_, err := s.Update(context.Background(), call, func(st *thread.State) (Outcome, error) {
		st.Threads.Put(thread.Thread{ID: "thread-live", ParentID: "thread-old", ObjectiveID: "obj-0000", Status: thread.Active, Updated: noon})
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/thread-live"})
		return Outcome{Thread: "thread-live"}, nil
	})
	require.NoError(t, err)
	add(t, s, "obj-since") // the operation before is done with: its work is no more looked at
	return s
}

// told is what a store tells a reader, whole.
func told(t testing.TB, s *Store) string {
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

func diagnose(t testing.TB, s *Store) Diagnosis {
	t.Helper()
	d, err := s.Diagnose(context.Background())
	require.NoError(t, err)
	return d
}

func TestAStoreThatLivedIsHealthy(t *testing.T) {
	t.Parallel()
	s := lived(t)
	before := listing(t, s)
	d := diagnose(t, s)
	assert.True(t, d.Healthy)
	assert.Empty(t, d.Findings)
	r, err := s.Repair(context.Background(), callNamed("doctor"))
	require.NoError(t, err)
	assert.Empty(t, r.Actions)
	assert.Equal(t, before, listing(t, s), "there is nothing to mend")
}

func TestRepairMendsWhatDoctorFindsAndLosesNothing(t *testing.T) {
	t.Parallel()
	cut := func(name string) func(testing.TB, *Store) {
		return func(t testing.TB, s *Store) { put(t, s, name, read(t, s, name)[:40]) }
	}
	gone := func(name string) func(testing.TB, *Store) {
		return func(t testing.TB, s *Store) { require.NoError(t, os.RemoveAll(s.Path(name))) }
	}
	folder := func(name string) func(testing.TB, *Store) {
		return func(t testing.TB, s *Store) {
			require.NoError(t, os.Remove(s.Path(name)))
			require.NoError(t, os.Mkdir(s.Path(name), 0o755))
		}
	}
	both := func(fns ...func(testing.TB, *Store)) func(testing.TB, *Store) {
		return func(t testing.TB, s *Store) {
			for _, fn := range fns {
				fn(t, s)
			}
		}
	}
	middle := func(name string) func(testing.TB, *Store) {
		return func(t testing.TB, s *Store) {
			data := read(t, s, name)
			data[bytes.IndexByte(data, '\n')+20] ^= 1
			put(t, s, name, data)
		}
	}
	cases := map[string]struct {
		harm       func(testing.TB, *Store)
		code, path string
		unreadable bool
	}{
		"state cut":                   {harm: cut(StateFile), code: "W502", path: StateFile},
		"state gone":                  {harm: gone(StateFile), code: "W502", path: StateFile},
		"state a folder":              {harm: folder(StateFile), code: "W502", path: StateFile},
		"backup cut":                  {harm: cut(BackupFile), code: "W502", path: BackupFile},
		"backup gone":                 {harm: gone(BackupFile), code: "W502", path: BackupFile},
		"backup a folder":             {harm: folder(BackupFile), code: "W502", path: BackupFile},
		"one inode":                   {harm: prepareOneInode, code: "W505", path: BackupFile},
		"journal gone":                {harm: gone(JournalFile), code: "T502", path: JournalFile},
		"journal a folder":            {harm: folder(JournalFile), code: "T502", path: JournalFile},
		"journal damaged inside":      {harm: middle(JournalFile), code: "T502", path: JournalFile},
		"archive gone":                {harm: gone(ArchiveFile), code: "T502", path: ArchiveFile},
		"archive a folder":            {harm: folder(ArchiveFile), code: "T502", path: ArchiveFile},
		"archive cut":                 {harm: cut(ArchiveFile), code: "T502", path: ArchiveFile},
		"a thread's folder gone":      {harm: gone("threads/thread-live"), code: "T202", path: "threads/thread-live"},
		"state and backup gone":       {harm: both(gone(StateFile), gone(BackupFile)), code: "T502", path: StateFile, unreadable: true},
		"state and backup cut":        {harm: both(cut(StateFile), cut(BackupFile)), code: "T502", path: BackupFile, unreadable: true},
		"state, backup, archive gone": {harm: both(gone(StateFile), gone(BackupFile), gone(ArchiveFile)), code: "T502", path: StateFile, unreadable: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := lived(t)
			want := told(t, s)
			c.harm(t, s)
			d, err := s.Diagnose(context.Background())
			if c.unreadable {
				requireCode(t, codes.ParseError, err)
			} else {
				require.NoError(t, err)
			}
			assert.False(t, d.Healthy)
			requireFinding(t, d, c.code, c.path)
			r, err := s.Repair(context.Background(), callNamed("doctor"))
			require.NoError(t, err)
			assert.NotEmpty(t, r.Actions)
			assert.True(t, r.After.Healthy, "%v", r.After.Findings)
			assert.Equal(t, want, told(t, s), "nothing is lost")
			again, err := s.Repair(context.Background(), callNamed("doctor-2"))
			require.NoError(t, err)
			assert.Empty(t, again.Actions, "a second run has nothing to do")
			add(t, s, "obj-then")
			requireTidy(t, s)
			assert.True(t, diagnose(t, s).Healthy)
		})
	}
}

func requireFinding(t testing.TB, d Diagnosis, code, path string) {
	t.Helper()
	for _, f := range d.Findings {
		if f.Code == code && f.Path == Dir+"/"+path && f.Repairable {
			return
		}
	}
	require.Fail(t, "not found", "%s at %s in %v", code, path, d.Findings)
}

func TestAfterABaselineTheJournalRebuildsTheStateAgain(t *testing.T) {
	t.Parallel()
	s := lived(t)
	require.NoError(t, os.Remove(s.Path(JournalFile)))
	_, err := s.Repair(context.Background(), callNamed("doctor"))
	require.NoError(t, err)
	add(t, s, "obj-then")
	want := told(t, s)
	require.NoError(t, os.Remove(s.Path(StateFile)))
	require.NoError(t, os.Remove(s.Path(BackupFile)))
	_, err = s.Repair(context.Background(), callNamed("doctor-2"))
	require.NoError(t, err)
	assert.Equal(t, want, told(t, s))
}

func TestWhatTheJournalDoesNotGiveBackIsNotInvented(t *testing.T) {
	t.Parallel()
	s := lived(t)
	for _, name := range []string{StateFile, BackupFile, JournalFile} {
		require.NoError(t, os.Remove(s.Path(name)))
	}
	before := listing(t, s)
	_, err := s.Repair(context.Background(), callNamed("doctor"))
	requireCode(t, codes.ParseError, err)
	assert.Equal(t, before, listing(t, s))
}

func TestAStoreInWhichNothingHappenedIsRebuiltEmpty(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	put(t, s, StateFile, []byte("{"))
	put(t, s, BackupFile, []byte("{"))
	r, err := s.Repair(context.Background(), callNamed("doctor"))
	require.NoError(t, err)
	assert.True(t, r.After.Healthy)
	requireHolds(t, s, nil, false)
}

func TestDoctorNamesACheckpointWhoseFilesAreGone(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	gone := thread.BlobID(strings.Repeat("1", 64))
	_, err := s.Update(context.Background(), callNamed("odd"), func(st *thread.State) (Outcome, error) {
		st.Objectives.Put(thread.Objective{ID: "obj-a"})
		st.Threads.Put(thread.Thread{ID: "thread-a", ObjectiveID: "obj-a", Updated: noon, Checkpoints: []thread.Checkpoint{{ID: "ckpt-a", Manifest: gone}}})
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/thread-a"})
		return Outcome{}, nil
	})
	require.NoError(t, err)
	d := diagnose(t, s)
	require.Len(t, d.Findings, 1)
	assert.Equal(t, "T509", d.Findings[0].Code)
	assert.Contains(t, d.Findings[0].Message, "the checkpoint 'ckpt-a' of 'thread-a'")
}

func TestDoctorNamesWhatNobodyCanMend(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	call := callNamed("odd")
	_, err := s.Update(context.Background(), call, func(st *thread.State) (Outcome, error) {
		st.Threads.Put(thread.Thread{ID: "thread-a", ParentID: "thread-none", ObjectiveID: "obj-none", DependsOn: []thread.ThreadID{"thread-nil"}, Updated: noon})
		st.References.Put(thread.Reference{ID: "ref-a", From: "thread-a", Target: "thread-none", Resolved: true, Manifest: thread.BlobID(strings.Repeat("0", 64))})
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/thread-a"})
		return Outcome{}, nil
	})
	require.NoError(t, err)
	put(t, s, "notes.txt", nil)
	require.NoError(t, os.Mkdir(s.Path("threads/stray"), 0o755))
	put(t, s, StateFile+saferoot.AsideMark+"x", nil)
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
	assert.ElementsMatch(t, []string{"T101 .leslie/threads/thread-a", "T101 .leslie/threads/thread-a", "T601 .leslie/threads/thread-a", "T202 .leslie/" + StateFile, blob}, lasting)
	assert.ElementsMatch(t, []string{"T101 .leslie/threads/stray", "W502 .leslie/" + StateFile + saferoot.AsideMark + "x", "W204 .leslie/notes.txt"}, info)
}
