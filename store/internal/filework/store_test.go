package filework

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/thread"
)

// Options are those of a testStore.
type Options = saferoot.Disk

type reader = scan.Artifacts

// testStore is a store's folder.
type testStore struct {
	reader
	disk saferoot.Disk
}

func storeIn(dir string, opts Options) *testStore {
	opts.Project = dir
	return &testStore{scan.On(opts), opts}
}

// treeStore is a store with nothing in it but its folders.
func treeStore(t *testing.T, opts Options) *testStore {
	t.Helper()
	s := storeIn(t.TempDir(), opts)
	require.NoError(t, os.MkdirAll(s.Path(scan.Threads), 0o755))
	return s
}

func (s *testStore) Root() string { return s.disk.Project }

func (s *testStore) Path(rel string) string { return s.disk.Path(rel) }

func (s *testStore) Stage(op thread.OperationID) (*Stage, error) { return NewStage(s.disk, op) }

func (s *testStore) sweepStages(keep ...thread.OperationID) error {
	return SweepStages(s.disk, keep...)
}

// stageFor is a stage of op-1 that the test ends.
func stageFor(t *testing.T, s *testStore) *Stage {
	t.Helper()
	st, err := s.Stage("op-1")
	require.NoError(t, err)
	t.Cleanup(func() { _ = st.Discard() })
	return st
}

// storedBlobs returns the names of all blobs, and fails for one that does not
// hold what it is named for.
func storedBlobs(t *testing.T, s *testStore) []thread.BlobID {
	t.Helper()
	out := []thread.BlobID{}
	err := filepath.WalkDir(s.Path(content.Sums), func(name string, d fs.DirEntry, err error) error {
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

func verify(s *testStore, id thread.BlobID) error {
	base, err := s.disk.OpenBase()
	if err != nil {
		return err
	}
	defer base.Close()
	return content.Verify(base, id)
}
