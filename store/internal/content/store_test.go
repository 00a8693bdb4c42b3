package content

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
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

func hexSum(content string) thread.BlobID {
	sum := sha256.Sum256([]byte(content))
	return thread.BlobID(hex.EncodeToString(sum[:]))
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

func wantCode(t *testing.T, err error, code codes.Code) *codes.Error {
	t.Helper()
	e := codes.Of(err)
	require.NotNil(t, e, "%v", err)
	assert.Equal(t, code, e.Code(), "%v", err)
	return e
}
