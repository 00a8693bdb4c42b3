package store

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store/internal/content"
	"leslie/thread"
)

// treeStore is a store with nothing in it but its folders.
func treeStore(t *testing.T, opts Options) *Store {
	t.Helper()
	s := Open(t.TempDir(), opts)
	require.NoError(t, os.MkdirAll(s.Path(ThreadsDir), 0o755))
	return s
}

// putFile writes a file into the store's folder, as somebody else would.
func putFile(t *testing.T, s *Store, rel, content string) string {
	t.Helper()
	name := s.Path(rel)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
	return name
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

// stageFor is a stage of op-1 that the test ends.
func stageFor(t *testing.T, s *Store) *Stage {
	t.Helper()
	st, err := s.Stage("op-1")
	require.NoError(t, err)
	t.Cleanup(func() { _ = st.Discard() })
	return st
}

// stored stores content, and has it under its name.
func stored(t *testing.T, s *Store, content string) (thread.BlobID, error) {
	t.Helper()
	st := stageFor(t, s)
	id, err := st.Put([]byte(content))
	require.NoError(t, err)
	return id, st.Sync()
}

const blobsRoot = content.Sums

func blobPath(id thread.BlobID) string { return content.Path(id) }

func verify(s *Store, id thread.BlobID) error {
	base, err := s.disk.OpenBase()
	if err != nil {
		return err
	}
	defer base.Close()
	return content.Verify(base, id)
}

func keepTree(s *Store, rel string) error {
	_, err := content.Keep(s.disk, rel)
	return err
}
