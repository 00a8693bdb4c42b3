//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
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

// document is an answer as the contract writes it.
type document struct {
	Success bool `json:"success"`
	Error   *struct {
		Code    string         `json:"code"`
		Message string         `json:"message"`
		Details map[string]any `json:"details"`
	} `json:"error"`
	Warnings []warning       `json:"warnings"`
	Data     json.RawMessage `json:"data"`
	Revision int             `json:"revision"`
}

type warning struct {
	Code string `json:"code"`
}

// outcome is how a call ended.
type outcome struct {
	status         int // -1 for one that was killed
	stdout, stderr []byte
	doc            *document // nil unless stdout is exactly one JSON document
	err            error     // the call could not be made, or took too long
}

func (o outcome) code() string {
	if o.doc == nil || o.doc.Error == nil {
		return ""
	}
	return o.doc.Error.Code
}

func (o outcome) warned(code string) bool {
	if o.doc != nil {
		for _, w := range o.doc.Warnings {
			if w.Code == code {
				return true
			}
		}
	}
	return false
}

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
	o.doc = oneDocument(o.stdout)
	return o
}

// oneDocument reads stdout, which has to be one JSON document and nothing else.
func oneDocument(stdout []byte) *document {
	d := json.NewDecoder(bytes.NewReader(stdout))
	var doc document
	if d.Decode(&doc) != nil {
		return nil
	}
	if _, err := d.Token(); err != io.EOF {
		return nil
	}
	return &doc
}
