//go:build unix

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"leslie/test/harness"
	"leslie/test/lab"
)

// This file is the rollback scenario. Each worker has a thread whose files only it
// changes, so it knows their content: at each checkpoint, and after each rollback, undone
// rollback, and killed rollback.

// rollbackScenario is what a worker knows of its own thread.
type rollbackScenario struct {
	threads     int // threads so far
	there       bool
	steps       int
	now         map[string]string
	checkpoints []savedFiles
	last        *doneRollback // the newest rollback, while it can be undone
	unclear     bool
	maybe       map[string]string // the files if a killed call took effect; nil: as before
}

// savedFiles is a checkpoint that the worker may roll back to.
type savedFiles struct {
	name  string
	files map[string]string
}

// doneRollback is a rollback that was acknowledged.
type doneRollback struct {
	automatic string // the checkpoint that it made first
	before    map[string]string
	revision  int64
}

const (
	rollbackSteps  = 60 // then a new thread replaces the old one
	maxCheckpoints = 12
)

func (w *worker) rollbackThread() string {
	return fmt.Sprintf("rollback-%02d-%d", w.n, w.rollbacks.threads)
}

// rollbackStep does one random step of the scenario.
func (w *worker) rollbackStep() {
	b := &w.rollbacks
	if (!b.there || b.steps > rollbackSteps) && !w.newRollbackThread() {
		return
	}
	if b.unclear && !w.resolveKilled() {
		return
	}
	b.steps++
	switch draw := w.R.IntN(11); {
	case draw == 10:
		w.branch()
	case draw < 4 || len(b.checkpoints) == 0 && draw < 7:
		w.changeFiles()
	case draw < 6 || len(b.checkpoints) == 0:
		w.makeCheckpoint()
	case draw == 9 && b.last != nil:
		w.undoRollback()
	default:
		w.rollBackTo(b.checkpoints[w.R.IntN(len(b.checkpoints))])
	}
}

// newRollbackThread ends the thread and begins another.
func (w *worker) newRollbackThread() bool {
	if w.rollbacks.there && !w.endThread(w.rollbackThread()) {
		return false
	}
	w.rollbacks = rollbackScenario{threads: w.rollbacks.threads + 1, now: map[string]string{}}
	w.rollbacks.there = w.beginThread(w.rollbackThread(), "Go back")
	return w.rollbacks.there
}

// changeFiles writes and removes a few files.
func (w *worker) changeFiles() {
	b := &w.rollbacks
	b.last = nil
	for range 1 + w.R.IntN(4) {
		name := []string{"plan.md", "design/a.md", "design/b.md", "notes.md", "swap", "swap2/in.md"}[w.R.IntN(6)]
		if _, there := b.now[name]; there && w.R.IntN(3) == 0 {
			if err := os.Remove(w.Path("threads/" + w.rollbackThread() + "/" + filepath.FromSlash(name))); err != nil {
				w.violate(w, "a file is missing that nobody removed: "+err.Error())
				return
			}
			delete(b.now, name)
			continue
		}
		content := ""
		for range w.R.IntN(30) {
			content += w.Line()
		}
		if err := w.save(w.rollbackThread(), name, content); err != nil {
			w.violate(w, "a file cannot be saved: "+err.Error())
			return
		}
		b.now[name] = content
	}
}

func (w *worker) makeCheckpoint() {
	b := &w.rollbacks
	if len(b.checkpoints) >= maxCheckpoints {
		b.checkpoints = b.checkpoints[1:]
	}
	name := fmt.Sprintf("mark %d", b.steps)
	o := w.do(line{Command: "checkpoint", Argv: []string{"checkpoint", w.rollbackThread(), "--name", name}, Scenario: true})
	if o.OK() {
		b.checkpoints = append(b.checkpoints, savedFiles{name, maps.Clone(b.now)})
	}
	w.requireUnchanged("checkpoint")
}

// requireUnchanged checks that the files are as the worker knows them.
func (w *worker) requireUnchanged(command string) {
	w.requireFiles(command, w.rollbacks.now)
}

func (w *worker) requireFiles(command string, want map[string]string) {
	got, err := lab.Artifacts(w.Path("threads/" + w.rollbackThread()))
	if err != nil {
		w.violate(w, "the artifacts of "+w.rollbackThread()+" cannot be read: "+err.Error())
		return
	}
	if d := lab.FirstOf(harness.Differing(want, got)...); d != "" {
		w.violate(w, fmt.Sprintf("after %s in %s: %s", command, w.rollbackThread(), d))
	}
}

// rollBackTo rolls back to a checkpoint.
func (w *worker) rollBackTo(to savedFiles) {
	b := &w.rollbacks
	o := w.do(line{Command: "rollback", Argv: []string{"rollback", w.rollbackThread(), "--to", to.name}, Scenario: true})
	switch {
	case o.OK():
		w.requireFiles("rollback", to.files)
		var data struct {
			CheckpointID string
			Changed      bool
		}
		o.Into(&data)
		if !data.Changed {
			return
		}
		b.last = &doneRollback{data.CheckpointID, maps.Clone(b.now), o.Revision()}
		b.checkpoints = append(b.checkpoints, savedFiles{data.CheckpointID, b.last.before})
		b.now = maps.Clone(to.files)
	case o.Killed:
		b.unclear, b.maybe, b.last = true, to.files, nil
	}
}

// undoRollback undoes the newest rollback, including its checkpoint.
func (w *worker) undoRollback() {
	b := &w.rollbacks
	last := *b.last
	op := w.operationAt(w.rollbackThread(), last.revision)
	if op == "" {
		return
	}
	o := w.do(line{Command: "undo", Argv: []string{"undo", op}, Scenario: true})
	if !o.OK() && !o.Killed {
		return
	}
	b.last = nil
	for i, m := range b.checkpoints {
		if m.name == last.automatic {
			b.checkpoints = append(b.checkpoints[:i:i], b.checkpoints[i+1:]...)
			break
		}
	}
	if o.Killed {
		b.unclear, b.maybe = true, last.before
		return
	}
	w.requireFiles("undo of a rollback", last.before)
	rolledBack := b.now
	b.now = last.before
	if w.R.IntN(2) == 0 {
		w.redoRollback(last, rolledBack)
	}
}

// redoRollback redoes a rollback that was just undone.
func (w *worker) redoRollback(undone doneRollback, files map[string]string) {
	b := &w.rollbacks
	o := w.do(line{Command: "redo", Argv: []string{"redo"}, Scenario: true})
	switch {
	case o.OK():
		w.requireFiles("redo of a rollback", files)
		b.now = maps.Clone(files)
		b.checkpoints = append(b.checkpoints, savedFiles{undone.automatic, undone.before})
	case o.Killed:
		b.unclear, b.maybe = true, maps.Clone(files)
	}
}

// operationAt returns the operation of a thread at a revision, or "" if history fails.
func (w *worker) operationAt(thread string, revision int64) string {
	o := w.do(line{Command: "history", Argv: []string{"history", "--thread", thread, "--limit", "300"}, Scenario: true, NoKill: true, Reads: true})
	var data struct {
		Items []struct {
			Seq         int64
			OperationID string
		}
	}
	o.Into(&data)
	for _, item := range data.Items {
		if item.Seq == revision {
			return item.OperationID
		}
	}
	if o.OK() {
		w.violate(w, fmt.Sprintf("operation %d of %s was acknowledged, but is not in its history", revision, thread))
	}
	return ""
}

// branch copies the thread and merges the unchanged copy back: the thread must not
// change, even if the process that made the copy was killed.
func (w *worker) branch() {
	id := fmt.Sprintf("branch-%02d-%d-%d", w.n, w.rollbacks.threads, w.rollbacks.steps)
	spawn := []string{"spawn", "--intent", "Branch off", "--id", id, "--parent", w.rollbackThread(), "--inherit", "full", "--depends-on", gateID}
	if o := w.do(line{Command: "spawn", Argv: spawn, Scenario: true}); !o.OK() && !o.Killed {
		return
	}
	o := w.do(line{Command: "merge", Argv: []string{"merge", "--sources", id, "--target", w.rollbackThread()}, Scenario: true, NoKill: true, May: "T101"})
	if w.requireUnchanged("a merge of a copy"); o.Changed() {
		w.violate(w, "a merge of "+id+", an unchanged copy, changed "+w.rollbackThread())
	}
	if !o.OK() {
		return
	}
	w.endThread(id)
}

// resolveKilled finds out whether a killed call took effect: after the next write, the
// files must all be as before, or all as the call would have left them.
func (w *worker) resolveKilled() bool {
	b := &w.rollbacks
	name := fmt.Sprintf("kept after a kill %d", b.steps)
	if o := w.do(line{Command: "checkpoint", Argv: []string{"checkpoint", w.rollbackThread(), "--name", name}, Scenario: true, NoKill: true}); !o.OK() {
		return false
	}
	got, err := lab.Artifacts(w.Path("threads/" + w.rollbackThread()))
	if err != nil {
		w.violate(w, "the artifacts of "+w.rollbackThread()+" cannot be read: "+err.Error())
		return false
	}
	if d := lab.FirstOf(harness.Differing(b.now, got)...); d != "" {
		if after := lab.FirstOf(harness.Differing(b.maybe, got)...); after != "" {
			w.violate(w, fmt.Sprintf("after a killed call %s is neither as before (%s) nor as after (%s)", w.rollbackThread(), d, after))
		}
		b.now = maps.Clone(b.maybe)
	}
	b.checkpoints = append(b.checkpoints, savedFiles{name, maps.Clone(b.now)})
	b.unclear = false
	return true
}
