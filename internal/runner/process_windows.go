package runner

import "os/exec"

// ownGroup does nothing: Windows has no such process groups.
func ownGroup(*exec.Cmd) {}

// askGroup does nothing: a process cannot be asked to end.
func askGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// lookPath looks in the list of this process instead: the names of programs have
// endings there.
func lookPath(_, program string) (string, error) { return exec.LookPath(program) }
