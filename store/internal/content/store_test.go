package content

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// testStore is a store's folder.
type testStore struct {
	Blobs
	disk saferoot.Disk
}

func (s testStore) Path(rel string) string { return s.disk.Path(rel) }

// testStage stores bytes.
type testStage struct{ *Writer }

func (st testStage) Put(data []byte) (thread.BlobID, error) {
	id, _, err := st.Writer.Put(bytes.NewReader(data), "test", MaxFile)
	return id, err
}

func (st testStage) PutManifest(m Manifest) (thread.BlobID, error) {
	data, err := m.Encode()
	if err != nil {
		return "", err
	}
	return st.Put(data)
}

func treeStore(t *testing.T) testStore {
	t.Helper()
	disk := saferoot.Disk{Project: t.TempDir()}
	require.NoError(t, os.MkdirAll(disk.Path(""), 0o755))
	return testStore{On(disk), disk}
}

func verify(s testStore, id thread.BlobID) error {
	base, err := s.disk.OpenBase()
	if err != nil {
		return err
	}
	defer base.Close()
	return Verify(base, id)
}

func keepTree(s testStore, rel string) error {
	_, err := Keep(s.disk, rel)
	return err
}
