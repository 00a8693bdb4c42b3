package teststore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"leslie/store"
)

// ExchangeStore is a store with a thread whose files are going to be exchanged.
func ExchangeStore(t testing.TB) *store.Store {
	t.Helper()
	s := New(t, store.Options{})
	Add(t, s, Names(2)...)
	PrepareThread(t, s)
	return s
}

// InThread is the folder of the thread of ExchangeStore.
const InThread = "threads/thread-old/"

// Save writes files of that thread, as somebody else does.
func Save(t testing.TB, s *store.Store, files map[string]string) {
	t.Helper()
	for name, content := range files {
		to := s.Path(InThread + name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.WriteFile(to, []byte(content), 0o644))
	}
}
