//go:build unix

package main

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"leslie/test/harness"
)

// This file runs leslie in the store of a run, and kills it when it is told to.

// longest is how long a call may take; the whole schedule of the lock is 21.3 s.
const longest = 90 * time.Second

const (
	storeDir  = ".leslie"
	stateFile = "thread_relations.json"
)

// project is a folder to call leslie in.
type project struct {
	leslie, dir, home string
	scratch           string // for files of the workers' own
}

// path is a place in the store's folder.
func (p *project) path(name string) string {
	return filepath.Join(p.dir, storeDir, filepath.FromSlash(name))
}

type outcome = harness.Outcome

// command is a process that is not started yet.
func (p *project) command(argv []string) *exec.Cmd {
	cmd := exec.Command(p.leslie, argv...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = p.dir, harness.Environment(p.home, p.scratch), apart()
	return cmd
}

// apart puts a process into a group of its own: a Ctrl-C is soak's alone.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// call runs leslie, perhaps to be ended before it has done its work.
func (p *project) call(argv []string, stdin string, kill interruption) outcome {
	c := harness.Call{Program: p.leslie, Argv: argv, Dir: p.dir, Env: harness.Environment(p.home, p.scratch), Stdin: stdin, Attr: apart(), Limit: longest}
	if kill.after > 0 {
		c.Started = kill.send
	}
	return c.Run()
}
