//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// This file is the table of rows: commands, how often they run, with which codes they may
// fail, and functions that draw their arguments.

// line is a command that a worker is about to run.
type line struct {
	argv  []string
	stdin string
	as    string // "": agent
}

// row is one command.
type row struct {
	name   string
	weight int
	may    string // the codes it may fail with
	reads  bool
	many   bool // it may make several operations
	draw   func(*worker) (line, bool)
}

const (
	// atThread: the thread may be gone, ended, claimed by somebody, or over its limit.
	atThread = "T101 T102 T103 T107 T108 "
	// away: what servers that are not there, or slow, do to any call; and the lock of a
	// copy in which such a call waits.
	away = "T501 T510 T511 "
)

func table() []row {
	return []row{
		{name: "objective create", weight: 1, may: "T106", draw: (*worker).objectiveCreate},
		{name: "spawn", weight: 10, may: atThread + "T106 T203 T601", draw: (*worker).spawn},
		{name: "claim", weight: 10, may: atThread + "T503", draw: (*worker).claim},
		{name: "release", weight: 4, may: atThread, draw: of("release")},
		{name: "inject", weight: 8, may: atThread, draw: (*worker).inject},
		{name: "update", weight: 8, may: atThread, draw: (*worker).update},
		{name: "done", weight: 3, may: atThread + "T113", draw: of("done")},
		{name: "reopen", weight: 3, may: atThread + "T603 T402", draw: of("reopen")},
		{name: "cancel", weight: 1, may: atThread, draw: of("cancel")},
		{name: "archive", weight: 3, may: atThread, draw: of("archive")},
		{name: "checkpoint", weight: 8, may: atThread + "T203", draw: of("checkpoint")},
		{name: "merge", weight: 6, may: atThread + "T203 T301 T302 T303 T304 T305 T402 T404 T408 T503", many: true, draw: (*worker).merge},
		{name: "transfer", weight: 3, may: atThread + "T401 T402 T404", many: true, draw: (*worker).transfer},
		{name: "approve", weight: 3, may: atThread + "T402 T403 T404", draw: (*worker).approve},
		{name: "publish", weight: 4, may: atThread, draw: of("publish")},
		{name: "batch", weight: 3, may: atThread + "T106 T601", draw: (*worker).batch},
		{name: "undo", weight: 3, may: atThread + "T110 T112 T402 T505", draw: (*worker).undo},
		{name: "list", weight: 2, reads: true, draw: fixed("list --all")},
		{name: "status", weight: 2, reads: true, draw: fixed("status")},
		{name: "history", weight: 2, reads: true, draw: fixed("history --limit 5")},
		{name: "artifacts", weight: 4, reads: true, may: "T101", draw: of("artifacts")},
		{name: "a save", weight: 12, reads: true, draw: (*worker).saves},
	}
}

func fixed(text string) func(*worker) (line, bool) {
	return func(*worker) (line, bool) { return line{argv: strings.Fields(text)}, true }
}

// of draws a command on a thread.
func of(command string) func(*worker) (line, bool) {
	return func(w *worker) (line, bool) { return line{argv: []string{command, w.thread()}}, true }
}

// unique returns a name that no call had before.
func (w *worker) unique(kind string) string {
	w.made++
	return fmt.Sprintf("%s-%s-%d", kind, w.name, w.made)
}

func (w *worker) objectiveCreate() (line, bool) {
	return line{argv: []string{"objective", "create", "A goal", "--id", w.unique("goal")}}, w.made < 40
}

// mostThreads is about how many threads there are.
const mostThreads = 40

func (w *worker) spawn() (line, bool) {
	l := line{argv: []string{"spawn", "--intent", "Work by " + w.name, "--id", w.unique("t")}}
	switch {
	case len(w.threads()) > mostThreads:
		return line{argv: []string{"archive", w.thread()}}, w.r.IntN(2) == 0
	case w.r.IntN(2) == 0:
		l.argv = append(l.argv, "--parent", w.thread(), "--inherit", "full")
	default:
		l.argv = append(l.argv, "--objective", "goal")
	}
	if w.r.IntN(4) == 0 {
		l.argv = append(l.argv, "--claim")
	}
	return l, true
}

func (w *worker) claim() (line, bool) {
	l := line{argv: []string{"claim", "--next"}}
	if w.r.IntN(3) == 0 {
		l.argv = []string{"claim", w.thread()}
	}
	if w.r.IntN(2) == 0 {
		l.argv = append(l.argv, "--for", []string{"1s", "5s"}[w.r.IntN(2)])
	}
	return l, true
}

func (w *worker) inject() (line, bool) {
	return line{argv: []string{"inject", w.thread(), "--type", "data", "--content", "-"}, stdin: "Mind " + w.unique("this") + "\n"}, true
}

func (w *worker) update() (line, bool) {
	return line{argv: []string{"update", w.thread(), "--title", w.unique("title")}}, true
}

func (w *worker) merge() (line, bool) {
	from, to := w.thread(), w.thread()
	return line{argv: []string{"merge", "--sources", from, "--target", to, "--conflict-strategy", "agent-first"}}, from != to
}

func (w *worker) transfer() (line, bool) {
	return line{argv: []string{"transfer", w.thread(), "--direction", "request_approval", "--scope", "code_edit", "--reason", "needed"}}, true
}

func (w *worker) approve() (line, bool) {
	ids := w.approvals()
	if len(ids) == 0 {
		return line{}, false
	}
	return line{argv: []string{"approve", ids[w.r.IntN(len(ids))]}, as: "user"}, true
}

func (w *worker) batch() (line, bool) {
	if len(w.threads()) > mostThreads {
		return line{}, false
	}
	id := w.unique("b")
	var text strings.Builder
	for _, argv := range [][]string{
		{"spawn", "--id", id, "--intent", "One of a batch", "--objective", "goal"},
		{"spawn", "--intent", "Its child", "--parent", id, "--id", id + "c"},
		{"inject", id, "--type", "data", "--content", "Mind this"},
		{"update", id, "--tag", "+batched"},
	} {
		raw, _ := json.Marshal(argv)
		text.Write(append(raw, '\n'))
	}
	return line{argv: []string{"batch", "-"}, stdin: text.String(), as: "user"}, true
}

func (w *worker) undo() (line, bool) { return line{argv: []string{"undo"}, as: "user"}, true }

// saves runs no command: it saves an artifact in one copy, as an editor does. Some files are
// one worker's, one is everybody's.
func (w *worker) saves() (line, bool) {
	id, name := w.thread(), w.name+".md"
	if w.r.IntN(4) == 0 {
		name = "plan.md"
	}
	folder := w.folder(w.r.IntN(len(w.copies)), id)
	text, _ := os.ReadFile(filepath.Join(folder, name))
	from := filepath.Join(w.scratch, w.name)
	if len(text) < 4000 {
		text = append(text, w.unique("line")+"\n"...)
	} else {
		text = []byte(w.unique("line") + "\n")
	}
	if os.WriteFile(from, text, 0o644) == nil {
		_ = os.Rename(from, filepath.Join(folder, name)) // fails if that machine has no such thread
	}
	return line{}, false
}
