//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"leslie/test/harness"
)

// This file is a worker: it runs one process after the other, each in a copy that it
// draws, and remembers what was answered.

// worker runs one process at a time.
type worker struct {
	*run
	name string
	r    *rand.Rand
	made int // for unique names
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

func (r *run) newWorker(n int) *worker {
	return &worker{run: r, name: fmt.Sprintf("w%02d", n), r: rand.New(rand.NewPCG(r.setup.seed, uint64(n)))}
}

// work works until a time.
func (w *worker) work(until time.Time) {
	rows, total := table(), 0
	for _, row := range rows {
		total += row.weight
	}
	for time.Now().Before(until) && !w.ended.Load() {
		draw := w.r.IntN(total)
		for _, row := range rows {
			if draw -= row.weight; draw >= 0 {
				continue
			}
			if l, ok := row.draw(w); ok {
				w.do(row, l)
			}
			break
		}
	}
}

// killOneIn: one call in so many gets SIGKILL.
const killOneIn = 3

// do runs a line; a write gets a request id, and is repeated if nobody knows what became of
// it, and sometimes if it succeeded, mostly in another copy.
func (w *worker) do(row row, l line) {
	as := l.as
	if as == "" {
		as = "agent"
	}
	argv := append(slices.Clone(l.argv), "--as", as, "--actor", w.name)
	at := w.r.IntN(len(w.copies))
	if row.reads {
		w.check(row, argv, w.once(row, at, argv, l.stdin, w.r.IntN(killOneIn) == 0))
		return
	}
	id := w.unique("r")
	argv = append(argv, "--request-id", id)
	q := &request{text: strings.Join(argv, " "), many: row.many}
	for range 4 {
		kill := w.r.IntN(killOneIn) == 0
		o := w.once(row, at, argv, l.stdin, kill)
		w.check(row, argv, o)
		again := w.learn(q, o, at)
		if !again && w.r.IntN(5) > 0 {
			break
		}
		if w.r.IntN(4) > 0 {
			at = w.r.IntN(len(w.copies))
		}
	}
	w.mu.Lock()
	w.requests[id] = q
	w.mu.Unlock()
}

// once runs a call.
func (w *worker) once(row row, at int, argv []string, stdin string, kill bool) harness.Outcome {
	var started func(*os.Process, <-chan struct{})
	if kill {
		after := time.Duration(w.r.Float64() * 1.3 * float64(w.report.typical(row.name)))
		started = func(p *os.Process, over <-chan struct{}) {
			select {
			case <-over:
			case <-time.After(after):
				_ = p.Kill()
			}
		}
	}
	o := w.call(at, argv, stdin, started)
	w.report.count(row.name, o, kill)
	if o.Killed && !kill && o.Err == nil {
		w.violate("leslie %s was killed, but not by us", strings.Join(argv, " "))
	}
	return o
}

// fatal are codes that no call may ever fail with or warn of.
const fatal = "T901 T902 T502 T506 T508 T512 W502 W503 W506"

// internalText matches error text that should have become a code.
var internalText = regexp.MustCompile(`panic:|goroutine \d+|runtime error|<nil>|%!|\.go:\d+|bad file descriptor|no such file or directory`)

// check looks at the form of an answer.
func (w *worker) check(row row, argv []string, o harness.Outcome) {
	problem := ""
	switch {
	case o.Err != nil:
		problem = o.Err.Error()
	case o.Killed:
	case o.Doc == nil:
		problem = fmt.Sprintf("exit status %d, and stdout is not one JSON document", o.Status)
	case internalText.Match(o.Stderr), internalText.Match(o.Stdout):
		problem = "internal error text"
	case o.Code() != "" && (strings.Contains(fatal, o.Code()) || !strings.Contains(row.may+away, o.Code())):
		problem = "unexpected error"
	case o.Code() == "T511" && !unknown(argv, o):
		problem = "it does not say that the outcome is unknown, or not how to find out"
	case o.Doc != nil:
		for _, warning := range o.Doc.Warnings {
			if strings.Contains(fatal, warning.Code) {
				problem = "it warns: " + warning.Code
			}
		}
	}
	if problem != "" {
		w.violate("leslie %s: %s\n    %s", strings.Join(argv, " "), problem, o.Text())
	}
}

// unknown reports whether T511 says that nobody knows whether something changed, and that
// the same line with its request id finds out, unless it had content that is gone.
func unknown(argv []string, o harness.Outcome) bool {
	changed, there := o.Doc.Error.Details["changed"]
	id := slices.Index(argv, "--request-id") + 1
	again := id == 0 || slices.Contains(argv, "-") ||
		slices.ContainsFunc(o.Doc.Error.Next, func(line string) bool { return strings.Contains(line, "--request-id "+argv[id]) })
	return there && changed == nil && again
}

// learn notes what an attempt says about a request; again: it has to be repeated.
func (w *worker) learn(q *request, o harness.Outcome, at int) (again bool) {
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
func identity(o harness.Outcome) string {
	var d struct {
		ThreadID    string
		ObjectiveID string
		OperationID string
		Revision    int64
	}
	o.Into(&d)
	return fmt.Sprintf("%s %s %s %d", d.ThreadID, d.ObjectiveID, d.OperationID, d.Revision)
}

// thread draws a thread, rarely one that does not exist.
func (w *worker) thread() string {
	all := w.threads()
	if len(all) == 0 || w.r.IntN(60) == 0 {
		return "nobody"
	}
	return all[w.r.IntN(len(all))]
}
