//go:build linux

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// This file counts results and prints them.

// report collects results from parallel workers.
type report struct {
	out   io.Writer
	start time.Time
	how   string // the flags that select the same cases again

	mu       sync.Mutex
	tallies  map[string]*tally // by matrix and key
	order    []string
	broken   []string
	skipped  []string // what was skipped, and why
	outcomes map[string][]string
}

// tally is one row of a table.
type tally struct {
	matrix, key    string
	runs, hits     int
	before, after  int
	commits, syncs int
	by             map[string]int
	violations     int
}

func newReport(out io.Writer, how string) *report {
	return &report{out: out, start: time.Now(), how: how, tallies: map[string]*tally{}, outcomes: map[string][]string{}}
}

func (r *report) say(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

// skip records and prints what cannot run on this machine.
func (r *report) skip(what, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if line := what + ": skipped: " + why; !slices.Contains(r.skipped, line) {
		r.skipped = append(r.skipped, line)
		r.say("%s", line)
	}
}

// add counts one result, and prints a violation at once.
func (r *report) add(w work, res result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.line(w)
	t.runs++
	t.by[res.outcome]++
	t.commits += res.commits
	t.syncs += res.syncs
	if res.hit {
		t.hits++
	}
	switch res.side {
	case sideBefore:
		t.before++
	case sideAfter:
		t.after++
	}
	if res.problem == "" {
		return
	}
	t.violations++
	r.broken = append(r.broken, w.name())
	r.say("VIOLATION %s: %s\n    go run ./test/lab/torture -only '%s'", w.name(), res.problem, w.name())
}

func (r *report) line(w work) *tally {
	key := w.key
	if key == "" {
		key = w.row
	}
	id := w.matrix + " " + key
	if r.tallies[id] == nil {
		r.tallies[id] = &tally{matrix: w.matrix, key: key, by: map[string]int{}}
		r.order = append(r.order, id)
	}
	return r.tallies[id]
}

// fail counts a row that could not be prepared.
func (r *report) fail(row string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = append(r.broken, row)
	r.say("VIOLATION %s: the row cannot be measured: %v", row, err)
}

// column is one number of a tally.
type column struct {
	title string
	of    func(*tally) int
}

func outcomeColumn(title string) column {
	return column{title, func(t *tally) int { return t.by[title] }}
}

// end prints the tables and reports whether every promise was kept.
func (r *report) end() (kept bool) {
	runs := column{"runs", func(t *tally) int { return t.runs }}
	hits := column{"on target", func(t *tally) int { return t.hits }}
	bad := column{"violations", func(t *tally) int { return t.violations }}
	before := column{"before", func(t *tally) int { return t.before }}
	after := column{"after", func(t *tally) int { return t.after }}
	said := []column{outcomeColumn(succeeded), outcomeColumn(unsettled), outcomeColumn(refused), outcomeColumn(inPart), outcomeColumn(unrecordedAnswer), outcomeColumn(unanswered)}
	r.table("kill", "Killed before each call that changes the disk", "command",
		[]column{runs, hits, before, after, bad})
	faulty := slices.Concat([]column{runs, hits}, said, []column{bad})
	r.table("git", "Commands that start git, killed before each call that changes something", "command, what was killed",
		[]column{runs, hits, outcomeColumn(killedAll), outcomeColumn(succeeded), outcomeColumn(refused), bad})
	r.table("run", "A run of an agent, killed before each call that changes something", "what was killed",
		[]column{runs, hits, outcomeColumn(killedAll), outcomeColumn(succeeded), bad})
	r.table("fault", "Each call that changes the disk fails", "error", faulty)
	r.table("permanent", "Every call from a point on fails", "error", faulty)
	r.table("read", "Each call that only reads fails", "error", faulty)
	r.table("diskfull", "Full disk", "space", faulty)
	r.table("permissions", "Missing permissions", "restriction", faulty)
	r.table("order", "On disk before it is acknowledged", "command", []column{
		{"answers", hits.of}, {"commits", func(t *tally) int { return t.commits }}, {"fsyncs", func(t *tally) int { return t.syncs }}, bad,
	})
	r.conclude()
	return len(r.broken) == 0 && !r.missed()
}

func (r *report) table(matrix, title, first string, columns []column) {
	lines := r.of(matrix)
	if len(lines) == 0 {
		return
	}
	r.say("\n%s\n", title)
	total := &tally{key: "total", by: map[string]int{}}
	for _, t := range lines {
		total.merge(t)
	}
	heads := []string{fmt.Sprintf("%-32s", first)}
	for _, c := range columns {
		heads = append(heads, fmt.Sprintf("%*s", width(c), c.title))
	}
	r.say("%s", strings.Join(heads, "  "))
	for _, t := range append(lines, total) {
		cells := []string{fmt.Sprintf("%-32s", t.key)}
		for _, c := range columns {
			cells = append(cells, fmt.Sprintf("%*d", width(c), c.of(t)))
		}
		r.say("%s", strings.Join(cells, "  "))
	}
}

func width(c column) int { return max(len(c.title), 6) }

func (r *report) of(matrix string) (out []*tally) {
	for _, id := range r.order {
		if t := r.tallies[id]; t.matrix == matrix {
			out = append(out, t)
		}
	}
	return out
}

func (t *tally) merge(o *tally) {
	t.runs += o.runs
	t.hits += o.hits
	t.before += o.before
	t.after += o.after
	t.commits += o.commits
	t.syncs += o.syncs
	t.violations += o.violations
	for k, n := range o.by {
		t.by[k] += n
	}
}

// missed reports whether fewer than 95 % of the kills were on target.
func (r *report) missed() bool {
	runs, hits := 0, 0
	for _, t := range r.of("kill") {
		runs, hits = runs+t.runs, hits+t.hits
	}
	return hits*100 < runs*95
}

func (r *report) conclude() {
	r.say("")
	for _, line := range r.skipped {
		r.say("%s", line)
	}
	runs := 0
	for _, t := range r.tallies {
		runs += t.runs
	}
	conclusion := "every promise was kept"
	switch {
	case len(r.broken) > 0:
		conclusion = fmt.Sprintf("%d violations, the first: go run ./test/lab/torture -only '%s'", len(r.broken), r.broken[0])
	case r.missed():
		conclusion = "fewer than 95 % of the kills were on target"
	}
	r.say("torture: %d runs in %s (%s): %s", runs, time.Since(r.start).Round(time.Second), r.how, conclusion)
}
