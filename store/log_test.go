package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheLogIsAppendedToAndRotatedOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	require.NoError(t, s.AppendLog([]byte("one\n")))
	require.NoError(t, s.AppendLog([]byte("two\n")))
	log := s.Path("logs/leslie.log")
	data, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Equal(t, "one\ntwo\n", string(data))

	require.NoError(t, os.Truncate(log, logLimit+1))
	require.NoError(t, s.AppendLog([]byte("three\n")))
	data, err = os.ReadFile(log)
	require.NoError(t, err)
	assert.Equal(t, "three\n", string(data))
	old, err := os.ReadFile(log + ".1")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(old), "one\ntwo\n"))
}

func TestALinkInTheLogsPlaceIsNotWrittenThrough(t *testing.T) {
	t.Parallel()
	for _, planted := range []string{"logs/leslie.log", "logs"} {
		s := newStore(t, Options{})
		outside := filepath.Join(t.TempDir(), "outside")
		require.NoError(t, os.MkdirAll(outside, 0o755))
		require.NoError(t, os.WriteFile(outside+"/leslie.log", []byte("mine"), 0o644))
		target := outside
		if planted != "logs" {
			require.NoError(t, os.Mkdir(s.Path("logs"), 0o755))
			target = outside + "/leslie.log"
		}
		require.NoError(t, os.Symlink(target, s.Path(planted)))
		require.Error(t, s.AppendLog([]byte("forged\n")), planted)
		data, err := os.ReadFile(outside + "/leslie.log")
		require.NoError(t, err)
		assert.Equal(t, "mine", string(data))
	}
}
