//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"leslie/test/harness"
)

// This file counts, and prints what was counted.

// report collects the results of all workers.
type report struct {
	out   io.Writer
	start time.Time

	mu         sync.Mutex
	tallies    map[string]*tally
	warnings   map[string]int
	violations []string
	recoveries []time.Duration // until a write succeeded after the leader's death
}

// tally is one row of the table.
type tally struct {
	calls, ok, killed int
	codes             map[string]int
	typical           time.Duration
}

func newReport(out io.Writer) *report {
	return &report{out: out, start: time.Now(), tallies: map[string]*tally{}, warnings: map[string]int{}}
}

func (r *report) tally(command string) *tally {
	if r.tallies[command] == nil {
		r.tallies[command] = &tally{codes: map[string]int{}, typical: 100 * time.Millisecond}
	}
	return r.tallies[command]
}

// typical returns how long a call of a command takes on average.
func (r *report) typical(command string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tally(command).typical
}

func (r *report) count(command string, o harness.Outcome, aimed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tally(command)
	t.calls++
	switch {
	case o.Killed:
		t.killed++
	case o.OK():
		t.ok++
	default:
		t.codes[o.Code()]++
	}
	if !aimed {
		t.typical += (min(o.End.Sub(o.Begin), time.Second) - t.typical) / 8
	}
	if o.Doc != nil {
		for _, w := range o.Doc.Warnings {
			r.warnings[w.Code]++
		}
	}
}

// say prints a line of progress.
func (r *report) say(format string, args ...any) {
	fmt.Fprintf(r.out, "%6s  %s\n", time.Since(r.start).Round(time.Second), fmt.Sprintf(format, args...))
}

// most is how many violations are printed; later ones follow from them.
const most = 10

func (r *report) violation(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.violations = append(r.violations, text); len(r.violations) <= most {
		fmt.Fprintln(r.out, "VIOLATION:", text)
	}
}

// end prints the table and the conclusion; it reports whether there was no violation.
func (r *report) end(g *run) (ok bool) {
	total := &tally{codes: map[string]int{}}
	fmt.Fprintf(r.out, "\n%-18s %7s %7s %7s  %s\n", "command", "calls", "ok", "killed", "codes")
	for _, name := range slices.Sorted(maps.Keys(r.tallies)) {
		t := r.tallies[name]
		r.row(name, t)
		total.calls, total.ok, total.killed = total.calls+t.calls, total.ok+t.ok, total.killed+t.killed
		for code, n := range t.codes {
			total.codes[code] += n
		}
	}
	r.row("total", total)
	fmt.Fprintf(r.out, "\nwarnings: %s\n", counted(r.warnings))
	acknowledged, repeated := 0, 0
	for _, q := range g.requests {
		if q.acknowledged {
			acknowledged++
		}
		if q.attempts > 1 {
			repeated++
		}
	}
	fmt.Fprintf(r.out, "requests: %d, acknowledged %d, repeated %d\n", len(g.requests), acknowledged, repeated)
	if len(r.recoveries) > 0 {
		fmt.Fprintf(r.out, "until a write succeeded after the leader's death: at most %s of %d\n", slices.Max(r.recoveries).Round(time.Millisecond), len(r.recoveries))
	}
	conclusion := "every promise was kept"
	if len(r.violations) > 0 {
		conclusion = fmt.Sprintf("%d violations", len(r.violations))
	}
	fmt.Fprintf(r.out, "faults: %d calls, %d killed, in %s, -seed %d: %s\n", total.calls, total.killed, time.Since(r.start).Round(time.Second), g.setup.seed, conclusion)
	return len(r.violations) == 0
}

func (r *report) row(name string, t *tally) {
	fmt.Fprintf(r.out, "%-18s %7d %7d %7d  %s\n", name, t.calls, t.ok, t.killed, counted(t.codes))
}

func counted(m map[string]int) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", key, m[key]))
	}
	return strings.Join(parts, ", ")
}
