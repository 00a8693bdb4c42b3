package saferoot

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each step fails in turn: until the rename the file is as it was, behind it the
// new one, and nothing temporary is left. The bytes are on disk before the name.
func TestAPlainFileIsReplacedWholeAndOnDisk(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		path := filepath.Join(t.TempDir(), "ours.md")
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
		var done []Action
		d := Disk{Before: func(a Action, _ string) error {
			if len(done)+1 == at {
				return syscall.EIO
			}
			done = append(done, a)
			return nil
		}}
		undurable, err := d.ReplaceFile(path, []byte("new"), 0o755)
		text, readErr := os.ReadFile(path)
		require.NoError(t, readErr)
		if err != nil {
			assert.Equal(t, "old", string(text), "step %d failed", at)
		} else {
			assert.Equal(t, "new", string(text), "step %d failed", at)
			info, err := os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o755), info.Mode().Perm())
		}
		names, readErr := os.ReadDir(filepath.Dir(path))
		require.NoError(t, readErr)
		assert.Len(t, names, 1, "step %d failed", at)
		if err == nil && undurable == nil {
			assert.Equal(t, []Action{ActCreate, ActWrite, ActWrite, ActSync, ActRename, ActSyncDir}, done)
			return
		}
	}
}
