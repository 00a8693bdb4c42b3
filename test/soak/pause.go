//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"leslie/test/harness"
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
		time.Sleep(time.Until(r.model.lastDeadline()))
		if o := r.own("update", gateID, "--title", fmt.Sprintf("%s %d", what, r.pauses)); !o.OK() || len(o.Doc.Warnings) > 0 {
			return append(problems, "the next write: "+o.Text())
		}
		problems = append(problems, r.readNew()...)
	}
	problems = append(problems, r.compareState()...)
	problems = append(problems, r.compareLists(before)...)
	problems = append(problems, r.compareFiles()...)
	problems = append(problems, r.groups.compare(r.project, r.workers)...)
	problems = append(problems, r.compareRequests()...)
	for _, o := range r.observers {
		if !r.ended.Load() { // after a violation the observer may wait for a lost operation
			problems = append(problems, o.caughtUp(r.ids))
		}
	}
	var doctor struct {
		Healthy  bool
		Findings json.RawMessage
	}
	if r.own("doctor").Into(&doctor); !doctor.Healthy {
		problems = append(problems, "doctor: "+string(doctor.Findings))
	}
	return slices.DeleteFunc(problems, func(s string) bool { return s == "" })
}

// readNew reads the journal's new operations, and compares them with the calls.
func (r *soakRun) readNew() (problems []string) {
	ops, next, err := readJournal(r.path("operations.jsonl"), r.offset)
	if err != nil {
		problems = append(problems, err.Error())
	}
	r.offset = next
	for _, op := range ops {
		problems = append(problems, r.model.apply(op)...)
		r.ids = append(r.ids, op.ID)
		r.report.operation(op)
	}
	r.mu.Lock()
	calls := r.calls
	r.calls = nil
	r.mu.Unlock()
	found, unanswered := assign(ops, calls)
	r.report.countUnanswered(unanswered)
	return append(problems, found...)
}

// rereadJournal reads the journal from its beginning: nothing may be missing.
func (r *soakRun) rereadJournal() {
	ops, _, err := readJournal(r.path("operations.jsonl"), 0)
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
	data, err := os.ReadFile(r.path(stateFile))
	if err != nil {
		return []string{err.Error()}
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return []string{"the state's file: " + err.Error()}
	}
	if s.Revision != r.model.seq {
		problems = append(problems, fmt.Sprintf("the state is at revision %d, the journal at %d", s.Revision, r.model.seq))
	}
	return append(problems, diffRecords(r.model.live, s.records())...)
}

func diffRecords(want, got map[string]json.RawMessage) (problems []string) {
	for _, name := range sortedKeys(want) {
		if now, there := got[name]; !there {
			problems = append(problems, name+" is in the journal and not in the state")
		} else if string(now) != string(want[name]) {
			problems = append(problems, fmt.Sprintf("%s is not what the journal says: %s instead of %s", name, now, want[name]))
		}
	}
	for _, name := range sortedKeys(got) {
		if _, there := want[name]; !there {
			problems = append(problems, name+" is in the state and not in the journal")
		}
	}
	return problems
}

// statuses returns the expected status of every thread.
func (w *model) statuses() map[string]string {
	out := map[string]string{}
	for _, records := range []map[string]json.RawMessage{w.archived, w.live} { // live records win
		for name, raw := range records {
			var t struct{ Status string }
			if id, is := strings.CutPrefix(name, "threads/"); is && json.Unmarshal(raw, &t) == nil {
				out[id] = t.Status
			}
		}
	}
	return out
}

// compareLists compares the answers of the reading commands with the operations.
func (r *soakRun) compareLists(before int) (problems []string) {
	want := r.model.statuses()
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
	if d := firstOf(harness.Differing(want, got)...); d != "" {
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
	for _, s := range sortedKeys(want) {
		if status.Threads[s] != want[s] {
			problems = append(problems, fmt.Sprintf("leslie status counts %d %s threads of %d", status.Threads[s], s, want[s]))
		}
	}
	if status.Revision != r.model.seq {
		problems = append(problems, fmt.Sprintf("leslie status is at revision %d of %d", status.Revision, r.model.seq))
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
		if _, there := r.model.live["objectives/"+o.ObjectiveID]; !there {
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
	for id, status := range r.model.statuses() {
		if _, err := os.Stat(r.path("threads/" + id)); err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if status == "archived" {
			continue
		}
		files, err := r.artifacts(id)
		if err != nil {
			problems = append(problems, err.Error())
		}
		for _, name := range sortedKeys(files) {
			if line := torn(files[name]); line != "" {
				problems = append(problems, fmt.Sprintf("%s of %s has a torn line: %q", name, id, line))
			}
		}
	}
	return append(problems, leftovers(r.path("."))...)
}

// leftovers returns the temporary files in a store's folder.
func leftovers(folder string) (problems []string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") || strings.HasPrefix(e.Name(), ".thread_relations") || strings.Contains(e.Name(), "set-aside") {
			problems = append(problems, e.Name()+" is left in the store's folder")
		}
	}
	staging, _ := os.ReadDir(folder + "/tmp") // it need not exist
	for _, e := range staging {
		problems = append(problems, "tmp/"+e.Name()+" is left")
	}
	return problems
}

// compareRequests checks that each answered request is in the journal.
func (r *soakRun) compareRequests() (problems []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.requested {
		if r.model.requests[id] == 0 {
			problems = append(problems, "request "+id+" was acknowledged, but not carried out")
		}
	}
	return problems
}
