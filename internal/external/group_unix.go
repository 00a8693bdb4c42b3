//go:build !windows

package external

import (
	"os/exec"
	"syscall"
)

// ownGroup starts the command in its own session, and so in its own process group, so
// that a timeout also ends the command's children. It has no terminal, so it cannot
// even write to /dev/tty.
func ownGroup(cmd *exec.Cmd) {
	ownSession(cmd)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// StopAsGroup starts the command as ownGroup does. When its context ends, its group is
// asked to end, so that it can remove what it left half done; WaitDelay says how long it
// may take.
func StopAsGroup(cmd *exec.Cmd) {
	ownSession(cmd)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// endGroup kills processes that the command left behind.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
