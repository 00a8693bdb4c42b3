//go:build unix

package main

import "fmt"

// This file is the scenario of repeated requests: a call with a request id is killed and
// repeated until it answers. leslie must carry it out exactly once.

// retryStep repeats a call until it answers, and then once more.
func (w *worker) retryStep() {
	if len(w.snapshot().threads) > mostThreads {
		return
	}
	id := fmt.Sprintf("retry-%s-%d", w.name(), w.r.Uint64())
	l := line{command: "spawn", argv: []string{"spawn", "--intent", "Be made once", "--objective", "scenarios", "--executor", "human", "--title", id, "--request-id", id}, scenario: true}
	var first outcome
	for tries := 0; tries < 6 && !first.OK(); tries++ {
		first = w.call(l, w.sometimes(l))
	}
	then := w.call(l, interruption{})
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
		w.do(line{command: command, argv: []string{command, a.ThreadID}, scenario: true, may: thread + "T102"})
	}
}

// sometimes draws a kill at a random moment, a kill after the commit, or none.
func (w *worker) sometimes(l line) interruption {
	switch w.r.IntN(3) {
	case 0:
		return killAfter(w.randomDelay(l.command))
	case 1:
		return w.atCommit(l)
	}
	return interruption{}
}
