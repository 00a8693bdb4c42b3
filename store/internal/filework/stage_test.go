package filework

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/scope"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/store/internal/storetest"
	"leslie/thread"
)

func TestAnInheritedCopyIsAWorkingCopyOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := treeStore(t, Options{})
	parent := storetest.PutFile(t, s, "threads/a/plan.md", "plan")
	run := storetest.PutFile(t, s, "threads/a/bin/run.sh", "#!/bin/sh\n")
	require.NoError(t, os.Chmod(run, 0o755))
	st := stageFor(t, s)
	m, skipped, err := st.Snapshot(ctx, "a", scope.Set{})
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	assert.Empty(t, skipped)
	require.NoError(t, st.Materialize(ctx, m, "child", false))
	require.NoError(t, st.Sync())
	require.Equal(t, "tmp/op-1/child", st.Rel("child"))
	require.NoError(t, os.Rename(s.Path(st.Rel("child")), s.Path("threads/child")))
	require.NoError(t, st.Close())
	assert.NoDirExists(t, s.Path("tmp/op-1"))

	info, err := os.Stat(s.Path("threads/child/bin/run.sh"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode().Perm()&0o100, "still executable")
	require.NoError(t, os.WriteFile(s.Path("threads/child/plan.md"), []byte("the child's plan"), 0o644))
	data, err := os.ReadFile(parent)
	require.NoError(t, err)
	assert.Equal(t, "plan", string(data))
	data, err = s.Blob(storetest.Sum("plan"))
	require.NoError(t, err)
	assert.Equal(t, "plan", string(data))
}

func TestAFrozenCopyIsReadOnlyFilesInWritableFolders(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := treeStore(t, Options{})
	storetest.PutFile(t, s, "threads/a/design/plan.md", "plan")
	require.NoError(t, os.Chmod(storetest.PutFile(t, s, "threads/a/run.sh", "run"), 0o755))
	st := stageFor(t, s)
	m, _, err := st.Snapshot(ctx, "a", scope.Set{})
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	require.NoError(t, st.Materialize(ctx, m, "child/context/inherited/ref-1", true))
	mode := func(rel string) fs.FileMode {
		info, err := os.Stat(s.Path(st.Rel("child/context/inherited/ref-1") + "/" + rel))
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	assert.Zero(t, mode("design/plan.md")&0o333)
	assert.NotZero(t, mode("run.sh")&0o100)
	assert.Zero(t, mode("run.sh")&0o222)
	assert.NotZero(t, mode("design")&0o200)
}

func TestASnapshotThatIsTakenAgainWritesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var written atomic.Int32
	s := treeStore(t, Options{Before: func(a saferoot.Action, _ string) error {
		if a == saferoot.ActWrite {
			written.Add(1)
		}
		return nil
	}})
	storetest.PutFile(t, s, "threads/a/plan.md", "plan")
	storetest.PutFile(t, s, "threads/a/copy.md", "plan")
	storetest.PutFile(t, s, "threads/a/other.md", "other")
	st := stageFor(t, s)
	first, _, err := st.Snapshot(ctx, "a", scope.Set{})
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	assert.Equal(t, int32(2), written.Load())
	second, _, err := st.Snapshot(ctx, "a", scope.Set{})
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	assert.Equal(t, int32(2), written.Load())
	assert.Equal(t, first, second)
	assert.Len(t, storedBlobs(t, s), 2)
}

func TestAPatternThatMatchesNothingIsT203(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := treeStore(t, Options{})
	storetest.PutFile(t, s, "threads/a/plan.md", "plan")
	storetest.PutFile(t, s, "threads/a/context/inherited/r/x.md", "x")
	require.NoError(t, os.Mkdir(s.Path("threads/a/empty"), 0o755))
	st := stageFor(t, s)
	_, _, err := st.Snapshot(ctx, "a", storetest.Scope(t, "no.md", "context/**", "plan/"))
	facts := storetest.WantCode(t, err, codes.ScopeNotFound).Facts()
	assert.Equal(t, "no.md", facts.Text("path"))
	assert.Equal(t, "a", facts.Text("threadId"))
	assert.Equal(t, "no.md, context/**, plan/", facts.Text("paths"))
	assert.Empty(t, storedBlobs(t, s))
	m, skipped, err := st.Snapshot(ctx, "a", storetest.Scope(t, "empty", "*.md"))
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	assert.Equal(t, []string{"plan.md"}, m.Paths())
	assert.Empty(t, skipped)
	_, _, err = st.Snapshot(ctx, "nobody", scope.Set{})
	storetest.WantCode(t, err, codes.TargetCorrupted)
}

func TestAFileOverTheLimitIsT508BeforeAnythingIsStored(t *testing.T) {
	t.Parallel()
	s := treeStore(t, Options{})
	storetest.PutFile(t, s, "threads/a/a.md", "a")
	storetest.PutSparse(t, s, "threads/a/z.bin", content.MaxFile+1)
	st := stageFor(t, s)
	_, _, err := st.Snapshot(context.Background(), "a", scope.Set{})
	facts := storetest.WantCode(t, err, codes.TooLarge).Facts()
	assert.Equal(t, ".leslie/threads/a/z.bin", facts.Text("what"))
	assert.Equal(t, ".leslie/threads/a/z.bin", facts.Text("path"))
	assert.Equal(t, "64 MiB", facts.Text("limit"))
	assert.Equal(t, "a", facts.Text("threadId"))
	assert.Empty(t, storedBlobs(t, s))
	m, _, err := st.Snapshot(context.Background(), "a", storetest.Scope(t, "a.md"))
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	assert.Len(t, m, 1)
}

func TestMoreFilesThanASnapshotMayHoldAreT508AndAScopeHelps(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the files alone take seconds: make whole")
	}
	s := treeStore(t, Options{})
	storetest.PutFile(t, s, "threads/a/plan.md", "plan")
	require.NoError(t, os.Mkdir(s.Path("threads/a/many"), 0o755))
	for i := range scan.MaxFiles {
		f, err := os.Create(s.Path("threads/a/many/" + strconv.Itoa(i)))
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	st := stageFor(t, s)
	_, _, err := st.Snapshot(context.Background(), "a", scope.Set{})
	facts := storetest.WantCode(t, err, codes.TooLarge).Facts()
	assert.Equal(t, "10,000 files", facts.Text("limit"))
	assert.Equal(t, "a", facts.Text("threadId"))
	m, _, err := st.Snapshot(context.Background(), "a", storetest.Scope(t, "plan.md"))
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	assert.Len(t, m, 1)
	entries, err := s.Artifacts("a")
	require.NoError(t, err)
	assert.Len(t, entries, scan.MaxFiles+2, "a list has no limit: it is what the error leads to")
}

func TestAStageThatIsInterruptedIsT904(t *testing.T) {
	t.Parallel()
	s := treeStore(t, Options{})
	storetest.PutFile(t, s, "threads/a/plan.md", "plan")
	st := stageFor(t, s)
	m, _, err := st.Snapshot(context.Background(), "a", scope.Set{})
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err = st.Snapshot(ctx, "a", scope.Set{})
	storetest.WantCode(t, err, codes.Interrupted)
	storetest.WantCode(t, st.Materialize(ctx, m, "x", false), codes.Interrupted)
}

func TestAPlaceOutsideTheStageIsT507(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := treeStore(t, Options{})
	st := stageFor(t, s)
	for _, bad := range []string{"", ".", "..", "../op-2", "/tmp/x", "lock", "a/../../b"} {
		storetest.WantCode(t, st.Materialize(ctx, nil, bad, false), codes.UnsafePath)
		storetest.WantCode(t, st.Write(bad, nil, false), codes.UnsafePath)
	}
	for _, bad := range []thread.OperationID{"", ".", "..", "../x", "a/b", ".hidden"} {
		_, err := s.Stage(bad)
		storetest.WantCode(t, err, codes.UnsafePath)
	}
}

func TestADamagedBlobIsNotMaterialized(t *testing.T) {
	t.Parallel()
	s := treeStore(t, Options{})
	st := stageFor(t, s)
	id, err := st.Put([]byte("content"))
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	name := s.Path(content.Path(id))
	require.NoError(t, os.Chmod(name, 0o644))
	require.NoError(t, os.WriteFile(name, []byte("CONTENT"), 0o644))
	err = st.Materialize(context.Background(), content.Manifest{{Path: "f", SHA256: id, Size: 7}}, "x", false)
	storetest.WantCode(t, err, codes.ReadFailed)
	require.ErrorIs(t, err, content.ErrDamaged)
	assert.NoFileExists(t, s.Path("tmp/op-1/x/f"))
}

func TestAnEmptyManifestMakesAFolder(t *testing.T) {
	t.Parallel()
	s := treeStore(t, Options{})
	st := stageFor(t, s)
	require.NoError(t, st.Materialize(context.Background(), nil, "child", false))
	assert.DirExists(t, s.Path("tmp/op-1/child"))
	require.NoError(t, st.Write("child/.meta/note", []byte("x"), false))
	storetest.WantCode(t, st.Write("child/.meta/note", []byte("y"), false), codes.WriteFailed)
}

// trace is what a store did to its disk.
type trace struct {
	mu    sync.Mutex
	steps []string
}

func (tr *trace) before(root func() string) func(saferoot.Action, string) error {
	return func(a saferoot.Action, path string) error {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		rel, _ := filepath.Rel(root(), path)
		tr.steps = append(tr.steps, string(a)+" "+filepath.ToSlash(rel))
		return nil
	}
}

func TestContentIsOnDiskBeforeItsNameAndEveryNameAfterSync(t *testing.T) {
	t.Parallel()
	var tr trace
	var s *testStore
	s = treeStore(t, Options{Before: tr.before(func() string { return s.Path("") })})
	storetest.PutFile(t, s, "threads/a/d/plan.md", "plan")
	st := stageFor(t, s)
	m, _, err := st.Snapshot(context.Background(), "a", scope.Set{})
	require.NoError(t, err)
	require.NoError(t, st.Materialize(context.Background(), m, "x", false))
	require.NoError(t, st.Sync())
	blob := content.Path(storetest.Sum("plan"))
	assert.Equal(t, []string{
		"mkdir tmp", "mkdir tmp/op-1", "create tmp/op-1/lock",
		"create tmp/op-1/blob-1", "write tmp/op-1/blob-1",
		"mkdir blobs", "mkdir blobs/sha256", "mkdir " + filepath.ToSlash(filepath.Dir(blob)),
		"mkdir tmp/op-1/x", "mkdir tmp/op-1/x/d",
		"create tmp/op-1/x/d/plan.md", "write tmp/op-1/x/d/plan.md",
		"fsync tmp/op-1/blob-1", "fsync tmp/op-1/x/d/plan.md", "rename " + blob,
		"fsync-dir tmp/op-1/x/d", "fsync-dir tmp/op-1/x", "fsync-dir " + filepath.ToSlash(filepath.Dir(blob)),
		"fsync-dir tmp/op-1", "fsync-dir blobs/sha256", "fsync-dir tmp", "fsync-dir blobs", "fsync-dir .",
	}, tr.steps)
	n := len(tr.steps)
	require.NoError(t, st.Sync())
	assert.Len(t, tr.steps, n, "nothing is left to sync")
}

// errInjected is what a failing disk says in these tests.
var errInjected = syscall.ENOSPC

// rehearse is all that a spawn does with a stage.
func rehearse(s *testStore) (thread.BlobID, error) {
	st, err := s.Stage("op-1")
	if err != nil {
		return "", err
	}
	id, err := func() (thread.BlobID, error) {
		m, _, err := st.Snapshot(context.Background(), "a", scope.Set{})
		if err != nil {
			return "", err
		}
		id, err := st.PutManifest(m)
		if err != nil {
			return "", err
		}
		if err := st.Materialize(context.Background(), m, "child", false); err != nil {
			return "", err
		}
		return id, st.Sync()
	}()
	if err != nil {
		_ = st.Discard()
		return "", err
	}
	if err := os.Rename(s.Path(st.Rel("child")), s.Path("threads/child")); err != nil {
		return "", err
	}
	return id, st.Close()
}

func stagesLeft(t *testing.T, s *testStore) []fs.DirEntry {
	t.Helper()
	left, err := os.ReadDir(s.Path(content.Tmp))
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	return left
}

func TestAStepThatFailsLeavesNoBlobWithWrongContentAndNothingInTheWay(t *testing.T) {
	t.Parallel()
	var failed saferoot.Action
	count := func(fail int) (*testStore, thread.BlobID, int, error) {
		n := 0
		s := treeStore(t, Options{Before: func(a saferoot.Action, _ string) error {
			if n++; n == fail {
				failed = a
				return errInjected
			}
			return nil
		}})
		storetest.PutFile(t, s, "threads/a/plan.md", "plan")
		storetest.PutFile(t, s, "threads/a/d/e/other.md", "other")
		id, err := rehearse(s)
		return s, id, n, err
	}
	_, _, steps, err := count(0)
	require.NoError(t, err)
	require.Greater(t, steps, 30)
	for fail := 1; fail <= steps; fail++ {
		s, _, _, err := count(fail)
		if err != nil {
			code := storetest.WantCode(t, err, codes.WriteFailed)
			require.ErrorIs(t, err, errInjected)
			assert.True(t, strings.HasPrefix(code.Facts().Text("path"), ".leslie"), code.Facts().Text("path"))
			assert.Equal(t, errInjected.Error(), code.Facts().Text("reason"))
		}
		storedBlobs(t, s) // each fits its name
		if failed != saferoot.ActRemove {
			require.Empty(t, stagesLeft(t, s), "step %d, %s", fail, failed)
		}
		again := storeIn(s.Root(), Options{})
		require.NoError(t, again.sweepStages(""))
		require.Empty(t, stagesLeft(t, s), "step %d, %s", fail, failed)
		require.NoError(t, os.RemoveAll(s.Path("threads/child")))
		id, err := rehearse(again)
		require.NoError(t, err, "works again after step %d", fail)
		m, err := again.Manifest(id)
		require.NoError(t, err)
		assert.Equal(t, []string{"d/e/other.md", "plan.md"}, m.Paths())
	}
}

func TestAStageThatSomebodyHoldsIsNotSwept(t *testing.T) {
	t.Parallel()
	s := treeStore(t, Options{})
	require.NoError(t, s.sweepStages(""), "no folder for temporary files")
	st := stageFor(t, s)
	require.NoError(t, st.Write("x", []byte("x"), false))
	storetest.PutFile(t, s, "tmp/op-dead/lock", "")
	storetest.PutFile(t, s, "tmp/op-dead/d/x", "x")
	storetest.PutFile(t, s, "tmp/op-kept/lock", "")
	storetest.PutFile(t, s, "tmp/op-nolock/x", "x")
	require.NoError(t, os.Mkdir(s.Path("tmp/op-empty"), 0o755))
	storetest.PutFile(t, s, "tmp/stray", "not a folder")
	require.NoError(t, s.sweepStages("op-kept"))
	assert.FileExists(t, s.Path("tmp/op-1/x"))
	assert.FileExists(t, s.Path("tmp/op-kept/lock"))
	assert.FileExists(t, s.Path("tmp/stray"))
	for _, gone := range []string{"op-dead", "op-nolock", "op-empty"} {
		assert.NoDirExists(t, s.Path("tmp/"+gone))
	}
	require.NoError(t, st.Close())
	assert.NoDirExists(t, s.Path("tmp/op-1"))
	require.NoError(t, s.sweepStages(""))
	assert.NoDirExists(t, s.Path("tmp/op-kept"))
}

func TestASweepFollowsNoLink(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	precious := filepath.Join(outside, "precious")
	require.NoError(t, os.Mkdir(precious, 0o755))
	s := treeStore(t, Options{})
	require.NoError(t, os.Symlink(outside, s.Path(content.Tmp)))
	storetest.WantCode(t, s.sweepStages(""), codes.UnsafePath)
	assert.DirExists(t, precious)

	require.NoError(t, os.Remove(s.Path(content.Tmp)))
	require.NoError(t, os.MkdirAll(s.Path("tmp/op-planted"), 0o755))
	require.NoError(t, os.Symlink(outside, s.Path("tmp/link")))
	require.NoError(t, os.Symlink(outside, s.Path("tmp/op-planted/d")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "made"), s.Path("tmp/op-planted/lock")))
	require.NoError(t, s.sweepStages(""))
	assert.NoDirExists(t, s.Path("tmp/op-planted"))
	assert.DirExists(t, precious)
	assert.NoFileExists(t, filepath.Join(outside, "made"))
}

func TestAStageThatIsSweptWhileItIsMadeIsMadeAnew(t *testing.T) {
	t.Parallel()
	for sweeps := range 4 {
		var s *testStore
		left := sweeps
		s = treeStore(t, Options{Before: func(_ saferoot.Action, path string) error {
			if filepath.Base(path) == lockName && left > 0 {
				left--
				return storeIn(s.Root(), Options{}).sweepStages("")
			}
			return nil
		}})
		st, err := s.Stage("op-1")
		require.NoError(t, err)
		require.NoError(t, s.sweepStages(""))
		assert.FileExists(t, s.Path("tmp/op-1/lock"))
		require.NoError(t, st.Write("x", []byte("x"), false))
		require.NoError(t, st.Close())
	}
}

func TestStagesAndSweepsAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	s := treeStore(t, Options{})
	stop := make(chan struct{})
	var sweeper, makers sync.WaitGroup
	sweeper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				assert.NoError(t, s.sweepStages(""))
			}
		}
	})
	for maker := range 4 {
		makers.Go(func() {
			for i := range 50 {
				op := thread.OperationID(fmt.Sprintf("op-%d-%d", maker, i))
				st, err := s.Stage(op)
				if !assert.NoError(t, err) {
					return
				}
				assert.NoError(t, st.Write("x", []byte(op), false))
				data, err := os.ReadFile(s.Path(st.Rel("x")))
				assert.NoError(t, err)
				assert.Equal(t, string(op), string(data))
				assert.NoError(t, st.Discard())
			}
		})
	}
	makers.Wait()
	close(stop)
	sweeper.Wait()
	assert.Empty(t, stagesLeft(t, s))
}

func TestALockWhoseFileWasReplacedIsNoLock(t *testing.T) {
	t.Parallel()
	if !removeHeld {
		t.Skip("a locked file cannot be replaced here")
	}
	s := treeStore(t, Options{})
	name := storetest.PutFile(t, s, "tmp/op-1/lock", "")
	r, err := s.disk.Open()
	require.NoError(t, err)
	defer r.Close()
	lock, info, err := hold(r, "tmp/op-1/lock")
	require.NoError(t, err)
	require.NotNil(t, info)
	defer func() { _ = lock.Unlock() }()

	storetest.PutFile(t, s, "tmp/op-1/new", "")
	require.NoError(t, os.Rename(s.Path("tmp/op-1/new"), name))
	info, err = standing(r, "tmp/op-1/lock", lock)
	require.NoError(t, err)
	assert.Nil(t, info)
	require.NoError(t, os.Remove(name))
	info, err = standing(r, "tmp/op-1/lock", lock)
	require.NoError(t, err)
	assert.Nil(t, info)
}

func TestWhatWasPromisedToAStepOutlivesTheStage(t *testing.T) {
	t.Parallel()
	s := treeStore(t, Options{})
	st := stageFor(t, s)
	require.NoError(t, st.Write("file", []byte("x"), false))
	from := st.Rel("file")
	require.NoError(t, st.Close())
	require.NoError(t, st.Close())
	assert.FileExists(t, s.Path(from), "its step may be recorded and not yet carried out")
	require.NoError(t, s.sweepStages("op-1"))
	assert.FileExists(t, s.Path(from))
	require.NoError(t, s.sweepStages(""))
	assert.NoDirExists(t, s.Path("tmp/op-1"))

	st = stageFor(t, s)
	require.NoError(t, st.Write("file", []byte("x"), false))
	st.Rel("file")
	require.NoError(t, st.Discard())
	assert.NoDirExists(t, s.Path("tmp/op-1"))

	st = stageFor(t, s)
	require.NoError(t, os.RemoveAll(s.Path("tmp/op-1")), "the steps were carried out and the folder taken away")
	require.NoError(t, st.Close())
}

func TestAStageOfAnOperationThatHasOneIsT505(t *testing.T) {
	t.Parallel()
	s := treeStore(t, Options{})
	st := stageFor(t, s)
	_, err := s.Stage("op-1")
	storetest.WantCode(t, err, codes.WriteFailed)
	require.ErrorIs(t, err, fs.ErrExist)
	require.NoError(t, st.Write("x", nil, false), "the first is unharmed")
}

// A signal says nothing of the lock that was asked for.
func TestASignalDoesNotKeepAStageFromBeingMade(t *testing.T) {
	t.Parallel()
	left := 3
	s := treeStore(t, Options{Before: func(_ saferoot.Action, name string) error {
		if filepath.Base(name) == lockName && left > 0 {
			left--
			return syscall.EINTR
		}
		return nil
	}})
	st := stageFor(t, s)
	assert.Zero(t, left)
	assert.True(t, Held(s.disk, string(st.op)))
}
