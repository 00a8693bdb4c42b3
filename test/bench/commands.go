package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// This file lists the measured commands and their limits.

// The limits that docs/internals/performance.md promises.
const (
	startLimit  = 3.0  // --version, by the empty program
	writeLimit  = 2.4  // spawn, reference, lifecycle, by the durable floor
	ageLimit    = 1.10 // archived threads and old operations, by a store without
	crowdLimit  = 0.60 // rate of many writers, by that of the durable floor
	tailLimit   = 10.0 // p99 of one call, by its median
	batchLimit  = 4.0  // 1,000 spawns, by one
	memoryTimes = 4.0  // peak memory, per byte of the state file, plus memoryMore
	memoryMore  = 20.0 // so many MB, of which --version takes 14
	mergeLimit  = 1.5  // merge-file, by git merge-file
	landLimit   = 2.0  // land, by git merge, worktree remove and branch -d
	diffLimit   = 30.0 // diff ID, ms beyond git diff
)

// readLimit is the limit of status ID and list --limit 20, by the reading floor: a start
// weighs more where little is read.
func readLimit(threads int) float64 {
	if threads <= 1_000 {
		return 3
	}
	return 2.6
}

// within limits the time of one alternation.
const within = 90 * time.Second

func measureStart(b *bench) error {
	got, err := b.alternate(4*b.runs, within, fixed("empty", b.dir, b.empty), fixed("--version", b.dir, b.leslie, "--version"))
	if err != nil {
		return err
	}
	t := b.report.table("Start", "")
	t.add("--version", got["--version"], "an empty program", got["empty"])
	b.report.target("`--version`", got["--version"].wall().median/got["empty"].wall().median, startLimit)
	return nil
}

func sizes(short bool) []int {
	if short {
		return []int{10, 1_000}
	}
	return []int{10, 100, 1_000, 10_000, 100_000}
}

func measureSizes(b *bench) error {
	for _, n := range sizes(b.short) {
		s, err := b.storeOf(plan{live: n})
		if err != nil {
			return err
		}
		if err := b.measureReads(s); err != nil {
			return err
		}
		if err := b.measureWrites(s); err != nil {
			return err
		}
	}
	return nil
}

// judged reports whether there are targets for a store of this size.
func (s *store) judged() bool { return s.plan.live == 1_000 || s.plan.live == 10_000 }

// reads returns the reading commands; each run asks for another thread.
func (b *bench) reads(s *store) []subject {
	one := func(name string, argv ...string) subject {
		return fixed(name, s.dir, append([]string{b.leslie}, argv...)...)
	}
	about := func(name string) subject {
		return subject{name: name + " ID", dir: s.dir, argv: func(n int) []string { return []string{b.leslie, name, s.live(n * 7)} }}
	}
	return []subject{
		about("status"), one("list", "list"), one("list --limit 20", "list", "--limit", "20"),
		one("list --ready", "list", "--ready"), one("history --limit 20", "history", "--limit", "20"), about("context"),
	}
}

func (b *bench) measureReads(s *store) error {
	subjects := append(b.reads(s), fixed("floor", s.dir, b.floor, "read", s.file("thread_relations.json")))
	got, err := b.alternate(b.runs, within, subjects...)
	if err != nil {
		return err
	}
	t := b.report.table(fmt.Sprintf("Reading, %s threads", grouped(s.plan.live)), fmt.Sprintf("state file %s", megabytes(s.stateSize())))
	for _, subject := range b.reads(s) {
		t.add(subject.name, got[subject.name], "reading the bytes", got["floor"])
		b.report.memory(subject.name, s, got[subject.name])
		if s.judged() && (subject.name == "status ID" || subject.name == "list --limit 20") {
			b.report.target(fmt.Sprintf("`%s`, %s threads", subject.name, grouped(s.plan.live)), got[subject.name].wall().median/got["floor"].wall().median, readLimit(s.plan.live))
		}
	}
	return nil
}

// writes returns the writing commands. No run repeats an earlier one.
func (b *bench) writes(s *store) []subject {
	return []subject{
		{name: "spawn", dir: s.dir, argv: func(n int) []string {
			return []string{b.leslie, "spawn", "--objective", idOf("obj-", 0), "--tag", "bench", "--depends-on", s.live(n), "--intent", "Measure what one more thread costs, with tags and dependencies"}
		}},
		{name: "reference", dir: s.dir, argv: func(int) []string {
			s.referred++
			return []string{b.leslie, "reference", "--from", s.active(s.referred), "--target", s.live(0), "--scope", scopeOf(s.referred)}
		}},
		{name: "lifecycle", dir: s.dir, argv: func(int) []string {
			action := []string{"suspend", "resume"}[s.moved%2]
			s.moved++
			return []string{b.leslie, "lifecycle", s.active(0), "--action", action}
		}},
	}
}

func (b *bench) measureWrites(s *store) error {
	if err := s.restore(); err != nil {
		return err
	}
	copied := filepath.Join(s.dir, "floor", "state")
	if err := s.copyState(copied); err != nil {
		return err
	}
	copies := filepath.Join(s.dir, "floor", "copies")
	if err := os.MkdirAll(copies, 0o755); err != nil {
		return err
	}
	subjects := append(b.writes(s), fixed("floor", s.dir, b.floor, "write", copied), fixed("copy", s.dir, b.floor, "copy", copied, copies))
	rivals, err := b.rivals(s)
	if err != nil {
		return err
	}
	for _, r := range rivals {
		subjects = append(subjects, r.subject)
	}
	got, err := b.alternate(b.runs, within, subjects...)
	if err != nil {
		return err
	}
	t := b.report.table(fmt.Sprintf("Writing, %s threads", grouped(s.plan.live)), fmt.Sprintf("state file %s", megabytes(s.stateSize())))
	for _, subject := range b.writes(s) {
		t.add(subject.name, got[subject.name], "the durable floor", got["floor"])
		if subject.name == "reference" {
			t.add(subject.name, got[subject.name], "the same with a small file's copy", got["copy"])
		}
		b.report.memory(subject.name, s, got[subject.name])
		if s.judged() {
			b.report.target(fmt.Sprintf("`%s`, %s threads", subject.name, grouped(s.plan.live)), got[subject.name].wall().median/got["floor"].wall().median, writeLimit)
		}
	}
	for _, r := range rivals {
		t.add(r.subject.name, got[r.subject.name], "the durable floor", got["floor"])
		if r.against != "" {
			b.report.target(fmt.Sprintf("`%s` by `%s`, %s threads", r.against, r.subject.name, grouped(s.plan.live)), got[r.against].wall().median/got[r.subject.name].wall().median, 1)
		}
	}
	return nil
}

// active returns the id of one of the 100 youngest active threads.
func (s *store) active(n int) string {
	var found []int
	for i := s.plan.threads() - 1; i > s.plan.archived && len(found) < 100; i-- {
		if s.plan.status(i) == "active" {
			found = append(found, i)
		}
	}
	return threadID(found[n%len(found)])
}

// scopeOf returns a scope that selects plan.md and differs for each n: a reference
// with the same scope would exist already.
func scopeOf(n int) string {
	all := []string{"plan.md", "plan.*", "pla*", "pl*", "p*", "*.md", "*n.md", "*an.md", "*lan.md", "p*.md", "pl*.md", "pla*.md"}
	var parts []string
	for i, pattern := range all {
		if n>>i&1 == 1 {
			parts = append(parts, pattern)
		}
	}
	return strings.Join(parts, ",")
}
