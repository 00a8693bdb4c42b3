package doctor

import (
	"context"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/internal/content"
	"leslie/store/internal/scan"
	"leslie/store/internal/state"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

// What one may not read is named, and the rest is looked at all the same.
func TestWhatCannotBeReadIsNamedAndNeitherMendedNorTakenForDamaged(t *testing.T) {
	t.Parallel()
	healthy := newPatient(t)
	for name, want := range map[string][]string{
		store.BackupFile:           {"!T509 " + store.BackupFile},
		store.JournalFile:          {"!T509 " + store.JournalFile},
		store.ArchiveFile:          {"!T509 " + store.ArchiveFile},
		store.ThreadsDir:           {"!T509 " + store.ThreadsDir + "/main", "!T509 " + store.ThreadsDir + "/other", "!T509 " + store.ThreadsDir + "/child", "!T509 " + store.ThreadsDir + "/reader"},
		"threads/main":             {"!T509 threads/main"},
		healthy.blob("decided"):    {"!T509 " + healthy.blob("decided")},
		state.AnswerFile("please"): {"!T509 " + state.AnswerFile("please")},
		"merges/merge-1/work":      {"!T509 merges/merge-1/work/plan.md"},
		store.RequestsDir:          {"!T509 " + store.RequestsDir},
		"threads/child/context":    {"!T509 threads/child/context/inherited/ref-here"},
		content.Sums:               {"!T509 " + content.Sums},
		healthy.blob("ref-here")[:len("blobs/sha256/ab")]: nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := healthy.copied(t)
			files := teststore.Listing(t, p.Store)
			info, err := os.Lstat(p.Path(name))
			require.NoError(t, err)
			require.NoError(t, os.Chmod(p.Path(name), 0))
			teststore.AsNobody(t, p.Store, func() {
				d, err := Doctor{Store: p.Store}.Diagnose(context.Background())
				assert.NoError(t, err)
				got := p.words(d.Findings, false)
				if want == nil { // a folder of blobs, of which it depends on their hashes how many it has
					assert.Contains(t, got, "!T509 "+name)
				} else {
					assert.Subset(t, got, want)
				}
				for _, f := range d.Findings {
					assert.False(t, f.Repairable, "%v", f)
				}
				_, _ = Doctor{Store: p.Store}.Repair(context.Background(), teststore.RepairCall())
			})
			require.NoError(t, os.Chmod(p.Path(name), info.Mode().Perm()))
			requireNothingDeleted(t, files, teststore.Listing(t, p.Store))
			assert.Empty(t, diagnose(t, p.Store).Findings, "it was all there")
		})
	}
}

func TestDoctorNeitherReadsNorWaitsForAPipe(t *testing.T) {
	t.Parallel()
	healthy := newPatient(t)
	for _, name := range []string{
		store.StateFile, store.BackupFile, store.JournalFile, store.ArchiveFile, store.LogsDir, store.TmpDir, store.RequestsDir, store.MergesDir, store.ThreadsDir, store.BlobsDir,
		"threads/main/plan.md", "threads/other", "threads/child/context", "threads/child/context/inherited/ref-here/plan.md",
		"merges/merge-1", "merges/merge-1/work/plan.md", state.AnswerFile("please"), healthy.blob("decided"), "notes",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := healthy.copied(t)
			require.NoError(t, os.RemoveAll(p.Path(name)))
			require.NoError(t, syscall.Mkfifo(p.Path(name), 0o644))
			was := teststore.Readable(t, p.Store)
			d, err := Doctor{Store: p.Store}.Diagnose(context.Background())
			require.NoError(t, err)
			assert.NotEmpty(t, d.Findings)
			r, err := Doctor{Store: p.Store}.Repair(context.Background(), teststore.RepairCall())
			require.NoError(t, err)
			for _, f := range r.After.Findings {
				assert.True(t, f.Info || !f.Repairable, "%v", f)
			}
			teststore.RequireKept(t, was, teststore.Readable(t, p.Store), "record objectives/ship")
		})
	}
}

// A writer at work looks like one that died; doctor is not misled.
func TestDoctorFindsAStoreHealthyWhileOthersWrite(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 60 && err == nil; i++ {
			err = busy(p, i)
		}
		done <- err
	}()
	looks := 0
	for over := false; !over; looks++ {
		select {
		case err := <-done:
			require.NoError(t, err)
			over = true
		default:
		}
		d, err := Doctor{Store: p.Store}.Diagnose(context.Background())
		require.NoError(t, err)
		assert.Empty(t, d.Findings)
	}
	t.Logf("%d looks", looks)
}

// busy makes a thread with a copy of main, then archives it.
func busy(p *patient, i int) error {
	id := thread.ThreadID("busy-" + strconv.Itoa(i))
	call := teststore.CallNamed(string(id))
	stage, err := p.Stage(call.Stamp.Operation)
	if err != nil {
		return err
	}
	defer stage.Close()
	m, err := p.Manifest(p.blobs["ref-here"])
	if err == nil {
		err = stage.Materialize(context.Background(), m, "folder/"+store.InheritedDir+"/ref-"+string(id), true)
	}
	if err == nil {
		err = stage.Sync()
	}
	if err != nil {
		return err
	}
	_, err = p.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
		if _, err := st.Spawn(thread.NewThread{ID: id, Objective: "ship", Title: "T", Intent: "Do it"}, call.Stamp); err != nil {
			return store.Outcome{}, err
		}
		st.Plan(thread.Step{Do: thread.StepPlace, From: stage.Rel("folder"), To: scan.Place(id, "")})
		content := thread.Content{Manifest: p.blobs["ref-here"], Files: len(m)}
		_, _, err := st.Refer(thread.NewReference{ID: thread.ReferenceID("ref-" + id), From: string(id), Target: "main", Binding: thread.Frozen, Content: content}, call.Stamp)
		return store.Outcome{Thread: id}, err
	})
	if err != nil {
		return err
	}
	call = teststore.CallNamed("end-" + string(id))
	_, err = p.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
		for _, action := range []thread.Action{thread.Done, thread.Archive} {
			if _, err := st.Lifecycle(string(id), action, "", call.Stamp); err != nil {
				return store.Outcome{}, err
			}
		}
		return store.Outcome{Thread: id}, nil
	})
	return err
}
