package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// This file derives a name for an agent that has no session id, from the process that
// the agent is: all its calls get the same name, and another agent's get another.

// DerivedActor returns the name for the nearest ancestor that is neither a shell nor a
// program that only starts another one: "agent-" and a hash of the boot, the process id
// and the process's start time. proc is /proc as Linux has it, pid the parent. It
// returns "" where the ancestor cannot be found.
func DerivedActor(proc fs.FS, pid int) string {
	boot, err := fs.ReadFile(proc, "sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	for range 64 { // deeper trees do not exist
		p, ok := ancestorOf(proc, pid)
		switch {
		case !ok || slices.Contains(shared(), p.program):
			return ""
		case slices.Contains(starters(), p.program):
			pid = p.parent
			continue
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %s", bytes.TrimSpace(boot), pid, p.started))
		return "agent-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
	}
	return ""
}

// starters are shells and programs that only start another one: an agent may have one
// of its own for each call.
func starters() []string {
	return []string{
		"sh", "ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "nu", "pwsh", "tcsh", "toybox", "zsh",
		"doas", "env", "flock", "nice", "nohup", "script", "setsid", "stdbuf", "sudo", "su", "time", "timeout", "xargs",
	}
}

// shared are programs below which several agents may run, or which hide the agent.
func shared() []string {
	return []string{
		"bwrap", "containerd-shim-runc-v2", "docker-init", "dumb-init", "firejail", "init", "runit", "s6-svscan",
		"screen",
		"sshd", "systemd", "tini", "tmux",
	}
}

// ancestor is what DerivedActor needs to know of a process above it.
type ancestor struct {
	program string // the name of its executable
	parent  int
	started string // in clock ticks since the boot
}

// ancestorOf reads a process. Scripts have the name of their interpreter.
func ancestorOf(proc fs.FS, pid int) (ancestor, bool) {
	dir := strconv.Itoa(pid)
	stat, err := fs.ReadFile(proc, dir+"/stat")
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')') // a name may contain both
	if pid <= 0 || err != nil || open < 0 || end < open {
		return ancestor{}, false
	}
	const parent, started = 1, 19 // of the fields after the name
	rest := strings.Fields(string(stat[end+1:]))
	if len(rest) <= started {
		return ancestor{}, false
	}
	p := ancestor{program: string(stat[open+1 : end]), started: rest[started]}
	if exe, err := fs.ReadLink(proc, dir+"/exe"); err == nil {
		p.program = path.Base(strings.TrimSuffix(exe, " (deleted)"))
	}
	p.program, _, _ = strings.Cut(p.program, ":") // "tmux: server"
	p.parent, err = strconv.Atoi(rest[parent])
	return p, err == nil
}
