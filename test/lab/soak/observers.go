//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"sync"
	"syscall"
	"time"

	"leslie/test/harness"
	"leslie/test/lab"
)

// This file follows the store with processes that observe. They are killed or stopped,
// and the next one continues after the last complete line. Together they must report
// each operation once.

// observer follows the operations.
type observer struct {
	*soakRun
	n int
	r *rand.Rand

	mu       sync.Mutex
	received []string // ids, in order
	process  func(syscall.Signal)
	over     bool
	resumed  int
}

func (r *soakRun) newObserver(n int) *observer {
	return &observer{soakRun: r, n: n, r: rand.New(rand.NewPCG(r.seed, uint64(1000+n)))}
}

// rowActor matches the actors of the rows.
var rowActor = regexp.MustCompile(`^w\d\d$`)

// follow observes again and again.
func (o *observer) follow() {
	for {
		o.mu.Lock()
		over := o.over
		o.mu.Unlock()
		if over {
			return
		}
		if err := o.once(); err != nil {
			o.violate(nil, fmt.Sprintf("observer %d: %v", o.n, err))
			return
		}
	}
}

// once observes until it kills or stops the process.
func (o *observer) once() error {
	o.mu.Lock()
	since := len(o.received)
	o.mu.Unlock()
	cmd := o.Command("observe", "--follow", "--since", fmt.Sprint(since), "--format", "json")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	signal := []syscall.Signal{syscall.SIGKILL, syscall.SIGKILL, syscall.SIGTERM}[o.r.IntN(3)]
	o.mu.Lock()
	o.process = func(s syscall.Signal) { _ = cmd.Process.Signal(s) }
	over := o.over
	o.mu.Unlock()
	after := time.Duration(o.r.IntN(4000)) * time.Millisecond
	if over {
		after = 0
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Signal(signal) })
	problem := o.read(bufio.NewReader(pipe))
	if problem != nil {
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait()
	timer.Stop()
	if problem == nil {
		problem = endOf(cmd.ProcessState.ExitCode(), stderr.Bytes())
	}
	o.mu.Lock()
	o.resumed++
	o.mu.Unlock()
	return problem
}

// endOf returns how the end of a stream breaks the contract: a killed process writes
// nothing, one stopped by a signal reports T904.
func endOf(status int, stderr []byte) error {
	doc, _ := harness.Read(stderr)
	switch {
	case status == -1 && len(stderr) == 0:
	case status == 130 && doc.Code() == "T904":
	case status == -1 && len(stderr) > 0 && lab.InternalText.Match(stderr), status != -1:
		return fmt.Errorf("it ended with %d: %s", status, stderr)
	}
	return nil
}

// read reads complete lines until the end.
func (o *observer) read(lines *bufio.Reader) error {
	for {
		raw, err := lines.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var op struct {
			Seq         int64
			OperationID string
			Actor       string
		}
		if err := json.Unmarshal(raw, &op); err != nil {
			return fmt.Errorf("a line is not JSON: %.200s", raw)
		}
		o.mu.Lock()
		next := int64(len(o.received)) + 1
		if op.Seq == next {
			o.received = append(o.received, op.OperationID)
		}
		o.mu.Unlock()
		if op.Seq != next {
			return fmt.Errorf("got operation %d, expected %d", op.Seq, next)
		}
		if o.n == 0 && rowActor.MatchString(op.Actor) {
			o.newest.add(op.OperationID)
		}
	}
}

// stop ends the observer.
func (o *observer) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	if o.process != nil {
		o.process(syscall.SIGKILL)
	}
}

// patience is how long an observer may take to receive what was acknowledged.
const patience = 30 * time.Second

// caughtUp waits until the observer has received all operations, and compares them.
func (o *observer) caughtUp(ids []string) string {
	deadline := time.Now().Add(patience)
	for {
		o.mu.Lock()
		n := len(o.received)
		o.mu.Unlock()
		if n >= len(ids) {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Sprintf("observer %d received %d of %d operations within %s", o.n, n, len(ids), patience)
		}
		time.Sleep(10 * time.Millisecond)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return diffOperations(fmt.Sprintf("observer %d received", o.n), ids, o.received)
}

// diffOperations returns the first difference between two lists of operations, or "".
func diffOperations(who string, want, got []string) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("%s no operation %d", who, i+1)
		case i >= len(want):
			return fmt.Sprintf("%s operation %d, which the journal does not have", who, i+1)
		case want[i] != got[i]:
			return fmt.Sprintf("%s %s as operation %d, which is %s", who, got[i], i+1, want[i])
		}
	}
	return ""
}
