package atomicfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func namesIn(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestAReaderSeesTheOldContentOrTheNew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plan.md")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	f, err := New(filepath.Dir(path), path, 0o644)
	require.NoError(t, err)
	_, err = f.Write([]byte("new"))
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(text))
	assert.Len(t, namesIn(t, filepath.Dir(path)), 2)
	require.NoError(t, f.Replace())
	require.NoError(t, SyncFolder(filepath.Dir(path)))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "new", string(text))
	require.NoError(t, f.Cleanup())
	assert.Equal(t, []string{"plan.md"}, namesIn(t, filepath.Dir(path)))
}

func TestWhatIsNotReplacedIsCleanedUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "plan.md")
	require.NoError(t, os.Mkdir(path, 0o755)) // a file cannot take its name
	temp := filepath.Join(dir, "temp")
	require.NoError(t, os.Mkdir(temp, 0o755))
	f, err := New(temp, path, 0o644)
	require.NoError(t, err)
	left := namesIn(t, temp)
	require.Len(t, left, 1)
	assert.True(t, Temporary(left[0]), left[0])
	require.Error(t, f.Replace())
	require.NoError(t, f.Cleanup())
	assert.Empty(t, namesIn(t, temp))
	assert.DirExists(t, path)
}

func TestTemporaryNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		".plan.md5577006791947779410": true, "..gitignore5577006791947779410": true,
		".plan.md": false, "plan.md5577006791947779410": false, ".plan.md12": false, ".5577006791947779410": false, "": false,
	} {
		assert.Equal(t, want, Temporary(name), name)
	}
}
