package git

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a killed process left in the repository is removed by a later one, but not what
// another uses at this time; and nothing stays of a process that ends.
func TestPrivateFoldersOfKilledProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	r := &Repo{Admin: t.TempDir()}
	parent := filepath.Join(r.Admin, scratchDir)
	for name, age := range map[string]time.Duration{"killed": 25 * time.Hour, "in-use": 23 * time.Hour} {
		dir := filepath.Join(parent, name)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "objects"), 0o755))
		at := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(dir, at, at))
	}
	dir, remove, err := r.scratch()
	require.NoError(t, err)
	assert.Equal(t, parent, filepath.Dir(dir))
	assert.NoDirExists(t, filepath.Join(parent, "killed"))
	assert.DirExists(t, filepath.Join(parent, "in-use"))
	remove()
	assert.NoDirExists(t, dir)
}

func TestAPrivateFolderIsTemporaryWhereTheRepositoryCannotBeWritten(t *testing.T) {
	t.Parallel()
	r := &Repo{Admin: filepath.Join(t.TempDir(), "gone")}
	dir, remove, err := r.scratch()
	require.NoError(t, err)
	assert.DirExists(t, dir)
	remove()
	assert.NoDirExists(t, dir)
}
