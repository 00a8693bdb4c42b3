//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// This file is the pause: nobody works, and everything is checked.

// rest stops everybody, looks, and lets them go on.
func (g *ground) rest() {
	g.turn.Lock()
	defer g.turn.Unlock()
	broken := g.ended.Load()
	g.pauses++
	for _, problem := range g.look() {
		g.violate(nil, problem)
		broken = true
	}
	if broken || !g.choirs.due(g.workers) {
		return
	}
	if err := g.rehearse(); err != nil {
		g.violate(nil, err.Error())
	}
}

// look checks everything. The write comes first: it sees through what killed
// processes left. Another comes behind the last deadline: what lapses between two
// looks would differ.
func (g *ground) look() (problems []string) {
	before := len(g.ids)
	for _, what := range []string{"Pause", "Nothing lapses any more in pause"} {
		time.Sleep(time.Until(g.world.lapses()))
		if o := g.own("update", gateID, "--title", fmt.Sprintf("%s %d", what, g.pauses)); !o.ok() || len(o.doc.Warnings) > 0 {
			return append(problems, "the next write: "+o.text())
		}
		problems = append(problems, g.readOn()...)
	}
	problems = append(problems, g.compareState()...)
	problems = append(problems, g.compareLists(before)...)
	problems = append(problems, g.compareFiles()...)
	problems = append(problems, g.choirs.compare(g.project, g.workers)...)
	problems = append(problems, g.compareRequests()...)
	for _, o := range g.hearers {
		if !g.ended.Load() { // who waits for what is lost waits long
			problems = append(problems, o.caughtUp(g.ids))
		}
	}
	var doctor struct {
		Healthy  bool
		Findings json.RawMessage
	}
	if g.own("doctor").into(&doctor); !doctor.Healthy {
		problems = append(problems, "doctor: "+string(doctor.Findings))
	}
	return slices.DeleteFunc(problems, func(s string) bool { return s == "" })
}

// readOn reads what is new in the journal, and holds it against the calls.
func (g *ground) readOn() (problems []string) {
	ops, next, err := readJournal(g.path("operations.jsonl"), g.offset)
	if err != nil {
		problems = append(problems, err.Error())
	}
	g.offset = next
	for _, op := range ops {
		problems = append(problems, g.world.play(op)...)
		g.ids = append(g.ids, op.ID)
		g.report.operation(op)
	}
	g.mu.Lock()
	calls := g.calls
	g.calls = nil
	g.mu.Unlock()
	found, behind := allot(ops, calls)
	g.report.behind(behind)
	return append(problems, found...)
}

// readAgain reads the journal from its beginning: what was there still is.
func (g *ground) readAgain() {
	ops, _, err := readJournal(g.path("operations.jsonl"), 0)
	if err != nil {
		g.violate(nil, err.Error())
		return
	}
	ids := make([]string, len(ops))
	for i, op := range ops {
		ids[i] = op.ID
	}
	if d := unlike("the journal, read again, has", g.ids, ids[:min(len(ids), len(g.ids))]); d != "" {
		g.violate(nil, d)
	}
}

// compareState holds the state's file against the operations, played again.
func (g *ground) compareState() (problems []string) {
	data, err := os.ReadFile(g.path(stateFile))
	if err != nil {
		return []string{err.Error()}
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return []string{"the state's file: " + err.Error()}
	}
	if s.Revision != g.world.seq {
		problems = append(problems, fmt.Sprintf("the state is at revision %d, the journal at %d", s.Revision, g.world.seq))
	}
	return append(problems, unlikeRecords(g.world.live, s.records())...)
}

func unlikeRecords(want, got map[string]json.RawMessage) (problems []string) {
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

// statuses are what every thread's status has to be.
func (w *world) statuses() map[string]string {
	out := map[string]string{}
	for _, records := range []map[string]json.RawMessage{w.archived, w.live} { // what is live counts
		for name, raw := range records {
			var t struct{ Status string }
			if id, is := strings.CutPrefix(name, "threads/"); is && json.Unmarshal(raw, &t) == nil {
				out[id] = t.Status
			}
		}
	}
	return out
}

// compareLists holds what the reading commands answer against the operations.
func (g *ground) compareLists(before int) (problems []string) {
	want := g.world.statuses()
	var list struct {
		Items []struct{ ThreadID, Status string }
	}
	g.own("list", "--all", "--limit", "0").into(&list)
	got := map[string]string{}
	for _, item := range list.Items {
		if got[item.ThreadID] != "" {
			problems = append(problems, item.ThreadID+" is listed twice")
		}
		got[item.ThreadID] = item.Status
	}
	if d := differing(want, got); d != "" {
		problems = append(problems, "leslie list --all: "+d)
	}
	var history struct {
		Items []struct{ OperationID string }
	}
	g.own("history", "--limit", "0", "--since", fmt.Sprint(before)).into(&history)
	var ids []string
	for _, item := range slices.Backward(history.Items) {
		ids = append(ids, item.OperationID)
	}
	problems = append(problems, unlike(fmt.Sprintf("leslie history --since %d has", before), g.ids[before:], ids))
	return append(problems, g.compareCounts(want)...)
}

// compareCounts holds the counts of the summary and of the objectives against the
// threads.
func (g *ground) compareCounts(threads map[string]string) (problems []string) {
	var status struct {
		Revision int64
		Threads  map[string]int
	}
	g.own("status").into(&status)
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
	if status.Revision != g.world.seq {
		problems = append(problems, fmt.Sprintf("leslie status is at revision %d of %d", status.Revision, g.world.seq))
	}
	var objectives struct {
		Items []struct {
			ObjectiveID string
			Threads     map[string]int
		}
	}
	g.own("objective", "list", "--limit", "0").into(&objectives)
	total := 0
	for _, o := range objectives.Items {
		if _, there := g.world.live["objectives/"+o.ObjectiveID]; !there {
			problems = append(problems, "leslie objective list has "+o.ObjectiveID+", which nobody made")
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

// compareFiles looks at folders: each thread has one, nothing temporary is left,
// and no line of an artifact is torn.
func (g *ground) compareFiles() (problems []string) {
	for id, status := range g.world.statuses() {
		if _, err := os.Stat(g.path("threads/" + id)); err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if status == "archived" {
			continue
		}
		files, err := g.artifacts(id)
		if err != nil {
			problems = append(problems, err.Error())
		}
		for _, name := range sortedKeys(files) {
			if line := torn(files[name]); line != "" {
				problems = append(problems, fmt.Sprintf("%s of %s has a line that nobody wrote: %q", name, id, line))
			}
		}
	}
	return append(problems, leftovers(g.path("."))...)
}

// leftovers are what dead processes left in a store's folder.
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
	staging, _ := os.ReadDir(folder + "/tmp") // it need not be there
	for _, e := range staging {
		problems = append(problems, "tmp/"+e.Name()+" is left")
	}
	return problems
}

// compareRequests: each request that was answered is in the journal.
func (g *ground) compareRequests() (problems []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range g.requested {
		if g.world.requests[id] == 0 {
			problems = append(problems, "request "+id+" was answered and not carried out")
		}
	}
	return problems
}
