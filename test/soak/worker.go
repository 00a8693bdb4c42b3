//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// This file is a worker: one process after the other, each answer held against
// what the worker has seen before.

// worker runs one process at a time.
type worker struct {
	*ground
	n       int
	r       *rand.Rand
	known   int64    // the highest revision that it was told
	last    []string // its newest calls, for whoever has to find out
	written int      // lines
	holds   string   // the thread that it claimed last
	choir   choirist
	back    backer
	field   fielder
}

func (g *ground) newWorker(n int) *worker {
	return &worker{ground: g, n: n, r: rand.New(rand.NewPCG(g.seed, uint64(n)))}
}

// name is the actor of its rows, and family that of its plays, so that an undo
// of one's own last operation never meets a play.
func (w *worker) name() string   { return fmt.Sprintf("w%02d", w.n) }
func (w *worker) family() string { return w.name() + "-f" }

// work goes on until it is over.
func (w *worker) work() {
	rows, total := table(), 0
	for _, row := range rows {
		total += row.weight
	}
	for !w.over() {
		w.turn.RLock()
		if w.r.IntN(100) < 35 {
			w.play()
		} else {
			w.row(rows, w.r.IntN(total))
		}
		w.turn.RUnlock()
	}
}

// row calls a line of the row that a draw falls on.
func (w *worker) row(rows []row, draw int) {
	for _, row := range rows {
		if draw -= row.weight; draw < 0 {
			if l, ok := row.draw(w); ok {
				if l.command == "" {
					l.command, l.may = row.name, row.may
				}
				l.many, l.stream, l.reads = row.many, row.stream, row.reads
				w.do(l)
			}
			return
		}
	}
}

// play takes a step of one of the plays.
func (w *worker) play() {
	switch w.r.IntN(7) {
	case 0, 1, 2:
		w.sing()
	case 3, 4:
		w.goBack()
	case 5:
		w.takeBack()
	default:
		w.again()
	}
}

// deadlyOneIn is how many calls there are to one that is killed, politeOneIn to
// one that is asked to end.
const (
	deadlyOneIn = 12
	politeOneIn = 40
)

// do calls, perhaps to end it early.
func (w *worker) do(l line) outcome {
	var early end
	switch {
	case l.calm:
	case w.r.IntN(deadlyOneIn) == 0:
		early = killAfter(w.moment(l.command))
		if !l.reads && w.r.IntN(2) == 0 {
			early = w.atCommit(l)
		}
	case w.r.IntN(politeOneIn) == 0:
		early = end{after: w.moment(l.command), signal: syscall.SIGTERM}
		l.may += " T904"
	}
	return w.call(l, early)
}

// call calls, and checks the answer.
func (w *worker) call(l line, early end) outcome {
	actor := w.identify(&l)
	floor := w.told.Load()
	o := w.project.call(l.argv, l.stdin, early)
	w.remember(l, o)
	w.report.count(l, o, early)
	problem := l.wrong(o)
	if problem == "" && o.killed && early.after == 0 {
		problem = "it was killed by somebody else"
	}
	if problem == "" {
		problem = w.older(l, o, floor)
	}
	if problem != "" {
		w.violate(w, "leslie "+shown(l.argv)+": "+problem+"\n    "+o.text())
	}
	if _, id := madeBy(l, o); id != "" {
		w.holds = id
	}
	w.note(actor, l, o)
	return o
}

// actor is whose operation a line makes.
func (w *worker) actor(l line) string {
	if l.family {
		return w.family()
	}
	return w.name()
}

// identify adds who acts to a line.
func (w *worker) identify(l *line) (actor string) {
	if l.as == "" {
		l.as = []string{"user", "user", "user", "user", "agent", "agent", "agent", "agent", "system"}[w.r.IntN(9)]
	}
	if l.family {
		l.as = "user"
	}
	actor = w.actor(*l)
	who := []string{"--as", l.as, "--actor", actor}
	if w.r.IntN(2) == 0 {
		l.argv = slices.Concat(who, l.argv)
	} else {
		l.argv = slices.Concat(l.argv, who)
	}
	return actor
}

// older says when an answer knows less than was told before it was asked for, or
// gives a number that another answer has.
func (w *worker) older(l line, o outcome, floor int64) string {
	rev := o.revision()
	if rev == 0 || o.warned("W901") {
		return ""
	}
	if rev < max(w.known, floor) {
		return fmt.Sprintf("revision %d is older than %d, which was told before", rev, max(w.known, floor))
	}
	w.known = rev
	for told := floor; rev > told && !w.told.CompareAndSwap(told, rev); {
		told = w.told.Load()
	}
	if !l.reads && !l.waits() && o.ok() && o.changed() {
		if other, twice := w.changes.LoadOrStore(rev, w.name()); twice {
			return fmt.Sprintf("revision %d was acknowledged to %v already", rev, other)
		}
	}
	return ""
}

const remembered = 12

func (w *worker) remember(l line, o outcome) {
	how := fmt.Sprint(o.status)
	if o.killed {
		how = "killed"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = append(w.last, fmt.Sprintf("%s leslie %s: %s %s", o.begin.UTC().Format("15:04:05.000"), shown(l.argv), how, o.code()))
	if len(w.last) > remembered {
		w.last = w.last[1:]
	}
}

// shown is a line for a reader.
func shown(argv []string) string {
	const most = 400
	out := make([]string, len(argv))
	for i, arg := range argv {
		if out[i] = arg; strings.ContainsAny(arg, " \n\"'*|") || arg == "" {
			out[i] = fmt.Sprintf("%q", arg)
		}
	}
	s := strings.Join(out, " ")
	return s[:min(len(s), most)]
}

// line is a line that nobody else writes, and that shows when it is torn.
func (w *worker) line() string {
	w.written++
	return sealed(fmt.Sprintf("w%02d %06d", w.n, w.written))
}

// save puts a file into a thread's folder as an editor does: beside it, then by
// rename. The folder has to be there: who saves makes no thread.
func (w *worker) save(thread, name, content string) error {
	folder := w.path("threads/" + thread)
	if _, err := os.Stat(folder); err != nil {
		return err
	}
	to := filepath.Join(folder, filepath.FromSlash(name))
	if dir := filepath.Dir(to); dir != folder {
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			return err
		}
	}
	from := filepath.Join(w.scratch, fmt.Sprintf("%s-save", w.name()))
	if err := os.WriteFile(from, []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(from, to)
}
