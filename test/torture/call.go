//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"leslie/test/harness"
)

// This file calls leslie as a shell would and reads its answer.

// longest is how long a call may take; the whole schedule of the lock is 21.3 s.
const longest = 60 * time.Second

// rig is what every run needs.
type rig struct {
	leslie string // the binary
	strace string // "" where there is none
	dir    string // temporary; everything lies below it
	home   string // an empty home folder
	short  bool   // not all cases are wanted
	next   atomic.Int64
}

// project is a folder to call leslie in.
type project struct {
	*rig
	dir string
	uid int // who calls, 0: as torture itself
}

// path is a place in the store's folder.
func (p *project) path(name string) string { return filepath.Join(p.dir, storeDir, name) }

// outcome is how a call ended.
type outcome struct {
	status         int // -1 for one that was killed
	stdout, stderr []byte
	doc            *harness.Document // nil unless stdout is exactly one JSON document
	err            error             // the call could not be made, or took too long
}

func (o outcome) code() string { return o.doc.Code() }

func (o outcome) warned(code string) bool { return o.doc.Warned(code) }

// text is an outcome for a reader.
func (o outcome) text() string {
	if o.err != nil {
		return o.err.Error()
	}
	return strings.TrimSpace(string(o.stdout) + string(o.stderr))
}

// call runs leslie.
func (p *project) call(argv ...string) outcome { return p.run(p.leslie, argv) }

// run runs a program in the project, with an environment that names no agent.
func (p *project) run(program string, argv []string) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, argv...)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "LOGNAME=ann", "LESLIE_FORMAT=json"}
	if p.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.uid)}}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	o := outcome{status: cmd.ProcessState.ExitCode(), stdout: stdout.Bytes(), stderr: stderr.Bytes()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		o.err = errors.New("it took longer than " + longest.String())
	case err != nil && !errors.As(err, &exit):
		o.err = err
	}
	o.doc, _ = harness.Read(o.stdout)
	return o
}
