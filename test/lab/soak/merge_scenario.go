//go:build unix

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"leslie/test/lab"
)

// This file is the merge scenario. A group is a thread and a few workers, each with a
// child thread. Each worker writes lines into its own section of a shared file and into
// its own file, and merges its child into the group's thread and back. Nobody removes a
// line, so every thread that an acknowledged merge brought a line to has it exactly
// once. From time to time new threads replace the old ones (a new generation), so that
// files stay small.

// workersPerGroup is how many workers share one group's thread.
const workersPerGroup = 4

// linesPerGeneration is how many lines a worker writes before a new generation is due.
const linesPerGeneration = 60

// mergeGroups is what must be true of all groups.
type mergeGroups struct {
	mu          sync.Mutex
	generations int
	up          map[string][]string // by group, the lines that its thread must have
	count       int                 // acknowledged merges
}

// mergeMember is what a worker knows of its own child.
type mergeMember struct {
	mine    []string // written into it
	others  []string // merged down into it
	unclear bool     // a killed call may have left work for the next writer
}

func (w *worker) groupID() string {
	return fmt.Sprintf("group-%d-%d", w.groups.generations, w.n/workersPerGroup)
}

func (w *worker) memberID() string { return fmt.Sprintf("%s-%02d", w.groupID(), w.n) }

const sharedFile = "shared.md"

// template returns the shared file without lines: a section for each worker, far enough
// from the next to merge without conflict.
func template(workers []int) string {
	var b strings.Builder
	for _, n := range workers {
		b.WriteString(section(n))
		for i := range 5 {
			b.WriteString(lab.WithChecksum(fmt.Sprintf("filler %d of %02d", i, n)))
		}
	}
	return b.String()
}

func section(n int) string { return lab.WithChecksum(fmt.Sprintf("# %02d", n)) }

// mergeStep does one random step of the scenario.
func (w *worker) mergeStep() {
	switch w.R.IntN(5) {
	case 0, 1:
		// A merge finishes pending work by itself; a save needs all files in place.
		if w.member.unclear && !w.finishPending(w.memberID()) {
			return
		}
		w.member.unclear = false
		w.writeLines()
	case 2, 3:
		w.mergeUp()
	default:
		w.mergeDown()
	}
}

// finishPending makes a write, which finishes the pending work of a killed one.
func (w *worker) finishPending(id string) bool {
	o := w.do(line{Command: "update", Argv: []string{"update", id, "--title", fmt.Sprintf("Settled %d", w.R.Uint32())}, Scenario: true, NoKill: true})
	return o.OK()
}

// writeLines writes a few lines.
func (w *worker) writeLines() {
	if len(w.member.mine) > 3*linesPerGeneration {
		return // wait for a new generation
	}
	for range 1 + w.R.IntN(3) {
		name, line := sharedFile, w.Line()
		if w.R.IntN(3) == 0 {
			name = w.Name + ".md"
		}
		text, err := os.ReadFile(w.Path("threads/" + w.memberID() + "/" + name))
		if err != nil && name == sharedFile {
			w.violate(w, "the shared file of "+w.memberID()+" cannot be read: "+err.Error())
			return
		}
		if name == sharedFile {
			text = []byte(strings.Replace(string(text), section(w.n), section(w.n)+line, 1))
		} else {
			text = append(text, line...)
		}
		if err := w.save(w.memberID(), name, string(text)); err != nil {
			w.violate(w, "a line cannot be saved: "+err.Error())
			return
		}
		w.member.mine = append(w.member.mine, line)
	}
}

// mergeUp merges the worker's thread into the group's, as others do at the same time.
func (w *worker) mergeUp() {
	brought := slices.Concat(w.member.mine, w.member.others)
	o := w.merged(w.memberID(), w.groupID())
	if !o.OK() {
		return
	}
	w.groups.mu.Lock()
	defer w.groups.mu.Unlock()
	w.groups.count++
	w.groups.up[w.groupID()] = union(w.groups.up[w.groupID()], brought)
}

// mergeDown merges the group's thread into the worker's. Nobody else writes there, so it
// checks the result at once.
func (w *worker) mergeDown() {
	w.groups.mu.Lock()
	there := slices.Clone(w.groups.up[w.groupID()])
	w.groups.mu.Unlock()
	if o := w.merged(w.groupID(), w.memberID()); !o.OK() {
		return
	}
	w.groups.mu.Lock()
	w.groups.count++
	w.groups.mu.Unlock()
	for _, line := range there {
		if !slices.Contains(w.member.mine, line) && !slices.Contains(w.member.others, line) {
			w.member.others = append(w.member.others, line)
		}
	}
	if problem := lineProblem(w.Project, w.memberID(), slices.Concat(w.member.mine, w.member.others)); problem != "" {
		w.violate(w, problem)
	}
}

func union(a, b []string) []string {
	known := map[string]bool{}
	for _, s := range a {
		known[s] = true
	}
	for _, s := range b {
		if !known[s] {
			a = append(a, s)
		}
	}
	return a
}

func (w *worker) merged(from, to string) outcome {
	o := w.do(line{Command: "merge", Argv: []string{"merge", "--sources", from, "--target", to}, Scenario: true, May: "T304"})
	w.member.unclear = w.member.unclear || o.Killed
	return o
}

// lineProblem returns the first line that a group's thread lacks, contains twice, or
// should not contain.
func lineProblem(p *lab.Project, id string, lines []string) string {
	files, err := lab.Artifacts(p.Path("threads/" + id))
	if err != nil {
		return "the artifacts of " + id + " cannot be read: " + err.Error()
	}
	all := ""
	for _, name := range lab.Sorted(files) {
		all += files[name]
	}
	if line, times := lab.Missing(lines, all); line != "" {
		return fmt.Sprintf("%s has a merged line %d times: %s", id, times, line)
	}
	if line := lab.Torn(all); line != "" {
		return fmt.Sprintf("%s has a torn line: %q", id, line)
	}
	return ""
}

// compare checks all groups and children during a pause.
func (c *mergeGroups) compare(p *lab.Project, workers []*worker) (problems []string) {
	for _, id := range lab.Sorted(c.up) {
		if problem := lineProblem(p, id, c.up[id]); problem != "" {
			problems = append(problems, problem)
		}
	}
	for _, w := range workers {
		if problem := lineProblem(p, w.memberID(), slices.Concat(w.member.mine, w.member.others)); problem != "" {
			problems = append(problems, problem)
		}
	}
	return problems
}

// due reports whether a new generation is due.
func (c *mergeGroups) due(workers []*worker) bool {
	return c.generations == 0 || slices.ContainsFunc(workers, func(w *worker) bool { return len(w.member.mine) > linesPerGeneration })
}

// newGeneration ends a generation and begins the next, during a pause.
func (r *soakRun) newGeneration() error {
	c := &r.groups
	for _, w := range r.workers {
		if c.generations > 0 {
			if err := r.all("done "+w.memberID(), "archive "+w.memberID()); err != nil {
				return err
			}
		}
		w.member = mergeMember{}
	}
	for _, id := range lab.Sorted(c.up) {
		if err := r.all("done "+id, "archive "+id); err != nil {
			return err
		}
	}
	c.generations++
	c.up = map[string][]string{}
	for _, w := range r.workers {
		if _, there := c.up[w.groupID()]; !there {
			c.up[w.groupID()] = nil
			if err := r.newGroup(w); err != nil {
				return err
			}
		}
		if err := r.all("spawn --intent Merge --id " + w.memberID() + " --parent " + w.groupID() + " --inherit full --depends-on " + gateID); err != nil {
			return err
		}
	}
	return nil
}

func (r *soakRun) newGroup(w *worker) error {
	if err := r.all("spawn --intent Group --objective scenarios --id " + w.groupID() + " --depends-on " + gateID); err != nil {
		return err
	}
	var all []int
	for _, other := range r.workers {
		if other.n/workersPerGroup == w.n/workersPerGroup {
			all = append(all, other.n)
		}
	}
	return w.save(w.groupID(), sharedFile, template(all))
}
