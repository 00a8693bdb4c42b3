package store_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/teststore"
	"leslie/warnings"
)

func TestAnEditOfAProjectsFileThatFailsLeavesItAndOneThatStandsSaysSo(t *testing.T) {
	t.Parallel()
	edit := func(old []byte) []byte { return append(old, "ours\n"...) }
	for at := 1; ; at++ {
		n := 0
		failAt := func(store.Action, string) error {
			if n++; n == at {
				return syscall.EIO
			}
			return nil
		}
		s := teststore.New(t, store.Options{})
		name := filepath.Join(s.Root(), "AGENTS.md")
		require.NoError(t, os.WriteFile(name, []byte("theirs\n"), 0o600))
		changed, notes, err := store.Open(s.Root(), store.Options{Before: failAt}).EditFile(context.Background(), store.Wait{}, "AGENTS.md", edit)
		text, readErr := os.ReadFile(name)
		require.NoError(t, readErr)
		if err != nil {
			teststore.RequireCode(t, codes.WriteFailed, err)
			assert.Equal(t, "theirs\n", string(text), "step %d failed", at)
		} else {
			assert.True(t, changed)
			assert.Equal(t, "theirs\nours\n", string(text))
			assert.Equal(t, n >= at, teststore.HasWarning(notes, warnings.NotSettled), "step %d", at)
		}
		entries, readErr := os.ReadDir(s.Root())
		require.NoError(t, readErr)
		assert.Len(t, entries, 2, "the file and the store, nothing temporary")
		if n < at {
			require.Greater(t, at, 4, "each step was failed")
			return
		}
	}
}

func TestAnEditedFileKeepsItsPermissions(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	name := filepath.Join(s.Root(), "AGENTS.md")
	for _, mode := range []os.FileMode{0o664, 0o666, 0o755, 0o600} {
		require.NoError(t, os.WriteFile(name, []byte("theirs\n"), 0o600))
		require.NoError(t, os.Chmod(name, mode)) // whatever the umask is
		changed, _, err := s.EditFile(context.Background(), store.Wait{}, "AGENTS.md", func([]byte) []byte { return []byte("ours\n") })
		require.NoError(t, err)
		require.True(t, changed)
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm())
	}
}
