//go:build !windows

package external

import (
	"os/exec"
	"syscall"
)

// ownGroup starts the command in a session, and so a process group, of its own,
// which is what a timeout ends: an agent's children go with it. It has no
// terminal: not even through /dev/tty does its output get among a person's.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// endGroup ends what the command left behind.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
