//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"leslie/test/harness"
)

// This file runs leslie as a shell would, kills it when it is told to, and reads
// its answer.

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

// outcome is how a call ended.
type outcome struct {
	begin, end     time.Time
	status         int  // -1 for one that was killed
	killed         bool // by a signal
	stdout, stderr []byte
	doc            *harness.Document // nil unless stdout is exactly one JSON document
	err            error             // the call could not be made, or took too long
}

func (o outcome) code() string { return o.doc.Code() }

func (o outcome) ok() bool { return o.doc != nil && o.doc.Success }

func (o outcome) warned(code string) bool { return o.doc.Warned(code) }

// revision is that of the answer, 0 where it has none.
func (o outcome) revision() int64 { return o.doc.At() }

// changed is what the answer says of it.
func (o outcome) changed() bool {
	switch {
	case o.doc == nil:
		return false
	case o.doc.Error != nil:
		return o.doc.Error.Details["changed"] == true
	}
	var data struct{ Changed bool }
	return json.Unmarshal(o.doc.Data, &data) == nil && data.Changed
}

// into reads the data; what does not fit stays zero.
func (o outcome) into(v any) {
	if o.doc != nil {
		_ = json.Unmarshal(o.doc.Data, v)
	}
}

// text is an outcome for a reader.
func (o outcome) text() string {
	if o.err != nil {
		return o.err.Error()
	}
	const most = 2000
	s := strings.TrimSpace(string(o.stdout) + string(o.stderr))
	return s[:min(len(s), most)]
}

// command is a process that is not started yet, with an environment that names
// no agent.
func (p *project) command(argv []string) *exec.Cmd {
	cmd := exec.Command(p.leslie, argv...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is soak's alone
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "TMPDIR=" + p.scratch, "LOGNAME=ann", "LESLIE_FORMAT=json"}
	return cmd
}

// call runs leslie, perhaps to be ended before it has done its work.
func (p *project) call(argv []string, stdin string, kill interruption) outcome {
	cmd := p.command(argv)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	o := outcome{begin: time.Now()}
	if o.err = cmd.Start(); o.err != nil {
		return o
	}
	limit := time.AfterFunc(longest, func() { _ = cmd.Process.Kill() })
	over := make(chan struct{})
	if kill.after > 0 {
		go kill.send(cmd.Process, over)
	}
	err := cmd.Wait()
	close(over)
	o.end = time.Now()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		o.err = err
	}
	if !limit.Stop() {
		o.err = errors.New("it took longer than " + longest.String())
	}
	o.status, o.stdout, o.stderr = cmd.ProcessState.ExitCode(), stdout.Bytes(), stderr.Bytes()
	ended, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	o.killed = ended.Signaled() // by SIGTERM as well, before it listens
	o.doc, _ = harness.Read(o.stdout)
	return o
}
