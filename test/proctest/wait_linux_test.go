package proctest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// asleep starts a call and returns when it watches the store.
func (p *project) asleep(args ...string) *started {
	p.t.Helper()
	s := p.start(args...)
	fds := filepath.Join("/proc", strconv.Itoa(s.Process.Pid), "fd")
	require.Eventually(p.t, func() bool {
		open, _ := os.ReadDir(fds)
		for _, fd := range open {
			if to, err := os.Readlink(filepath.Join(fds, fd.Name())); err == nil && strings.Contains(to, "inotify") {
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond, "%s does not watch the store", s.line)
	return s
}

func TestAnInterruptedWaitReportsIt(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.ok("spawn", "--intent", "Work", "--id", "slow")
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		s := p.asleep("wait", "slow")
		require.NoError(t, s.Process.Signal(signal))
		a, err := s.end()
		require.NoError(t, err)
		requireFailure(t, a, "T904", 130)
	}
}

// A waiter holds no lock and no socket.
func TestAWaiterBlocksNobody(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.ok("spawn", "--intent", "Work", "--id", "slow")
	was := p.files(".")
	s := p.asleep("wait", "slow")
	assert.Empty(t, harness.Differing(was, p.files(".")), "it writes nothing while it waits")
	doomed := p.asleep("wait", "slow")
	require.NoError(t, doomed.Process.Kill())
	require.Error(t, doomed.Wait())
	p.ok("done", "slow")
	assert.Equal(t, "completed", over(t, s).Threads[0].Status)
	p.requireHealthy()
}
