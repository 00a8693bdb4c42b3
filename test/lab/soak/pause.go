//go:build unix

package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"leslie/test/harness"
	"leslie/test/lab"
)

// This file is the pause: all workers stop, and soak checks everything.

// pauseAndCheck stops the workers, checks everything, and lets them continue.
func (r *soakRun) pauseAndCheck() {
	r.pausing.Lock()
	defer r.pausing.Unlock()
	broken := r.ended.Load()
	r.pauses++
	for _, problem := range r.checkAll() {
		r.violate(nil, problem)
		broken = true
	}
	if broken || !r.groups.due(r.workers) {
		return
	}
	if err := r.newGeneration(); err != nil {
		r.violate(nil, err.Error())
	}
}

// checkAll checks everything. It first makes a write, which finishes what killed
// processes left, and another after the last deadline, so that no request expires
// between two reads.
func (r *soakRun) checkAll() (problems []string) {
	before := len(r.ids)
	for _, what := range []string{"Pause", "All deadlines have passed in pause"} {
		time.Sleep(time.Until(r.model.LastDeadline()))
		if o := r.own("update", gateID, "--title", fmt.Sprintf("%s %d", what, r.pauses)); !o.OK() || len(o.Doc.Warnings) > 0 {
			return append(problems, "the next write: "+o.Text())
		}
		problems = append(problems, r.readNew()...)
	}
	problems = append(problems, r.compareState()...)
	problems = append(problems, r.compareLists(before)...)
	problems = append(problems, r.compareFiles()...)
	problems = append(problems, r.groups.compare(r.Project, r.workers)...)
	problems = append(problems, r.compareRequests()...)
	for _, o := range r.observers {
		if !r.ended.Load() { // after a violation the observer may wait for a lost operation
			problems = append(problems, o.caughtUp(r.ids))
		}
	}
	problems = append(problems, r.Healthy())
	return slices.DeleteFunc(problems, func(s string) bool { return s == "" })
}

// readNew reads the journal's new operations, and compares them with the calls.
func (r *soakRun) readNew() (problems []string) {
	ops, next, err := lab.ReadJournal(r.Path("operations.jsonl"), r.offset)
	if err != nil {
		problems = append(problems, err.Error())
	}
	r.offset = next
	for _, op := range ops {
		problems = append(problems, r.model.Apply(op)...)
		r.ids = append(r.ids, op.ID)
		r.report.made[op.Command]++
	}
	r.mu.Lock()
	calls := r.calls
	r.calls = nil
	r.mu.Unlock()
	found, unanswered := assign(ops, calls)
	r.report.unanswered += unanswered
	return append(problems, found...)
}

// rereadJournal reads the journal from its beginning: nothing may be missing.
func (r *soakRun) rereadJournal() {
	ops, _, err := lab.ReadJournal(r.Path("operations.jsonl"), 0)
	if err != nil {
		r.violate(nil, err.Error())
		return
	}
	ids := make([]string, len(ops))
	for i, op := range ops {
		ids[i] = op.ID
	}
	if d := diffOperations("the journal, read again, has", r.ids, ids[:min(len(ids), len(r.ids))]); d != "" {
		r.violate(nil, d)
	}
}

// compareState compares the state file with the replayed operations.
func (r *soakRun) compareState() (problems []string) {
	s, err := lab.ReadState(r.Path(lab.StateFile))
	if err != nil {
		return []string{err.Error()}
	}
	if s.Revision != r.model.Seq {
		problems = append(problems, fmt.Sprintf("the state is at revision %d, the journal at %d", s.Revision, r.model.Seq))
	}
	return append(problems, r.model.Differing(s.Records())...)
}

// compareLists compares the answers of the reading commands with the operations.
func (r *soakRun) compareLists(before int) (problems []string) {
	want := r.model.Statuses()
	var list struct {
		Items []struct{ ThreadID, Status string }
	}
	r.own("list", "--all", "--limit", "0").Into(&list)
	got := map[string]string{}
	for _, item := range list.Items {
		if got[item.ThreadID] != "" {
			problems = append(problems, item.ThreadID+" is listed twice")
		}
		got[item.ThreadID] = item.Status
	}
	if d := lab.FirstOf(harness.Differing(want, got)...); d != "" {
		problems = append(problems, "leslie list --all: "+d)
	}
	var history struct {
		Items []struct{ OperationID string }
	}
	r.own("history", "--limit", "0", "--since", fmt.Sprint(before)).Into(&history)
	var ids []string
	for _, item := range slices.Backward(history.Items) {
		ids = append(ids, item.OperationID)
	}
	problems = append(problems, diffOperations(fmt.Sprintf("leslie history --since %d has", before), r.ids[before:], ids))
	return append(problems, r.compareCounts(want)...)
}

// compareCounts compares the counts of the summary and of the objectives with the
// threads.
func (r *soakRun) compareCounts(threads map[string]string) (problems []string) {
	var status struct {
		Revision int64
		Threads  map[string]int
	}
	r.own("status").Into(&status)
	want := map[string]int{}
	for _, s := range threads {
		if s != "archived" {
			want[s]++
		}
	}
	for _, s := range lab.Sorted(want) {
		if status.Threads[s] != want[s] {
			problems = append(problems, fmt.Sprintf("leslie status counts %d %s threads of %d", status.Threads[s], s, want[s]))
		}
	}
	if status.Revision != r.model.Seq {
		problems = append(problems, fmt.Sprintf("leslie status is at revision %d of %d", status.Revision, r.model.Seq))
	}
	var objectives struct {
		Items []struct {
			ObjectiveID string
			Threads     map[string]int
		}
	}
	r.own("objective", "list", "--limit", "0").Into(&objectives)
	total := 0
	for _, o := range objectives.Items {
		if _, there := r.model.Live["objectives/"+o.ObjectiveID]; !there {
			problems = append(problems, "leslie objective list has "+o.ObjectiveID+", which the journal has not")
		}
		for _, n := range o.Threads {
			total += n
		}
	}
	if total != len(threads) {
		problems = append(problems, fmt.Sprintf("the objectives count %d threads of %d", total, len(threads)))
	}
	return problems
}

// compareFiles checks the folders: each thread has one, no temporary file is left, and no
// line of an artifact is torn.
func (r *soakRun) compareFiles() (problems []string) {
	for id, status := range r.model.Statuses() {
		if _, err := os.Stat(r.Path("threads/" + id)); err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if status == "archived" {
			continue
		}
		files, err := lab.Artifacts(r.Path("threads/" + id))
		if err != nil {
			problems = append(problems, err.Error())
		}
		for _, name := range lab.Sorted(files) {
			if line := lab.Torn(files[name]); line != "" {
				problems = append(problems, fmt.Sprintf("%s of %s has a torn line: %q", name, id, line))
			}
		}
	}
	return append(problems, lab.Leftovers(r.Path("."))...)
}

// compareRequests checks that each answered request is in the journal.
func (r *soakRun) compareRequests() (problems []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.requested {
		if r.model.Requests[id] == 0 {
			problems = append(problems, "request "+id+" was acknowledged, but not carried out")
		}
	}
	return problems
}
