//go:build !windows

package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// ownGroup starts an agent in a process group of its own, so that a key at the terminal
// reaches leslie alone, and the group can be ended.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func askGroup(cmd *exec.Cmd)  { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// Ask asks a process of leslie to end, as Ctrl-C does.
func Ask(pid int) {
	if pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
}

// lookPath finds a program in a list of folders.
func lookPath(list, program string) (string, error) {
	for _, dir := range filepath.SplitList(list) {
		name := filepath.Join(dir, program)
		if info, err := os.Stat(name); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return name, nil
		}
	}
	return "", &exec.Error{Name: program, Err: exec.ErrNotFound}
}
