package store_test

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/storetest"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

// This file guards what the store costs, by counting: what a write does to the
// disk, step by step, and what reading allocates. Counts do not depend on the
// machine; times do, and are measured by make bench.

// traced is a store that notes its steps as "action place".
func traced(s *store.Store) (noting *store.Store, steps *[]string) {
	steps = &[]string{}
	return teststore.With(s, store.Options{Before: func(a store.Action, path string) error {
		rel, err := filepath.Rel(s.Path("."), path)
		*steps = append(*steps, string(a)+" "+filepath.ToSlash(rel))
		return err
	}}), steps
}

// makingThread is a rule that makes a thread and its folder.
func makingThread(id string) func(*thread.State) (store.Outcome, error) {
	return func(st *thread.State) (store.Outcome, error) {
		st.Threads.Put(thread.Thread{ID: thread.ThreadID(id), ObjectiveID: "obj-a", Status: thread.Active, Created: thread.Attribution{At: teststore.Clock()}, Updated: teststore.Clock()})
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/" + id})
		return store.Outcome{Thread: thread.ThreadID(id)}, nil
	}
}

// statePut is what puts a new state on disk: its bytes, the backup's name, the
// commit, the names.
func statePut() []string {
	return []string{
		"create thread_relations.json", "write thread_relations.json", "fsync thread_relations.json",
		"link thread_relations.json.bak.tmp", "rename thread_relations.json.bak", "rename thread_relations.json",
	}
}

// linePut is the operation's line; onDisk is all of it, at once.
func linePut() []string { return []string{"create operations.jsonl", "write operations.jsonl"} }

func onDisk(folders ...string) []string {
	return append(append([]string{"fsync-dir ."}, folders...), "fsync operations.jsonl")
}

func TestWhatAWriteDoesToTheDisk(t *testing.T) {
	t.Parallel()
	origin := teststore.New(t, store.Options{})
	teststore.Add(t, origin, "obj-a", "obj-b")
	s, steps := traced(origin)
	update := func(name string, fn func(*thread.State) (store.Outcome, error)) []string {
		*steps = nil
		_, err := s.Update(context.Background(), teststore.CallNamed(name), fn)
		require.NoError(t, err)
		return *steps
	}
	plain := slices.Concat(statePut(), linePut(), onDisk())
	assert.Equal(t, plain, update("obj-c", teststore.Create("obj-c")), "a change of records: the disk is waited for twice")

	folder := slices.Concat(statePut(), []string{"mkdir threads/thread-x"}, linePut(), onDisk("fsync-dir threads"))
	assert.Equal(t, folder, update("thread-x", makingThread("thread-x")), "a new thread: no more waits")
	again := slices.Concat([]string{"mkdir threads/thread-x", "fsync-dir threads", "fsync-dir ."}, plain)
	assert.Equal(t, again, update("obj-d", teststore.Create("obj-d")), "the folder is on disk before the state that names it as undone goes")
	assert.Equal(t, plain, update("obj-e", teststore.Create("obj-e")), "once")

	assert.Empty(t, update("nothing", func(*thread.State) (store.Outcome, error) { return store.Outcome{}, nil }), "nothing changes")
}

// What a call has staged is on disk before the lock is taken, and a blob has its name
// then.
func TestWhatIsStagedIsOnDiskBeforeTheCommit(t *testing.T) {
	t.Parallel()
	origin := teststore.New(t, store.Options{})
	teststore.Add(t, origin, "obj-a")
	s, steps := traced(origin)
	_, err := s.Update(context.Background(), teststore.CallNamed("thread-x"), makingThread("thread-x"))
	require.NoError(t, err)
	*steps = nil
	keep := func(op thread.OperationID, text string) []string {
		*steps = nil
		stage, err := s.Stage(op)
		require.NoError(t, err)
		_, err = stage.Put([]byte(text))
		require.NoError(t, err)
		require.NoError(t, stage.Write("copy/plan.md", []byte(text), false))
		call := teststore.CallNamed(string(op))
		call.Stamp.Operation, call.Staged = op, []*store.Stage{stage}
		_, err = s.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
			st.Plan(thread.Step{Do: thread.StepPlace, From: stage.Rel("copy"), To: "threads/thread-x/" + string(op)})
			return teststore.Create("obj-" + string(op))(st)
		})
		require.NoError(t, err)
		require.NoError(t, stage.Close())
		return *steps
	}
	before := func(all []string, step string) int {
		t.Helper()
		i := slices.Index(all, step)
		require.GreaterOrEqual(t, i, 0, "%s in\n%s", step, strings.Join(all, "\n"))
		return i
	}
	small := keep("op-small", "kept")
	blob := content.Path(storetest.Sum("kept"))
	commit := before(small, "rename "+store.StateFile)
	for _, step := range []string{
		"fsync tmp/op-small/blob-1", "fsync tmp/op-small/copy/plan.md", "rename " + blob, "fsync-dir " + path.Dir(blob), "fsync-dir blobs/sha256",
		"fsync-dir blobs", "fsync-dir tmp/op-small/copy", "fsync-dir tmp/op-small", "fsync-dir tmp", "fsync-dir .",
	} {
		assert.Less(t, before(small, step), commit, step)
	}
	assert.Less(t, before(small, "fsync tmp/op-small/blob-1"), before(small, "rename "+blob), "a name stands for bytes that are on disk")
	assert.Less(t, before(small, "rename "+blob), before(small, "fsync-dir "+path.Dir(blob)))
	assert.Less(t, before(small, "fsync-dir "+path.Dir(blob)), before(small, "create thread_relations.json"))
}

// A batch of a thousand is one state, one line, and one fsync of the threads'
// names.
func TestAThousandThreadsCostOneCommit(t *testing.T) {
	t.Parallel()
	origin := teststore.New(t, store.Options{})
	teststore.Add(t, origin, "obj-a")
	s, steps := traced(origin)
	_, err := s.Update(context.Background(), teststore.CallNamed("many"), func(st *thread.State) (store.Outcome, error) {
		for i := range 1_000 {
			_, _ = makingThread(fmt.Sprintf("thread-%04d", i))(st)
		}
		return store.Outcome{}, nil
	})
	require.NoError(t, err)
	count := map[string]int{}
	for _, step := range *steps {
		action, _, _ := strings.Cut(step, " ")
		count[action]++
	}
	assert.Equal(t, 2, count["fsync"], "the state, the journal")
	assert.Equal(t, 2, count["fsync-dir"], "the store's folder, that of the threads")
	assert.Equal(t, 2, count["rename"])
	assert.Equal(t, 1_000, count["mkdir"])
	entries, err := os.ReadDir(s.Path(store.ThreadsDir))
	require.NoError(t, err)
	assert.Len(t, entries, 1_000, "each folder is there when Update returns")
}

// What a write adds to the disk is the state once and its line once.
func TestWhatAWriteWrites(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(300)...)
	before := len(teststore.Read(t, s, store.JournalFile))
	archive := saferoot.Exists(s.Path(store.ArchiveFile))
	teststore.Add(t, s, "obj-one-more")
	line := len(teststore.Read(t, s, store.JournalFile)) - before
	assert.Less(t, line, 700, "one operation")
	assert.Equal(t, archive, saferoot.Exists(s.Path(store.ArchiveFile)))
	state, backup := len(teststore.Read(t, s, store.StateFile)), len(teststore.Read(t, s, store.BackupFile))
	assert.InDelta(t, state, backup, 700, "the history is not in the state")
}
