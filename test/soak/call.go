//go:build unix

package main

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"leslie/test/harness"
)

// This file runs leslie in the store of a run.

// callTimeout is the longest a call may take; waiting for the lock takes at most 21.3 s.
const callTimeout = 90 * time.Second

const (
	storeDir  = ".leslie"
	stateFile = "thread_relations.json"
)

// project is a folder to call leslie in.
type project struct {
	leslie, dir, home string
	scratch           string // for the workers' own files
}

// path returns the path of a file in the store's folder.
func (p *project) path(name string) string {
	return filepath.Join(p.dir, storeDir, filepath.FromSlash(name))
}

type outcome = harness.Outcome

// command returns a process that is not started yet.
func (p *project) command(argv []string) *exec.Cmd {
	cmd := exec.Command(p.leslie, argv...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = p.dir, harness.Environment(p.home, p.scratch), apart()
	return cmd
}

// apart puts a process into its own process group, so Ctrl-C reaches only soak.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// call runs leslie, and sends it the signal of kill.
func (p *project) call(argv []string, stdin string, kill interruption) outcome {
	c := harness.Call{Program: p.leslie, Argv: argv, Dir: p.dir, Env: harness.Environment(p.home, p.scratch), Stdin: stdin, Attr: apart(), Limit: callTimeout}
	if kill.after > 0 {
		c.Started = kill.send
	}
	return c.Run()
}
