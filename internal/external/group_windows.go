package external

import "os/exec"

// ownGroup does nothing: Windows has no such process groups, so a timeout ends only
// the command itself.
func ownGroup(*exec.Cmd) {}

func ownSession(*exec.Cmd) {}

func endGroup(*exec.Cmd) {}
