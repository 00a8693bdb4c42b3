package logfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheLogIsFollowedAcrossARotation(t *testing.T) {
	t.Parallel()
	s := storeIn(t)
	r := s.FollowLog()
	defer r.Close()
	lines := func() []string {
		t.Helper()
		got, err := r.Lines()
		require.NoError(t, err)
		return got
	}
	assert.Empty(t, lines(), "there is no log yet")
	require.NoError(t, s.AppendLog([]byte("one\ntwo\nhal")))
	assert.Equal(t, []string{"one", "two"}, lines())
	require.NoError(t, s.AppendLog([]byte("f\n")))
	assert.Equal(t, []string{"half"}, lines())
	require.NoError(t, s.AppendLog([]byte(strings.Repeat(strings.Repeat("x", 1023)+"\n", 10<<10)+"last\n")))
	require.NoError(t, s.AppendLog([]byte("first\n")))
	got := lines()
	require.Len(t, got, 10<<10+2)
	assert.Equal(t, []string{"last", "first"}, got[10<<10:])
	assert.FileExists(t, s.disk.Path("logs/leslie.log.1"))
	assert.Empty(t, lines())
}

func TestTheLogIsReadFromItsOldestLine(t *testing.T) {
	t.Parallel()
	s := storeIn(t)
	all := func() (out []string) {
		for line, err := range s.Log(t.Context()) {
			require.NoError(t, err)
			out = append(out, line)
		}
		return out
	}
	assert.Empty(t, all())
	require.NoError(t, s.AppendLog([]byte("new\n")))
	require.NoError(t, os.WriteFile(s.disk.Path("logs/leslie.log.1"), []byte("old\nolder tail"), 0o600))
	assert.Equal(t, []string{"old", "older tail", "new"}, all())
	assert.Equal(t, "new\n", string(s.LogTail(100)))
	assert.Empty(t, string(s.LogTail(3)), "a line that does not fit whole")
}

func TestALogThatIsNoFileIsNotRead(t *testing.T) {
	t.Parallel()
	s := storeIn(t)
	require.NoError(t, os.MkdirAll(s.disk.Path(Folder), 0o755))
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret\n"), 0o600))
	require.NoError(t, os.Symlink(outside, s.disk.Path("logs/leslie.log")))
	assert.Empty(t, s.LogTail(100))
	for line, err := range s.Log(t.Context()) {
		assert.Empty(t, line)
		assert.Error(t, err)
	}
	_, err := s.FollowLog().Lines()
	assert.Error(t, err)
}
