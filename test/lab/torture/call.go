//go:build linux

package main

import (
	"sync/atomic"
	"syscall"
	"time"

	"leslie/test/lab"
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
	common func() (*project, error)
	next   atomic.Int64

	realGit, self string // git, and this program
}

type outcome = lab.Outcome

// project is a folder to call leslie in.
type project struct {
	*rig
	lab.Project
}

// project returns a folder in which a user runs leslie; uid 0: the one that runs torture.
func (r *rig) project(dir string, uid int) *project {
	p := &project{rig: r, Project: lab.Project{Leslie: r.leslie, Dir: dir, Home: r.home, Temp: r.home, Limit: callTimeout}}
	if uid != 0 {
		p.Attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	return p
}
