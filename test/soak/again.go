//go:build unix

package main

import "fmt"

// This file is the play about requests: a call with a request id is killed and
// made again until it answers. However often it was made, it is carried out once.

// again makes a call until it is answered, and then once more.
func (w *worker) again() {
	if len(w.scene().threads) > mostThreads {
		return
	}
	id := fmt.Sprintf("again-%s-%d", w.name(), w.r.Uint64())
	l := line{command: "spawn", argv: []string{"spawn", "--intent", "Be made once", "--objective", "plays", "--executor", "human", "--title", id, "--request-id", id}, family: true}
	var first outcome
	for tries := 0; tries < 6 && !first.ok(); tries++ {
		first = w.call(l, w.sometimes(l))
	}
	then := w.call(l, end{})
	if !first.ok() || !then.ok() {
		return
	}
	var a, b struct{ ThreadID string }
	first.into(&a)
	then.into(&b)
	if a != b || !then.warned("W901") {
		w.violate(w, fmt.Sprintf("request %s was answered with %s, then with %s", id, a.ThreadID, b.ThreadID))
	}
	w.mu.Lock()
	w.requested = append(w.requested, id)
	w.mu.Unlock()
	for _, command := range []string{"cancel", "archive"} { // others may have been there first
		w.do(line{command: command, argv: []string{command, a.ThreadID}, family: true, may: thread + "T102"})
	}
}

// sometimes is an end at some moment, at the commit, or none.
func (w *worker) sometimes(l line) end {
	switch w.r.IntN(3) {
	case 0:
		return killAfter(w.moment(l.command))
	case 1:
		return w.atCommit(l)
	}
	return end{}
}
