package store_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/internal/content"
	"leslie/thread"
)

// treeStore is a store with nothing in it but its folders.
func treeStore(t *testing.T, opts store.Options) *store.Store {
	t.Helper()
	s := store.Open(t.TempDir(), opts)
	require.NoError(t, os.MkdirAll(s.Path(store.ThreadsDir), 0o755))
	return s
}

func entryPaths(entries []store.Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Path)
	}
	return out
}

// stageFor is a stage of op-1 that the test ends.
func stageFor(t *testing.T, s *store.Store) *store.Stage {
	t.Helper()
	st, err := s.Stage("op-1")
	require.NoError(t, err)
	t.Cleanup(func() { _ = st.Discard() })
	return st
}

// stored stores content, and has it under its name.
func stored(t *testing.T, s *store.Store, content string) (thread.BlobID, error) {
	t.Helper()
	st := stageFor(t, s)
	id, err := st.Put([]byte(content))
	require.NoError(t, err)
	return id, st.Sync()
}

func keepTree(s *store.Store, rel string) error {
	_, err := content.Keep(s.Files().Disk, rel)
	return err
}

const blobsRoot = content.Sums

func blobPath(id thread.BlobID) string { return content.Path(id) }

func verify(s *store.Store, id thread.BlobID) error {
	base, err := s.Files().OpenBase()
	if err != nil {
		return err
	}
	defer base.Close()
	return content.Verify(base, id)
}
