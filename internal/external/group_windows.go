package external

import "os/exec"

// ownGroup does nothing: Windows has no such process groups, so a timeout ends only
// the command itself.
func ownGroup(*exec.Cmd) {}

// StopAsGroup does nothing: the command is killed when its context ends.
func StopAsGroup(*exec.Cmd) {}

func ownSession(*exec.Cmd) {}

func endGroup(*exec.Cmd) {}
