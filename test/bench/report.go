package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// This file prints the report as Markdown.

type report struct {
	head    []string
	tables  []fmt.Stringer
	targets []target
	notes   []string
}

// target is one limit and its measured value.
type target struct {
	what     string
	measured float64
	limit    float64
	least    bool // the limit is the least, not the most
	unit     string
}

func (t target) met() bool {
	if t.least {
		return t.measured >= t.limit
	}
	return t.measured <= t.limit
}

// begin adds what was measured, and on which machine.
func (r *report) begin(b *bench, version string) {
	r.head = []string{
		fmt.Sprintf("%s, %s, %s/%s, %d cores. %d runs each, %s.", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), b.runs, load()),
		"Times are medians of whole processes, their quartiles in brackets; the ratio is of the medians of wall time.",
	}
}

// load returns the load of the machine, "" where it is unknown.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(data))
	if err != nil || len(fields) < 3 {
		return "load unknown"
	}
	return "load at the beginning " + strings.Join(fields[:3], " ")
}

func (r *report) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, n := range r.notes {
		if n == text {
			return
		}
	}
	r.notes = append(r.notes, text)
}

func (r *report) target(what string, measured, limit float64) {
	r.targets = append(r.targets, target{what: what, measured: measured, limit: limit, unit: "x"})
}

func (r *report) atLeast(what string, measured, limit float64) {
	r.targets = append(r.targets, target{what: what, measured: measured, limit: limit, least: true, unit: "x"})
}

// memory adds a target for a command's peak memory.
func (r *report) memory(name string, s *store, got series) {
	most := memoryTimes*float64(s.stateSize())/1e6 + memoryMore
	r.targets = append(r.targets, target{
		what: fmt.Sprintf("peak memory of `%s`, %s threads", name, grouped(s.plan.live)), measured: got.peak().high, limit: math.Round(most*10) / 10, unit: " MB",
	})
}

// table lists commands with their floors.
type table struct {
	title, note string
	rows        []string
}

func (r *report) table(title, note string) *table {
	t := &table{title: title, note: note}
	r.tables = append(r.tables, t)
	return t
}

func (t *table) add(name string, got series, floor string, floors series) {
	t.rows = append(t.rows, fmt.Sprintf("| `%s` | %s | %s | %.1f | %s: %.2f | %.2f |",
		name, shown(got.wall()), shown(got.cpu()), got.peak().median, floor, floors.wall().median, got.wall().median/floors.wall().median))
}

func (t *table) String() string {
	title := "### " + t.title
	if t.note != "" {
		title += " (" + t.note + ")"
	}
	return title + "\n\n| command | wall, ms | CPU, ms | peak, MB | baseline, ms | ratio |\n|---|---|---|---|---|---|\n" + strings.Join(t.rows, "\n") + "\n"
}

func shown(s spread) string { return fmt.Sprintf("%.2f (%.2f to %.2f)", s.median, s.low, s.high) }

// crowdTable lists results of concurrent writers.
type crowdTable struct {
	title string
	rows  []string
}

func (r *report) crowd(title string) *crowdTable {
	t := &crowdTable{title: title}
	r.tables = append(r.tables, t)
	return t
}

func (t *crowdTable) add(writers int, mine, floors []crowd) {
	walls := allWalls(mine)
	t.rows = append(t.rows, fmt.Sprintf("| %d x %d | %.0f | %.0f | %.0f %% | %.1f | %.1f | %.1f |", writers, each,
		middle(mine), middle(floors), 100*middle(mine)/middle(floors), walls[len(walls)/2], walls[len(walls)*99/100], walls[len(walls)-1]))
}

func (t *crowdTable) String() string {
	return "### " + t.title + "\n\n| writers | spawns a second | durable floors a second | of the floor | median of a call, ms | p99, ms | slowest, ms |\n|---|---|---|---|---|---|---|\n" +
		strings.Join(t.rows, "\n") + "\n"
}

// String returns the report: machine, targets, tables.
func (r *report) String() string {
	var out strings.Builder
	out.WriteString(strings.Join(r.head, "\n") + "\n\n")
	if len(r.targets) > 0 {
		out.WriteString("### Targets\n\n| target | limit | measured | |\n|---|---|---|---|\n")
	}
	missed := 0
	for _, t := range r.targets {
		word, sign := "met", "at most"
		if t.least {
			sign = "at least"
		}
		if !t.met() {
			word = "**missed**"
			missed++
		}
		fmt.Fprintf(&out, "| %s | %s %s%s | %.2f%s | %s |\n", t.what, sign, strconv.FormatFloat(t.limit, 'f', -1, 64), t.unit, t.measured, t.unit, word)
	}
	fmt.Fprintf(&out, "\n%d of %d targets met.\n", len(r.targets)-missed, len(r.targets))
	for _, t := range r.tables {
		out.WriteString("\n" + t.String())
	}
	for _, n := range r.notes {
		out.WriteString("\n" + n + "\n")
	}
	return out.String()
}

// grouped formats a number with commas.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func megabytes(n int64) string { return fmt.Sprintf("%.2f MB", float64(n)/1e6) }
