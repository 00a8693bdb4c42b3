//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"syscall"

	"leslie/test/lab"
)

// This file is a worker: it runs one process after the other, and compares each answer
// with the answers before.

type (
	line    = lab.Line
	outcome = lab.Outcome
)

// worker runs one process at a time.
type worker struct {
	*soakRun
	lab.Drawer
	n         int
	last      []string // its newest calls, for the report
	member    mergeMember
	rollbacks rollbackScenario
	undos     undoScenario
}

// mostThreads is about the maximum number of threads that are no scenario's.
const mostThreads = 80

// newWorker returns a worker. Its name is the actor of what it draws. The scenarios have
// another actor, so that undo without an operand never undoes an operation of a scenario.
func (r *soakRun) newWorker(n int) *worker {
	w := &worker{soakRun: r, n: n}
	w.Drawer = lab.Drawer{R: rand.New(rand.NewPCG(r.seed, uint64(n))), Name: fmt.Sprintf("w%02d", n), Threads: mostThreads,
		Snapshot: r.sight.Now, Path: r.Path, Scratch: r.Temp}
	w.Operation = func() string { return r.newest.draw(w.R) }
	return w
}

// Path returns the path of a file in the store's folder.
func (w *worker) Path(name string) string { return w.soakRun.Path(name) }

// work works until the run is over.
func (w *worker) work() {
	commands := lab.Drawn(false)
	for !w.over() {
		w.pausing.RLock()
		if w.R.IntN(100) < 35 {
			w.scenarioStep()
		} else if l, ok := w.Next(commands); ok {
			w.do(l)
		}
		w.pausing.RUnlock()
	}
}

// scenarioStep does a step of one of the scenarios.
func (w *worker) scenarioStep() {
	switch w.R.IntN(7) {
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
	var kill lab.Interruption
	switch {
	case l.NoKill:
	case w.R.IntN(killOneIn) == 0:
		kill = lab.KillAfter(w.report.Moment(w.R, l.Command))
		if !l.Reads && w.R.IntN(2) == 0 {
			kill = w.atCommit(l)
		}
	case w.R.IntN(terminateOneIn) == 0:
		kill = lab.Interruption{After: w.report.Moment(w.R, l.Command), Signal: syscall.SIGTERM}
		l.May += " T904"
	}
	return w.call(l, kill)
}

// call runs a command and checks the answer.
func (w *worker) call(l line, kill lab.Interruption) outcome {
	actor := w.actor(l)
	w.Identify(&l, actor)
	floor := w.reported.Load()
	o := w.Run(w.Leslie, l.Argv, l.Stdin, kill)
	w.remember(l, o)
	w.report.Count(l, o, kill)
	problem := l.Wrong(o)
	if problem == "" && o.Killed && kill.After == 0 {
		problem = "it was killed, but not by soak"
	}
	if problem == "" {
		problem = w.checkRevision(l, o, floor)
	}
	if problem != "" {
		w.violate(w, "leslie "+shown(l.Argv)+": "+problem+"\n    "+o.Text())
	}
	if _, id := madeBy(l, o); id != "" {
		w.Holds = id
	}
	w.note(actor, l, o)
	return o
}

// actor returns the actor of a command.
func (w *worker) actor(l line) string {
	if l.Scenario {
		return w.Name + "-f"
	}
	return w.Name
}

// beginThread begins a thread of a scenario, and endThread ends one.
func (w *worker) beginThread(id, intent string) bool {
	argv := []string{"spawn", "--intent", intent, "--id", id, "--objective", "scenarios", "--depends-on", gateID}
	return w.do(line{Command: "spawn", Argv: argv, Scenario: true, NoKill: true}).OK()
}

func (w *worker) endThread(id string) bool {
	for _, command := range []string{"cancel", "archive"} {
		if o := w.do(line{Command: command, Argv: []string{command, id}, Scenario: true, NoKill: true}); !o.OK() {
			return false
		}
	}
	return true
}

// checkRevision returns a problem if an answer's revision is older than one reported
// before the call, or if another change was acknowledged with it.
func (w *worker) checkRevision(l line, o lab.Outcome, floor int64) string {
	rev := o.Revision()
	if rev == 0 || o.Warned("W901") {
		return ""
	}
	if rev < max(w.Known, floor) {
		return fmt.Sprintf("revision %d is older than %d, which was reported before", rev, max(w.Known, floor))
	}
	w.Known = rev
	for told := floor; rev > told && !w.reported.CompareAndSwap(told, rev); {
		told = w.reported.Load()
	}
	if !l.Reads && !l.Waits() && o.OK() && o.Changed() {
		if other, twice := w.changes.LoadOrStore(rev, w.Name); twice {
			return fmt.Sprintf("revision %d was acknowledged to %v already", rev, other)
		}
	}
	return ""
}

const remembered = 12

func (w *worker) remember(l line, o lab.Outcome) {
	how := fmt.Sprint(o.Status)
	if o.Killed {
		how = "killed"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = append(w.last, fmt.Sprintf("%s leslie %s: %s %s", o.Begin.UTC().Format("15:04:05.000"), shown(l.Argv), how, o.Code()))
	if len(w.last) > remembered {
		w.last = w.last[1:]
	}
}

// save saves an artifact.
func (w *worker) save(thread, name, content string) error {
	return w.Save(w.Path("threads/"+thread), name, content)
}
