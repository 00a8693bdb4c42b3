//go:build linux

package main

import (
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"leslie/test/harness"
)

// This file calls leslie in a copy of a fixture.

// callTimeout is the longest a call may take; waiting for the lock takes at most 21.3 s.
const callTimeout = 60 * time.Second

// rig is what every run needs.
type rig struct {
	leslie string // the binary
	strace string // "" where there is none
	dir    string // temporary, the parent of all stores
	home   string // an empty home folder
	short  bool   // run a sample of the cases
	next   atomic.Int64

	realGit, self string // git, and this program
}

// project is a folder to call leslie in.
type project struct {
	*rig
	dir string
	uid int      // the user that runs leslie; 0: the one that runs torture
	env []string // more of the environment
}

// path returns the path of a file in the store's folder.
func (p *project) path(name string) string { return filepath.Join(p.dir, storeDir, name) }

type outcome = harness.Outcome

// call runs leslie.
func (p *project) call(argv ...string) outcome { return p.run(p.leslie, argv) }

// environ is the environment of a call.
func (p *project) environ() []string { return append(harness.Environment(p.home, p.home), p.env...) }

// run runs a program in the project.
func (p *project) run(program string, argv []string) outcome {
	c := harness.Call{Program: program, Argv: argv, Dir: p.dir, Env: p.environ(), Limit: callTimeout}
	if p.uid != 0 {
		c.Attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.uid)}}
	}
	return c.Run()
}
