package scan

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

func entryPaths(entries []Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Path)
	}
	return out
}
