//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leslie/test/lab"
)

// This file is a worker: it runs one process after the other, each in a copy that it
// draws, and remembers what was answered.

// worker runs one process at a time.
type worker struct {
	*run
	lab.Drawer
	made int // requests
}

// request is what is known of one request id.
type request struct {
	text         string // the command
	many         bool
	attempts     int
	acknowledged bool   // an attempt succeeded and changed something
	unsure       bool   // an attempt was killed, or nobody knows what became of it
	failed       bool   // an attempt failed and had changed something
	answer       string // of the first that succeeded
	revision     int64
	where        string // the copies, for the report
}

// mostThreads is about how many threads there are.
const mostThreads = 40

func (r *run) newWorker(n int) *worker {
	w := &worker{run: r}
	w.Drawer = lab.Drawer{R: rand.New(rand.NewPCG(r.setup.seed, uint64(n))), Name: fmt.Sprintf("w%02d", n), Threads: mostThreads,
		Snapshot: r.sight.Now, Scratch: r.scratch}
	w.Path = func(name string) string { return r.path(w.R.IntN(len(r.copies)), name) }
	return w
}

// work works until a time.
func (w *worker) work(until time.Time) {
	commands := lab.Drawn(true)
	for time.Now().Before(until) && !w.ended.Load() {
		if l, ok := w.Next(commands); ok {
			w.do(l)
		}
	}
}

// killOneIn: one call in so many gets SIGKILL.
const killOneIn = 3

// do runs a line; a write gets a request id, and is repeated if nobody knows what became of
// it, and sometimes if it succeeded, mostly in another copy.
func (w *worker) do(l lab.Line) {
	w.Identify(&l, w.Name)
	l.Connected = true
	at := w.R.IntN(len(w.copies))
	if !l.Repeatable() {
		w.once(l, at)
		return
	}
	given := slices.Index(l.Argv, "--request-id") + 1
	if given == 0 {
		w.made++
		l.Argv = append(l.Argv, "--request-id", fmt.Sprintf("r-%s-%d", w.Name, w.made))
		given = len(l.Argv) - 1
	}
	id := l.Argv[given]
	q := &request{text: strings.Join(l.Argv, " "), many: l.Many || l.Waits()}
	for range 4 {
		again := w.learn(q, w.once(l, at), at)
		if !again && w.R.IntN(5) > 0 {
			break
		}
		if w.R.IntN(4) > 0 {
			at = w.R.IntN(len(w.copies))
		}
	}
	w.mu.Lock()
	w.requests[id] = q
	w.mu.Unlock()
}

// once runs a call, and kills some.
func (w *worker) once(l lab.Line, at int) lab.Outcome {
	var kill lab.Interruption
	if w.R.IntN(killOneIn) == 0 {
		kill = lab.KillAfter(w.report.Moment(w.R, l.Command))
	}
	o := w.machine("writer", at).Run(w.leslie, l.Argv, l.Stdin, kill)
	w.report.Count(l, o, kill)
	problem := l.Wrong(o)
	if o.Killed && !kill.Kills() && o.Err == nil {
		problem = "it was killed, but not by us"
	}
	if problem != "" {
		w.violate("leslie %s: %s\n    %s", strings.Join(l.Argv, " "), problem, o.Text())
	}
	w.Known = max(w.Known, o.Revision())
	if l.Command == "claim" && o.OK() {
		var claimed struct{ ThreadID string }
		o.Into(&claimed)
		w.Holds = claimed.ThreadID
	}
	return o
}

// learn notes what an attempt says about a request; again: it has to be repeated.
func (w *worker) learn(q *request, o lab.Outcome, at int) (again bool) {
	q.attempts++
	q.where += " " + filepath.Base(w.copies[at]) + ":" + o.Code()
	switch {
	case o.Killed:
		q.where += "killed"
		q.unsure = true
		return true
	case o.Doc == nil: // reported
		q.unsure = true
		return false
	case !o.OK():
		changed, told := o.Doc.Error.Details["changed"].(bool)
		q.unsure = q.unsure || !told
		q.failed = q.failed || changed
		return !told || o.Code() == "T510" || o.Code() == "T501"
	}
	if !o.Changed() { // an answer that only this machine keeps, if any
		return false
	}
	answer := identity(o)
	if q.answer != "" && (q.answer != answer || !o.Warned("W901")) {
		w.violate("%s was answered with %s, then with %s, warned %v:%s", q.text, q.answer, answer, o.Warned("W901"), q.where)
	}
	q.answer, q.acknowledged = answer, true
	if !o.Warned("W901") {
		q.revision = o.Revision()
	}
	return false
}

// identity is what tells one answer from another: ids, and the revision in the data.
func identity(o lab.Outcome) string {
	var d struct {
		ThreadID    string
		ObjectiveID string
		OperationID string
		Revision    int64
	}
	o.Into(&d)
	return fmt.Sprintf("%s %s %s %d", d.ThreadID, d.ObjectiveID, d.OperationID, d.Revision)
}
