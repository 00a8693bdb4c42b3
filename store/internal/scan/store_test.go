package scan

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/scope"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// testStore is a store's folder.
type testStore struct{ reader }

type reader = Artifacts

func storeIn(dir string) testStore { return testStore{On(saferoot.Disk{Project: dir})} }

func (s testStore) Path(rel string) string { return s.disk.Path(rel) }

// testStage stores content, and takes snapshots.
type testStage struct {
	*content.Writer
	store testStore
	since time.Time
}

// stageFor is a stage that the test ends.
func stageFor(t *testing.T, s testStore) *testStage {
	t.Helper()
	root, err := s.disk.Open()
	require.NoError(t, err)
	st := &testStage{content.NewWriter(root, "tmp/op-1"), s, time.Now()}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func (st *testStage) Put(data []byte) (thread.BlobID, error) {
	id, _, err := st.Writer.Put(bytes.NewReader(data), "test", content.MaxFile)
	return id, err
}

func (st *testStage) PutManifest(m content.Manifest) (thread.BlobID, error) {
	data, err := m.Encode()
	if err != nil {
		return "", err
	}
	return st.Put(data)
}

func (st *testStage) Snapshot(ctx context.Context, id thread.ThreadID, set scope.Set) (content.Manifest, []string, error) {
	return Snapshot(ctx, st.store.reader, id, set, st.since, st.Writer)
}

// treeStore is a store with nothing in it but its folders.
func treeStore(t *testing.T) testStore {
	t.Helper()
	s := storeIn(t.TempDir())
	require.NoError(t, os.MkdirAll(s.Path(Threads), 0o755))
	return s
}

// putFile writes a file into the store's folder, as somebody else would.
func putFile(t *testing.T, s testStore, rel, content string) string {
	t.Helper()
	name := s.Path(rel)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
	return name
}

// putSparse makes a file of a size without its bytes.
func putSparse(t *testing.T, s testStore, rel string, size int64) string {
	t.Helper()
	name := putFile(t, s, rel, "")
	require.NoError(t, os.Truncate(name, size))
	return name
}

func scopeOf(t *testing.T, patterns ...string) scope.Set {
	t.Helper()
	set, err := scope.Parse(patterns)
	require.NoError(t, err)
	return set
}

func hexSum(content string) thread.BlobID {
	sum := sha256.Sum256([]byte(content))
	return thread.BlobID(hex.EncodeToString(sum[:]))
}

func entryPaths(entries []Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Path)
	}
	return out
}

func wantCode(t *testing.T, err error, code codes.Code) *codes.Error {
	t.Helper()
	require.Error(t, err)
	require.True(t, codes.Has(err, code), "want %s, got %v", code, err)
	return codes.Of(err)
}
