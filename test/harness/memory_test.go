package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheFolderInMemoryIsThatOfTMPDIRWhereOneIsNamed(t *testing.T) {
	named := t.TempDir()
	t.Setenv("TMPDIR", named)
	t.Setenv(diskVariable, "")
	assert.Empty(t, MemoryDir())
	require.NoError(t, UseMemory())
	assert.Equal(t, named, os.TempDir())
	assert.Equal(t, named, filepath.Dir(DiskDir(t)))
}

func TestTemporaryFilesMoveIntoMemoryAndTheDiskStaysKnown(t *testing.T) {
	t.Setenv("TMPDIR", "")
	t.Setenv(diskVariable, "")
	memory, disk := MemoryDir(), os.TempDir()
	require.NoError(t, UseMemory())
	assert.Equal(t, disk, filepath.Dir(DiskDir(t)))
	if memory == "" {
		t.Skip("no folder in memory has room here")
	}
	assert.Equal(t, memory, os.TempDir())
}
