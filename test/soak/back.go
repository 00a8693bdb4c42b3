//go:build unix

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

// This file is the play about going back. Each worker has a thread whose files it
// alone changes, so it knows them to the byte: at each checkpoint, and after each
// rollback, undone rollback, and killed rollback.

// backer is what a worker knows of its own thread.
type backer struct {
	born    int // threads so far
	there   bool
	steps   int
	now     map[string]string
	marks   []mark
	last    *rolled // the newest rollback, while it can be undone
	unclear bool
	maybe   map[string]string // what may be there after a killed call; nil is as before
}

// mark is a checkpoint that the worker may go back to.
type mark struct {
	name  string
	files map[string]string
}

// rolled is a rollback that was acknowledged.
type rolled struct {
	automatic string // the checkpoint of what was there before
	before    map[string]string
	revision  int64
}

const (
	backSteps = 60 // then a new thread is begun
	backMarks = 12
)

func (w *worker) backID() string { return fmt.Sprintf("back-%02d-%d", w.n, w.back.born) }

// goBack takes a step.
func (w *worker) goBack() {
	b := &w.back
	if (!b.there || b.steps > backSteps) && !w.newBack() {
		return
	}
	if b.unclear && !w.clearBack() {
		return
	}
	b.steps++
	switch draw := w.r.IntN(11); {
	case draw == 10:
		w.branch()
	case draw < 4 || len(b.marks) == 0 && draw < 7:
		w.shuffle()
	case draw < 6 || len(b.marks) == 0:
		w.mark()
	case draw == 9 && b.last != nil:
		w.undoRollback()
	default:
		w.rollBack(b.marks[w.r.IntN(len(b.marks))])
	}
}

// newBack ends the thread and begins another.
func (w *worker) newBack() bool {
	if w.back.there {
		for _, command := range []string{"cancel", "archive"} {
			if o := w.do(line{command: command, argv: []string{command, w.backID()}, family: true, calm: true}); !o.ok() {
				return false
			}
		}
	}
	w.back = backer{born: w.back.born + 1, now: map[string]string{}}
	o := w.do(line{command: "spawn", argv: []string{"spawn", "--intent", "Go back", "--id", w.backID(), "--objective", "plays", "--depends-on", gateID}, family: true, calm: true})
	w.back.there = o.ok()
	return o.ok()
}

// shuffle writes and removes a few files.
func (w *worker) shuffle() {
	b := &w.back
	b.last = nil
	for range 1 + w.r.IntN(4) {
		name := []string{"plan.md", "design/a.md", "design/b.md", "notes.md", "swap", "swap2/in.md"}[w.r.IntN(6)]
		if _, there := b.now[name]; there && w.r.IntN(3) == 0 {
			if err := os.Remove(w.path("threads/" + w.backID() + "/" + filepath.FromSlash(name))); err != nil {
				w.violate(w, "a file is gone that nobody took away: "+err.Error())
				return
			}
			delete(b.now, name)
			continue
		}
		content := ""
		for range w.r.IntN(30) {
			content += w.line()
		}
		if err := w.save(w.backID(), name, content); err != nil {
			w.violate(w, "a file cannot be saved: "+err.Error())
			return
		}
		b.now[name] = content
	}
}

// mark makes a checkpoint.
func (w *worker) mark() {
	b := &w.back
	if len(b.marks) >= backMarks {
		b.marks = b.marks[1:]
	}
	name := fmt.Sprintf("mark %d", b.steps)
	o := w.do(line{command: "checkpoint", argv: []string{"checkpoint", w.backID(), "--name", name}, family: true})
	if o.ok() {
		b.marks = append(b.marks, mark{name, maps.Clone(b.now)})
	}
	w.asBefore("checkpoint")
}

// asBefore asserts that the files are what the worker knows.
func (w *worker) asBefore(command string) {
	w.areFiles(command, w.back.now)
}

func (w *worker) areFiles(command string, want map[string]string) {
	got, err := w.artifacts(w.backID())
	if err != nil {
		w.violate(w, "the artifacts of "+w.backID()+" cannot be read: "+err.Error())
		return
	}
	if d := differing(want, got); d != "" {
		w.violate(w, fmt.Sprintf("after %s in %s: %s", command, w.backID(), d))
	}
}

// rollBack goes back to a mark.
func (w *worker) rollBack(to mark) {
	b := &w.back
	o := w.do(line{command: "rollback", argv: []string{"rollback", w.backID(), "--to", to.name}, family: true})
	switch {
	case o.ok():
		w.areFiles("rollback", to.files)
		var data struct {
			CheckpointID string
			Changed      bool
		}
		o.into(&data)
		if !data.Changed {
			return
		}
		b.last = &rolled{data.CheckpointID, maps.Clone(b.now), o.revision()}
		b.marks = append(b.marks, mark{data.CheckpointID, b.last.before})
		b.now = maps.Clone(to.files)
	case o.killed:
		b.unclear, b.maybe, b.last = true, to.files, nil
	}
}

// undoRollback takes the newest rollback back, and its checkpoint with it.
func (w *worker) undoRollback() {
	b := &w.back
	last := *b.last
	op := w.operationAt(w.backID(), last.revision)
	if op == "" {
		return
	}
	o := w.do(line{command: "undo", argv: []string{"undo", op}, family: true})
	if !o.ok() && !o.killed {
		return
	}
	b.last = nil
	for i, m := range b.marks {
		if m.name == last.automatic {
			b.marks = append(b.marks[:i:i], b.marks[i+1:]...)
			break
		}
	}
	if o.killed {
		b.unclear, b.maybe = true, last.before
		return
	}
	w.areFiles("undo of a rollback", last.before)
	b.now = last.before
}

// operationAt is the operation of a thread at a revision, "" when it cannot be
// asked for now.
func (w *worker) operationAt(thread string, revision int64) string {
	o := w.do(line{command: "history", argv: []string{"history", "--thread", thread, "--limit", "300"}, family: true, calm: true, reads: true})
	var data struct {
		Items []struct {
			Seq         int64
			OperationID string
		}
	}
	o.into(&data)
	for _, item := range data.Items {
		if item.Seq == revision {
			return item.OperationID
		}
	}
	if o.ok() {
		w.violate(w, fmt.Sprintf("operation %d of %s was acknowledged and is not in its history", revision, thread))
	}
	return ""
}

// branch copies the thread, and merges the copy back: nothing has changed there, so
// nothing changes here, whether the copy was all in place or its maker was killed.
func (w *worker) branch() {
	id := fmt.Sprintf("branch-%02d-%d-%d", w.n, w.back.born, w.back.steps)
	spawn := []string{"spawn", "--intent", "Branch off", "--id", id, "--parent", w.backID(), "--inherit", "full", "--depends-on", gateID}
	if o := w.do(line{command: "spawn", argv: spawn, family: true}); !o.ok() && !o.killed {
		return
	}
	o := w.do(line{command: "merge", argv: []string{"merge", "--sources", id, "--target", w.backID()}, family: true, calm: true, may: "T101"})
	if w.asBefore("a merge of a copy"); o.changed() {
		w.violate(w, "a merge of "+id+", a copy that nobody changed, changed "+w.backID())
	}
	if !o.ok() {
		return
	}
	for _, command := range []string{"cancel", "archive"} {
		w.do(line{command: command, argv: []string{command, id}, family: true, calm: true})
	}
}

// clearBack finds out what became of a killed call: after the next write, which
// keeps what is there, the files are wholly those of before, or wholly those that
// were asked for.
func (w *worker) clearBack() bool {
	b := &w.back
	name := fmt.Sprintf("kept behind a kill %d", b.steps)
	if o := w.do(line{command: "checkpoint", argv: []string{"checkpoint", w.backID(), "--name", name}, family: true, calm: true}); !o.ok() {
		return false
	}
	got, err := w.artifacts(w.backID())
	if err != nil {
		w.violate(w, "the artifacts of "+w.backID()+" cannot be read: "+err.Error())
		return false
	}
	if d := differing(b.now, got); d != "" {
		if after := differing(b.maybe, got); after != "" {
			w.violate(w, fmt.Sprintf("after a killed call %s is neither as before (%s) nor as it was to be (%s)", w.backID(), d, after))
		}
		b.now = maps.Clone(b.maybe)
	}
	b.marks = append(b.marks, mark{name, maps.Clone(b.now)})
	b.unclear = false
	return true
}
