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

// This file is a worker: it runs one process after the other, and compares each answer
// with the answers before.

// worker runs one process at a time.
type worker struct {
	*soakRun
	n         int
	r         *rand.Rand
	known     int64    // the highest revision in its answers
	last      []string // its newest calls, for the report
	written   int      // number of lines written
	holds     string   // the thread that it claimed last
	member    mergeMember
	rollbacks rollbackScenario
	undos     undoScenario
}

func (r *soakRun) newWorker(n int) *worker {
	return &worker{soakRun: r, n: n, r: rand.New(rand.NewPCG(r.seed, uint64(n)))}
}

// name is the actor of its rows. The scenarios have another actor, so that undo without
// an operand never undoes an operation of a scenario.
func (w *worker) name() string          { return fmt.Sprintf("w%02d", w.n) }
func (w *worker) scenarioActor() string { return w.name() + "-f" }

// work works until the run is over.
func (w *worker) work() {
	rows, total := table(), 0
	for _, row := range rows {
		total += row.weight
	}
	for !w.over() {
		w.pausing.RLock()
		if w.r.IntN(100) < 35 {
			w.scenarioStep()
		} else {
			w.row(rows, w.r.IntN(total))
		}
		w.pausing.RUnlock()
	}
}

// row runs a command of the row that a draw selects.
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

// scenarioStep does a step of one of the scenarios.
func (w *worker) scenarioStep() {
	switch w.r.IntN(7) {
	case 0, 1, 2:
		w.mergeStep()
	case 3, 4:
		w.rollbackStep()
	case 5:
		w.undoStep()
	default:
		w.retryStep()
	}
}

// One in killOneIn calls gets SIGKILL, one in terminateOneIn SIGTERM.
const (
	killOneIn      = 12
	terminateOneIn = 40
)

// do runs a command, and kills some of them.
func (w *worker) do(l line) outcome {
	var kill interruption
	switch {
	case l.noKill:
	case w.r.IntN(killOneIn) == 0:
		kill = killAfter(w.randomDelay(l.command))
		if !l.reads && w.r.IntN(2) == 0 {
			kill = w.atCommit(l)
		}
	case w.r.IntN(terminateOneIn) == 0:
		kill = interruption{after: w.randomDelay(l.command), signal: syscall.SIGTERM}
		l.may += " T904"
	}
	return w.call(l, kill)
}

// call runs a command and checks the answer.
func (w *worker) call(l line, kill interruption) outcome {
	actor := w.identify(&l)
	floor := w.reported.Load()
	o := w.project.call(l.argv, l.stdin, kill)
	w.remember(l, o)
	w.report.count(l, o, kill)
	problem := l.wrong(o)
	if problem == "" && o.Killed && kill.after == 0 {
		problem = "it was killed, but not by soak"
	}
	if problem == "" {
		problem = w.checkRevision(l, o, floor)
	}
	if problem != "" {
		w.violate(w, "leslie "+shown(l.argv)+": "+problem+"\n    "+o.Text())
	}
	if _, id := madeBy(l, o); id != "" {
		w.holds = id
	}
	w.note(actor, l, o)
	return o
}

// actor returns the actor of a command.
func (w *worker) actor(l line) string {
	if l.scenario {
		return w.scenarioActor()
	}
	return w.name()
}

// identify adds --as and --actor to a command.
func (w *worker) identify(l *line) (actor string) {
	if l.as == "" {
		l.as = []string{"user", "user", "user", "user", "agent", "agent", "agent", "agent", "system"}[w.r.IntN(9)]
	}
	if l.scenario {
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

// checkRevision returns a problem if an answer's revision is older than one reported
// before the call, or if another change was acknowledged with it.
func (w *worker) checkRevision(l line, o outcome, floor int64) string {
	rev := o.Revision()
	if rev == 0 || o.Warned("W901") {
		return ""
	}
	if rev < max(w.known, floor) {
		return fmt.Sprintf("revision %d is older than %d, which was reported before", rev, max(w.known, floor))
	}
	w.known = rev
	for told := floor; rev > told && !w.reported.CompareAndSwap(told, rev); {
		told = w.reported.Load()
	}
	if !l.reads && !l.waits() && o.OK() && o.Changed() {
		if other, twice := w.changes.LoadOrStore(rev, w.name()); twice {
			return fmt.Sprintf("revision %d was acknowledged to %v already", rev, other)
		}
	}
	return ""
}

const remembered = 12

func (w *worker) remember(l line, o outcome) {
	how := fmt.Sprint(o.Status)
	if o.Killed {
		how = "killed"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = append(w.last, fmt.Sprintf("%s leslie %s: %s %s", o.Begin.UTC().Format("15:04:05.000"), shown(l.argv), how, o.Code()))
	if len(w.last) > remembered {
		w.last = w.last[1:]
	}
}

// shown formats a command for a reader.
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

// line returns a unique line with a checksum.
func (w *worker) line() string {
	w.written++
	return withChecksum(fmt.Sprintf("w%02d %06d", w.n, w.written))
}

// save saves a file in a thread's folder as an editor does: written elsewhere, then
// renamed. It does not make the thread's folder.
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
