package content

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store/internal/storetest"
	"leslie/thread"
)

// stageFor is a writer that the test ends.
func stageFor(t *testing.T, s testStore) testStage {
	t.Helper()
	root, err := s.disk.Open()
	require.NoError(t, err)
	st := testStage{NewWriter(root, "tmp/op-1")}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// storedBlobs returns the names of all blobs, and fails for one that does not
// hold what it is named for.
func storedBlobs(t *testing.T, s testStore) []thread.BlobID {
	t.Helper()
	out := []thread.BlobID{}
	err := filepath.WalkDir(s.Path(Sums), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		id := thread.BlobID(filepath.Base(filepath.Dir(name)) + d.Name())
		out = append(out, id)
		return verify(s, id)
	})
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	return out
}

func TestABlobRestsUnderItsHashAndCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	st := stageFor(t, s)
	id, err := st.Put([]byte("hello\n"))
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	assert.Equal(t, thread.BlobID("5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"), id)
	name := s.Path("blobs/sha256/58/91b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03")
	info, err := os.Stat(name)
	require.NoError(t, err)
	assert.Zero(t, info.Mode().Perm()&0o333)
	data, err := s.Blob(id)
	require.NoError(t, err)
	assert.Equal(t, "hello\n", string(data))
	require.NoError(t, verify(s, id))

	empty, err := st.Put(nil)
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	data, err = s.Blob(empty)
	require.NoError(t, err)
	assert.Empty(t, data)
}

func TestADamagedBlobIsNeverGivenOut(t *testing.T) {
	t.Parallel()
	content := "the content of a blob"
	for what, harm := range map[string]func(name string) error{
		"a flipped byte": func(name string) error { return os.WriteFile(name, []byte("The content of a blob"), 0o644) },
		"cut":            func(name string) error { return os.Truncate(name, 5) },
		"emptied":        func(name string) error { return os.Truncate(name, 0) },
		"longer":         func(name string) error { return os.WriteFile(name, []byte(content+"!"), 0o644) },
		"gone":           os.Remove,
		"a folder":       func(name string) error { return errors.Join(os.Remove(name), os.Mkdir(name, 0o755)) },
		"a link": func(name string) error {
			return errors.Join(os.Rename(name, name+"x"), os.Symlink(filepath.Base(name)+"x", name))
		},
		"its folder gone": func(name string) error { return os.RemoveAll(filepath.Dir(name)) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := treeStore(t)
			id, err := stored(t, s, content)
			require.NoError(t, err)
			name := s.Path(Path(id))
			require.NoError(t, os.Chmod(name, 0o644))
			require.NoError(t, harm(name))

			data, err := s.Blob(id)
			facts := storetest.WantCode(t, err, codes.ReadFailed).Facts()
			assert.True(t, len(data) == 0 || errors.Is(err, ErrDamaged))
			assert.Equal(t, ".leslie/"+Path(id), facts.Text("path"))
			assert.Equal(t, strings.HasSuffix(what, "gone"), errors.Is(err, fs.ErrNotExist))
			storetest.WantCode(t, verify(s, id), codes.ReadFailed)
		})
	}
}

func TestAnIDThatNamesNoBlobOpensNothing(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	storetest.PutFile(t, s, "config.json", "{}")
	for _, id := range []thread.BlobID{"", "ab", "../../config.json", thread.BlobID(strings.Repeat("A", 64)), thread.BlobID("../" + strings.Repeat("a", 61))} {
		_, err := s.Blob(id)
		storetest.WantCode(t, err, codes.ReadFailed)
		require.ErrorIs(t, err, ErrDamaged)
	}
}

func TestABlobOfTheWrongSizeIsWrittenAnew(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	st := stageFor(t, s)
	id, err := st.Put([]byte("content"))
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	name := s.Path(Path(id))
	require.NoError(t, os.Chmod(name, 0o644))
	require.NoError(t, os.Truncate(name, 3))
	again, err := st.Put([]byte("content"))
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	require.Equal(t, id, again)
	data, err := s.Blob(id)
	require.NoError(t, err)
	assert.Equal(t, "content", string(data))
}

// fickle is a file that somebody writes while it is read: each reading from the
// start finds other content.
type fickle struct {
	versions []string
	*strings.Reader
}

func (f *fickle) Seek(int64, int) (int64, error) {
	f.versions = f.versions[1:]
	f.Reader = strings.NewReader(f.versions[0])
	return 0, nil
}

func TestContentThatChangesWhileItIsReadIsStoredAsItWasRead(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	st := stageFor(t, s)
	src := &fickle{versions: []string{"first", "second"}, Reader: strings.NewReader("first")}
	id, size, err := st.Writer.Put(src, "threads/a/f", MaxFile)
	require.NoError(t, err)
	assert.Equal(t, storetest.Sum("second"), id)
	assert.Equal(t, int64(6), size)
	require.NoError(t, st.Sync())
	assert.Equal(t, []thread.BlobID{id}, storedBlobs(t, s))
}

func TestAFileThatGrowsOverTheLimitWhileItIsReadIsT508(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	st := stageFor(t, s)
	src := &fickle{versions: []string{"small", "grown"}, Reader: strings.NewReader("small")}
	_, _, err := st.Writer.Put(src, "threads/a/f", 4)
	storetest.WantCode(t, err, codes.TooLarge)
	src = &fickle{versions: []string{"tiny", "grown"}, Reader: strings.NewReader("tiny")}
	_, _, err = st.Writer.Put(src, "threads/a/f", 4)
	facts := storetest.WantCode(t, err, codes.TooLarge).Facts()
	assert.Equal(t, ".leslie/threads/a/f", facts.Text("path"))
	assert.Equal(t, "64 MiB", facts.Text("limit"))
	assert.Empty(t, storedBlobs(t, s))
}

type brokenReader struct{ *bytes.Reader }

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

func TestAReadThatFailsIsT509NotAFailedWrite(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	st := stageFor(t, s)
	_, _, err := st.Writer.Put(brokenReader{bytes.NewReader(nil)}, "threads/a/f", MaxFile)
	storetest.WantCode(t, err, codes.ReadFailed)
	require.ErrorIs(t, err, io.ErrNoProgress)
	_, _, err = st.add(&source{r: brokenReader{}, from: "threads/a/f", limit: MaxFile})
	storetest.WantCode(t, err, codes.ReadFailed)
	assert.Empty(t, storedBlobs(t, s))
	left, err := os.ReadDir(s.Path("tmp/op-1"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestABlobsFolderThatIsALinkIsNotWrittenThrough(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"blobs", "blobs/sha256", "tmp"} {
		outside := t.TempDir()
		s := treeStore(t)
		require.NoError(t, os.MkdirAll(filepath.Dir(s.Path(place)), 0o755))
		require.NoError(t, os.Symlink(outside, s.Path(place)))
		_, err := stageFor(t, s).Put([]byte("x"))
		storetest.WantCode(t, err, codes.UnsafePath)
		left, err := os.ReadDir(outside)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

// The lock is held meanwhile: to look for one for ever would stop every writer.
func TestAFolderInABlobsPlaceThatNoNameIsFoundForIsAnError(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	st := stageFor(t, s)
	folder := Folder + "/" + strings.Repeat("x", 250) // with a mark it is longer than a name may be
	require.NoError(t, st.Ensure(folder))
	require.Error(t, st.clear(folder))
	assert.DirExists(t, s.Path(folder))
}

func TestWhatIsReplacedIsKept(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	storetest.PutFile(t, s, "threads/a/plan.md", "plan")
	storetest.PutFile(t, s, "threads/a/deep/er/same.md", "plan")
	storetest.PutFile(t, s, "threads/a/.meta/own", "own")
	big := storetest.PutSparse(t, s, "threads/a/big.bin", MaxFile+1)
	require.NoError(t, os.Symlink("plan.md", s.Path("threads/a/link")))
	storetest.PutFile(t, s, "tmp/keep/blob-1", "of a dead process")
	require.NoError(t, keepTree(s, "threads/a"))

	blobs := storedBlobs(t, s)
	assert.Len(t, blobs, 3)
	assert.Contains(t, blobs, storetest.Sum("plan"))
	assert.Contains(t, blobs, storetest.Sum("own"))
	assert.FileExists(t, big)
	assert.NoDirExists(t, s.Path("tmp/keep"))

	storetest.PutFile(t, s, "threads/b", "one file")
	require.NoError(t, keepTree(s, "threads/b"))
	assert.Contains(t, storedBlobs(t, s), storetest.Sum("one file"))
	require.NoError(t, keepTree(s, "threads/nobody"))
	storetest.WantCode(t, keepTree(s, ".."), codes.UnsafePath)
}

// stored stores content, and has it under its name.
func stored(t *testing.T, s testStore, content string) (thread.BlobID, error) {
	t.Helper()
	st := stageFor(t, s)
	id, err := st.Put([]byte(content))
	require.NoError(t, err)
	return id, st.Sync()
}
