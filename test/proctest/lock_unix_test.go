//go:build unix

package proctest

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// stop stops a call, as Ctrl-Z does, and returns when it has stopped.
func (s *started) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, s.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	_, err := syscall.Wait4(s.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped(), "%s ended", s.line)
}

func (s *started) goOn(t *testing.T) {
	t.Helper()
	require.NoError(t, s.Process.Signal(syscall.SIGCONT))
}

// A writer that is stopped while it waits for the lock does not get it, so the other
// waiters continue.
func TestAStoppedWaiterBlocksNobody(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	release := p.hold()
	first := p.startWaiting("spawn", "--intent", "First", "--id", "first")
	second := p.startWaiting("spawn", "--intent", "Second", "--id", "second")
	first.stop(t)
	release()
	a, err := second.end()
	require.NoError(t, err)
	require.True(t, a.Success)
	p.ok("spawn", "--intent", "Third", "--id", "third")
	first.goOn(t)
	a, err = first.end()
	require.NoError(t, err)
	require.True(t, a.Success)
	p.ok("status", "first")
	p.requireHealthy()
}
