package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// This file runs leslie as a shell would and reads its answer.

// Call describes a process to run.
type Call struct {
	Program string
	Argv    []string
	Dir     string
	Env     []string
	Stdin   string
	Attr    *syscall.SysProcAttr
	// Limit is how long the process may run before it is killed.
	Limit time.Duration
	// Started, unless nil, is called in its own goroutine, to send the process a
	// signal; over is closed when the process ends.
	Started func(process *os.Process, over <-chan struct{})
}

// Environment returns the environment of a call: without a marker of an agent, and
// independent of the environment of the tests.
func Environment(home, temp string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + temp, "LOGNAME=ann", "LESLIE_FORMAT=json"}
}

// Outcome is the result of a call.
type Outcome struct {
	Begin, End     time.Time
	Status         int  // -1 for a process that a signal ended
	Killed         bool // by a signal
	Stdout, Stderr []byte
	Doc            *Document // nil unless stdout is exactly one JSON document
	Err            error     // the process could not be started, or took too long
}

// Run runs a call to its end.
func (c Call) Run() Outcome {
	cmd := exec.Command(c.Program, c.Argv...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = c.Dir, c.Env, c.Attr
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.Stdin), &stdout, &stderr
	o := Outcome{Begin: time.Now()}
	if o.Err = cmd.Start(); o.Err != nil {
		o.Status = -1
		return o
	}
	limit := time.AfterFunc(c.Limit, func() { _ = cmd.Process.Kill() })
	over := make(chan struct{})
	if c.Started != nil {
		go c.Started(cmd.Process, over)
	}
	err := cmd.Wait()
	close(over)
	o.End = time.Now()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		o.Err = err
	}
	if !limit.Stop() {
		o.Err = errors.New("it took longer than " + c.Limit.String())
	}
	o.Status, o.Killed = cmd.ProcessState.ExitCode(), cmd.ProcessState.ExitCode() < 0
	o.Stdout, o.Stderr = stdout.Bytes(), stderr.Bytes()
	o.Doc, _ = Read(o.Stdout)
	return o
}

// Code returns the error's code, or "".
func (o Outcome) Code() string { return o.Doc.Code() }

// OK reports whether the call succeeded.
func (o Outcome) OK() bool { return o.Doc != nil && o.Doc.Success }

// Warned reports whether the answer has a warning with this code.
func (o Outcome) Warned(code string) bool { return o.Doc.Warned(code) }

// Revision returns the answer's revision, or 0.
func (o Outcome) Revision() int64 { return o.Doc.At() }

// Changed returns changed of the answer: in its data, or in the error's details.
func (o Outcome) Changed() bool {
	switch {
	case o.Doc == nil:
		return false
	case o.Doc.Error != nil:
		return o.Doc.Error.Details["changed"] == true
	}
	var data struct{ Changed bool }
	return json.Unmarshal(o.Doc.Data, &data) == nil && data.Changed
}

// Into decodes the data; fields that do not match stay zero.
func (o Outcome) Into(v any) {
	if o.Doc != nil {
		_ = json.Unmarshal(o.Doc.Data, v)
	}
}

// Text returns the outcome for a person to read.
func (o Outcome) Text() string {
	if o.Err != nil {
		return o.Err.Error()
	}
	const most = 2000
	s := strings.TrimSpace(string(o.Stdout) + string(o.Stderr))
	return s[:min(len(s), most)]
}
