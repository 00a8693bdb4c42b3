package logfile

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store/internal/lockfile"
	"leslie/store/internal/saferoot"
)

// storeIn is the log of a store's folder with nothing in it but its lock.
func storeIn(t *testing.T) Log {
	t.Helper()
	disk := saferoot.Disk{Project: t.TempDir()}
	require.NoError(t, os.MkdirAll(disk.Path(""), 0o755))
	require.NoError(t, os.WriteFile(disk.Path("lock"), nil, 0o644))
	return On(disk, "lock")
}

func TestTheLogIsAppendedToAndRotatedOnce(t *testing.T) {
	t.Parallel()
	s := storeIn(t)
	require.NoError(t, s.AppendLog([]byte("one\n")))
	require.NoError(t, s.AppendLog([]byte("two\n")))
	log := s.disk.Path("logs/leslie.log")
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

// The store's lock keeps two from rotating at once: the second would put the log that
// the first has begun in the place of the one it rotated.
func TestALogIsRotatedByOneAtATime(t *testing.T) {
	t.Parallel()
	s := storeIn(t)
	require.NoError(t, s.AppendLog([]byte("one\n")))
	log := s.disk.Path("logs/leslie.log")
	require.NoError(t, os.Truncate(log, logLimit+1))
	unlock := lockfile.AcquireNow(s.disk.Path("lock"), os.O_CREATE|os.O_RDWR)
	require.NotNil(t, unlock)
	require.NoError(t, s.AppendLog([]byte("two\n")))
	assert.NoFileExists(t, log+".1", "who has the lock may be about to rotate")
	unlock()

	var all sync.WaitGroup
	for range 16 {
		all.Go(func() { assert.NoError(t, s.AppendLog([]byte("three\n"))) })
	}
	all.Wait()
	old, err := os.ReadFile(log + ".1")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(old), "one\n"))
}

func TestALineThatIsTooLongHidesNoOther(t *testing.T) {
	t.Parallel()
	s := storeIn(t)
	long := strings.Repeat("x", maxLogLine)
	for _, text := range []string{"one\n", long + "\n", "two\n", long[1:] + "\n", "three\r\n", long + long + "\n" + long} {
		require.NoError(t, s.AppendLog([]byte(text)))
	}
	var got []string
	for line, err := range s.Log(t.Context()) {
		require.NoError(t, err)
		got = append(got, line)
	}
	assert.Equal(t, []string{"one", "two", long[1:], "three"}, got)
}

func TestALogThatCannotBeReadToItsEndSaysSo(t *testing.T) {
	t.Parallel()
	var got []string
	_, err := scanLines(io.MultiReader(strings.NewReader("one\ntw"), iotest.ErrReader(syscall.EIO)), func(line string) bool {
		got = append(got, line)
		return true
	})
	require.ErrorIs(t, err, syscall.EIO)
	assert.Equal(t, []string{"one"}, got)
}

func TestALinkInTheLogsPlaceIsNotWrittenThrough(t *testing.T) {
	t.Parallel()
	for _, planted := range []string{"logs/leslie.log", "logs"} {
		s := storeIn(t)
		outside := filepath.Join(t.TempDir(), "outside")
		require.NoError(t, os.MkdirAll(outside, 0o755))
		require.NoError(t, os.WriteFile(outside+"/leslie.log", []byte("mine"), 0o644))
		target := outside
		if planted != "logs" {
			require.NoError(t, os.Mkdir(s.disk.Path("logs"), 0o755))
			target = outside + "/leslie.log"
		}
		require.NoError(t, os.Symlink(target, s.disk.Path(planted)))
		require.Error(t, s.AppendLog([]byte("forged\n")), planted)
		data, err := os.ReadFile(outside + "/leslie.log")
		require.NoError(t, err)
		assert.Equal(t, "mine", string(data))
	}
}
