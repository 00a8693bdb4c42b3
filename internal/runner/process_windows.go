package runner

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: Windows has no such process groups.
func ownGroup(*exec.Cmd) {}

// askGroup does nothing: a process cannot be asked to end.
func askGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// Ask ends a process of leslie, which cannot be asked.
func Ask(pid int) {
	if p, err := os.FindProcess(pid); pid > 0 && err == nil {
		_ = p.Kill()
	}
}

// lookPath looks in the list of this process instead: the names of programs have
// endings there.
func lookPath(_, program string) (string, error) { return exec.LookPath(program) }
