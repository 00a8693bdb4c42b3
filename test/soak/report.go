//go:build unix

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"leslie/test/harness"
)

// This file counts calls, reports violations, and prints the table.

// report collects the results of all workers.
type report struct {
	out   io.Writer
	start time.Time
	setup setup

	mu         sync.Mutex
	tallies    map[string]*tally
	made       map[string]int // operations by their command
	broken     int
	violations []string
	unanswered int // operations of calls that were killed before they answered
	warnings   map[string]int
}

// tally is one row of the table.
type tally struct {
	calls, ok, targeted, killed, answered int
	codes                                 map[string]int
	typical                               time.Duration
}

func newReport(out io.Writer, s setup) *report {
	return &report{out: out, start: time.Now(), setup: s, tallies: map[string]*tally{}, made: map[string]int{}, warnings: map[string]int{}}
}

func (r *report) tally(command string) *tally {
	if r.tallies[command] == nil {
		r.tallies[command] = &tally{codes: map[string]int{}, typical: 30 * time.Millisecond}
	}
	return r.tallies[command]
}

// typical returns how long a call of a command takes on average.
func (r *report) typical(command string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tally(command).typical
}

// count counts a call.
func (r *report) count(l line, o outcome, kill interruption) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tally(l.command)
	t.calls++
	if kill.after > 0 && kill.signal == syscall.SIGKILL {
		t.targeted++
	}
	code := o.Code()
	if doc, _ := harness.Read(o.Stderr); l.stream && doc != nil && doc.Error != nil {
		code = doc.Error.Code
	}
	switch {
	case o.Killed && kill.signal == syscall.SIGTERM:
		t.codes["SIGTERM"]++
	case o.Killed:
		t.killed++
		if o.Doc != nil {
			t.answered++
		}
	case o.Status == 0:
		t.ok++
	default:
		t.codes[code]++
	}
	if !o.Killed {
		t.typical += (o.End.Sub(o.Begin) - t.typical) / 8
	}
	if o.Doc != nil {
		for _, w := range o.Doc.Warnings {
			r.warnings[w.Code]++
		}
	}
}

// operation counts an operation of the journal.
func (r *report) operation(op operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made[op.Command]++
}

// countUnanswered counts calls that were killed between their commit and their answer.
func (r *report) countUnanswered(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unanswered += n
}

// most is how many violations are printed; later ones follow from them.
const most = 10

// violation prints a violation at once.
func (r *report) violation(who, what string, last []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken++; r.broken > most {
		return
	}
	text := fmt.Sprintf("VIOLATION (%s, -seed %d): %s\n", who, r.setup.seed, what)
	for _, l := range last {
		text += "    " + l + "\n"
	}
	fmt.Fprint(r.out, text)
	r.violations = append(r.violations, text)
}

// end prints the table, the conclusion and the violations once more, for readers of only
// the last lines; it reports whether there were none.
func (r *report) end(g *soakRun) (ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	total := &tally{codes: map[string]int{}}
	fmt.Fprintf(r.out, "\n%-18s %7s %7s %7s %7s  %s\n", "command", "calls", "ok", "aimed", "killed", "codes")
	for _, name := range sortedKeys(r.tallies) {
		t := r.tallies[name]
		r.row(name, t)
		total.calls += t.calls
		total.ok += t.ok
		total.targeted += t.targeted
		total.killed += t.killed
		total.answered += t.answered
		for code, n := range t.codes {
			total.codes[code] += n
		}
	}
	r.row("total", total)
	fmt.Fprintf(r.out, "\nwarnings: %s\n", counted(r.warnings))
	fmt.Fprintf(r.out, "killed between commit and answer: %d; after the answer: %d\n", r.unanswered, total.answered)
	r.conclude(g, total)
	fmt.Fprint(r.out, strings.Join(r.violations, ""))
	return r.broken == 0
}

func (r *report) row(name string, t *tally) {
	fmt.Fprintf(r.out, "%-18s %7d %7d %7d %7d  %s\n", name, t.calls, t.ok, t.targeted, t.killed, counted(t.codes))
}

// counted prints counts in the order of their keys.
func counted(m map[string]int) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", key, m[key]))
	}
	return strings.Join(parts, ", ")
}

func (r *report) conclude(g *soakRun, total *tally) {
	operations := 0
	for _, n := range r.made {
		operations += n
	}
	resumed := 0
	for _, o := range g.observers {
		resumed += o.resumed
	}
	fmt.Fprintf(r.out, "operations: %d, of them merges %d, rollbacks %d, undos %d, batches %d\n",
		operations, r.made["merge"]+r.made["merge continue"], r.made["rollback"], r.made["undo"], r.made["batch"])
	fmt.Fprintf(r.out, "acknowledged scenario merges: %d; repeated requests: %d; observers: %d, ended and resumed %d times; pauses: %d\n",
		g.groups.count, len(g.requested), len(g.observers), resumed, g.pauses)
	conclusion := "every promise was kept"
	if r.broken > 0 {
		conclusion = fmt.Sprintf("%d violations", r.broken)
	}
	fmt.Fprintf(r.out, "soak: %d calls by %d processes in %s, %d of %d killed, -seed %d: %s\n",
		total.calls, r.setup.processes, time.Since(r.start).Round(time.Second), total.killed, total.targeted, r.setup.seed, conclusion)
}
