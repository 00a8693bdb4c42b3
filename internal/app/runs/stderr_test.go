package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheErrorOutputOfAgentsIsKeptInBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	written := func(parts ...string) string {
		l := openErrorLog(dir)
		for _, part := range parts {
			n, err := l.Write([]byte(part))
			require.NoError(t, err)
			assert.Equal(t, len(part), n)
		}
		l.Close()
		text, err := os.ReadFile(filepath.Join(dir, ErrorsFile))
		require.NoError(t, err)
		return string(text)
	}
	euro := "€"
	assert.Equal(t, "red \\x1b[31m\tcost 5 €\n\\xff", written("red \x1b[31m\t", "cost 5 "+euro[:1], euro[1:]+"\n", "\xff"), "a character may come in parts")
	assert.True(t, strings.HasPrefix(written("more\n"), "red"), "the next agent adds to it")
	long := strings.Repeat("x", 700<<10)
	full := written(long, long)
	assert.Less(t, len(full), maxErrors+100)
	assert.True(t, strings.HasSuffix(full, "\n(cut)\n"))
	assert.Equal(t, "new\n", written("new\n"), "a full one is begun anew")
	info, err := os.Stat(filepath.Join(dir, ErrorsFile))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.WriteFile(elsewhere, []byte("mine\n"), 0o600))
	require.NoError(t, os.Remove(filepath.Join(dir, ErrorsFile)))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, ErrorsFile)))
	written("not here\n")
	text, err := os.ReadFile(elsewhere)
	require.NoError(t, err)
	assert.Equal(t, "mine\n", string(text), "a link is not followed")
}
