//go:build unix

package main

import (
	"fmt"

	"leslie/test/lab"
)

// This file is the scenario of repeated requests: a call with a request id is killed and
// repeated until it answers. leslie must carry it out exactly once.

// retryStep repeats a call until it answers, and then once more.
func (w *worker) retryStep() {
	if len(w.Snapshot().Threads) > mostThreads {
		return
	}
	id := fmt.Sprintf("retry-%s-%d", w.Name, w.R.Uint64())
	l := line{Command: "spawn", Argv: []string{"spawn", "--intent", "Be made once", "--objective", "scenarios", "--executor", "human", "--title", id, "--request-id", id}, Scenario: true}
	var first outcome
	for tries := 0; tries < 6 && !first.OK(); tries++ {
		first = w.call(l, w.sometimes(l))
	}
	then := w.call(l, lab.Interruption{})
	if !first.OK() || !then.OK() {
		return
	}
	var a, b struct{ ThreadID string }
	first.Into(&a)
	then.Into(&b)
	if a != b || !then.Warned("W901") {
		w.violate(w, fmt.Sprintf("request %s was answered with %s, then with %s", id, a.ThreadID, b.ThreadID))
	}
	w.mu.Lock()
	w.requested = append(w.requested, id)
	w.mu.Unlock()
	for _, command := range []string{"cancel", "archive"} { // another worker may have done it already
		w.do(line{Command: command, Argv: []string{command, a.ThreadID}, Scenario: true, May: "T101 T102 T103 T107"})
	}
}

// sometimes draws a kill at a random moment, a kill after the commit, or none.
func (w *worker) sometimes(l line) lab.Interruption {
	switch w.R.IntN(3) {
	case 0:
		return lab.KillAfter(w.report.Moment(w.R, l.Command))
	case 1:
		return w.atCommit(l)
	}
	return lab.Interruption{}
}
