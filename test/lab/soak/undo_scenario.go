//go:build unix

package main

import (
	"fmt"

	"leslie/test/lab"
)

// This file is the undo scenario: a worker changes fields of its own thread, and undoes
// operations in any order. A field that has not changed since gets its old value back,
// and no other field changes. What was just undone can be redone.

// undoScenario is what a worker knows of its own thread.
type undoScenario struct {
	threads int // threads so far
	there   bool
	steps   int
	now     map[string]string // by field
	past    []edit
	doubt   *edit // a killed call that may have taken effect; nil for none
}

// edit is an operation that changed a field.
type edit struct {
	field, was, is string
	revision       int64
}

const undoSteps = 50

func (w *worker) undoThread() string { return fmt.Sprintf("undo-%02d-%d", w.n, w.undos.threads) }

// undoStep does one random step of the scenario.
func (w *worker) undoStep() {
	f := &w.undos
	if (!f.there || f.steps > undoSteps) && !w.newUndoThread() {
		return
	}
	f.steps++
	if f.doubt == nil && len(f.past) > 0 && w.R.IntN(2) == 0 {
		w.undoEdit(w.R.IntN(len(f.past)))
	} else if f.doubt == nil {
		w.edit()
	}
	w.compareFields()
}

func (w *worker) newUndoThread() bool {
	if w.undos.there && !w.endThread(w.undoThread()) {
		return false
	}
	w.undos = undoScenario{threads: w.undos.threads + 1, now: map[string]string{"title": "Fields"}}
	w.undos.there = w.beginThread(w.undoThread(), "Fields")
	return w.undos.there
}

func (w *worker) edit() {
	f := &w.undos
	field := []string{"title", "branch"}[w.R.IntN(2)]
	e := edit{field: field, was: f.now[field], is: fmt.Sprintf("%s-%d", field, w.R.Uint32())}
	o := w.do(line{Command: "update", Argv: []string{"update", w.undoThread(), "--" + field, e.is}, Scenario: true})
	switch {
	case o.OK():
		e.revision = o.Revision()
		f.past = append(f.past, e)
		f.now[field] = e.is
	case o.Killed:
		f.doubt = &e
	}
}

// undoEdit undoes an edit, which must succeed exactly if the field still has its value.
func (w *worker) undoEdit(i int) {
	f := &w.undos
	e := f.past[i]
	op := w.operationAt(w.undoThread(), e.revision)
	if op == "" {
		return
	}
	o := w.do(line{Command: "undo", Argv: []string{"undo", op}, Scenario: true, May: "T110"})
	current := f.now[e.field] == e.is
	switch {
	case o.Killed:
		f.doubt = &edit{field: e.field, was: f.now[e.field], is: e.was}
		if !current {
			f.doubt = nil
		}
	case o.OK() && !current:
		w.violate(w, fmt.Sprintf("an undo of %s in %s overwrote a later value", e.field, w.undoThread()))
	case !o.OK() && current && o.Code() == "T110":
		w.violate(w, fmt.Sprintf("an undo of %s in %s is refused, although nothing has changed it since", e.field, w.undoThread()))
	case o.OK():
		f.now[e.field] = e.was
	}
	if o.OK() || o.Killed {
		f.past = append(f.past[:i:i], f.past[i+1:]...)
	}
	if o.OK() && w.R.IntN(2) == 0 {
		w.redoEdit(e)
	}
}

// redoEdit redoes an edit that was just undone.
func (w *worker) redoEdit(e edit) {
	f := &w.undos
	switch o := w.do(line{Command: "redo", Argv: []string{"redo"}, Scenario: true}); {
	case o.OK():
		f.now[e.field] = e.is
		f.past = append(f.past, e)
	case o.Killed:
		f.doubt = &edit{field: e.field, was: f.now[e.field], is: e.is}
	}
}

// compareFields checks all fields of the thread.
func (w *worker) compareFields() {
	f := &w.undos
	o := w.do(line{Command: "status", Argv: []string{"status", w.undoThread()}, Scenario: true, NoKill: true, Reads: true})
	var data struct{ Title, Branch, Worktree string }
	o.Into(&data)
	if !o.OK() {
		return
	}
	got := map[string]string{"title": data.Title, "branch": data.Branch, "worktree": data.Worktree}
	if e := f.doubt; e != nil && got[e.field] == e.is {
		f.now[e.field] = e.is
	}
	f.doubt = nil
	for _, field := range lab.Sorted(got) {
		if got[field] != f.now[field] {
			w.violate(w, fmt.Sprintf("the %s of %s is %q and should be %q", field, w.undoThread(), got[field], f.now[field]))
		}
	}
}
