package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/internal/screen"
	"leslie/thread"
)

// row is one line of the tree: an objective, or a thread.
type row struct {
	key       string // o: and t: with the id
	depth     int
	objective *threads.OverviewObjective
	thread    *threads.OverviewThread
	parent    string // the key of the row that it is below
	folds     bool   // others are below it
}

func objectiveKey(id thread.ObjectiveID) string { return "o:" + string(id) }

func threadKey(id thread.ThreadID) string { return "t:" + string(id) }

// matches reports whether a row is what a person filters for, in lower case.
func (r row) matches(filter string) bool {
	if r.objective != nil {
		return strings.Contains(strings.ToLower(string(r.objective.ID)+" "+r.objective.Title), filter)
	}
	t := r.thread
	text := string(t.ThreadID) + " " + t.Title + " " + string(t.Status) + " " + strings.Join(t.Tags, " ")
	if t.Run != nil {
		text += " " + t.Run.Agent + " " + string(t.Run.Phase)
	}
	return strings.Contains(strings.ToLower(text), filter)
}

// tree returns the rows of an overview: under each objective its threads. With a filter only
// what matches stays, with what is above it, and nothing is folded.
func tree(d *threads.OverviewResult, folded map[string]bool, filter string) []row {
	of := map[thread.ObjectiveID][]*threads.OverviewThread{}
	for i := range d.Threads {
		t := &d.Threads[i]
		of[t.ObjectiveID] = append(of[t.ObjectiveID], t)
	}
	all := make([]row, 0, len(d.Objectives)+len(d.Threads))
	for i := range d.Objectives {
		o := &d.Objectives[i]
		all = append(all, row{key: objectiveKey(o.ID), objective: o})
		above := []string{objectiveKey(o.ID)}
		for _, t := range of[o.ID] {
			depth := 1
			if t.Depth != nil {
				depth += *t.Depth
			}
			depth = min(depth, len(above))
			above = append(above[:depth], threadKey(t.ThreadID))
			all = append(all, row{key: threadKey(t.ThreadID), depth: depth, thread: t, parent: above[depth-1]})
		}
	}
	for i := range all {
		all[i].folds = i+1 < len(all) && all[i+1].depth > all[i].depth
	}
	if filter != "" {
		return filtered(all, strings.ToLower(filter))
	}
	out := all[:0:0]
	below := -1 // the depth of the folded row above
	for _, r := range all {
		if below >= 0 && r.depth > below {
			continue
		}
		below = -1
		if folded[r.key] && r.folds {
			below = r.depth
		}
		out = append(out, r)
	}
	return out
}

func filtered(all []row, filter string) []row {
	keep := map[string]bool{}
	parents := map[string]string{}
	for _, r := range all {
		parents[r.key] = r.parent
		if r.matches(filter) {
			for key := r.key; key != "" && !keep[key]; key = parents[key] {
				keep[key] = true
			}
		}
	}
	var out []row
	for _, r := range all {
		if keep[r.key] {
			out = append(out, r)
		}
	}
	return out
}

// draw draws a row in so many cells.
func (r row) draw(width int, colours bool, s signs, folded bool) string {
	fold := s.leaf
	switch {
	case r.folds && folded:
		fold = s.folded
	case r.folds:
		fold = s.open
	}
	left := []screen.Cell{screen.Text(strings.Repeat("  ", r.depth) + fold)}
	if r.objective != nil {
		left = append(left, screen.Bold(cmp.Or(r.objective.Title, string(r.objective.ID))))
		return screen.Row(width, colours, left, []screen.Cell{screen.ObjectiveCell(r.objective.Status)})
	}
	name, more := names(r.thread)
	left = append(left, screen.Text(name))
	if more != "" {
		left = append(left, screen.Faint("  "+more))
	}
	state := r.state()
	if madeUp(r.thread.ThreadID) && more != "" && length(left)+length(state)+1 > width { // a part of such an id says nothing
		left = left[:len(left)-1]
	}
	return screen.Row(width, colours, left, state)
}

// madeUp reports whether leslie has chosen an id, and not a person.
func madeUp(id thread.ThreadID) bool { return strings.HasPrefix(string(id), "thread-") }

// names is what a person knows a thread by, and what else it is called.
func names(t *threads.OverviewThread) (name, more string) {
	if madeUp(t.ThreadID) && t.Title != "" {
		return t.Title, string(t.ThreadID)
	}
	return string(t.ThreadID), t.Title
}

func length(cells []screen.Cell) (n int) {
	for _, c := range cells {
		n += screen.Width(c.Text)
	}
	return n
}

// state says how a thread is, and who works on it.
func (r row) state() []screen.Cell {
	t := r.thread
	var out []screen.Cell
	add := func(c screen.Cell) {
		if len(out) > 0 {
			out = append(out, screen.Text(" "))
		}
		out = append(out, c)
	}
	if t.Unread > 0 {
		add(screen.Bold(fmt.Sprintf("%d new", t.Unread)))
	}
	addSilence := func() {
		if t.Claim != nil && t.Claim.Silent >= time.Minute { // who works is heard of more often
			add(screen.Faint(screen.Since(t.Claim.Heard())))
		}
	}
	ended := t.Status.Terminated()
	switch run := t.Run; {
	case ended:
	case run != nil && run.Killed:
		add(screen.Bold("run killed"))
	case run != nil && run.RunID != "" && run.Phase != thread.RunEnded:
		addSilence()
		add(screen.Good(runWord(run)))
	case run != nil && run.RunID != "":
		add(screen.Faint("run " + string(run.Stop)))
	case t.Status == thread.Suspended: // that is what matters
	case t.Claim != nil:
		addSilence() // before the name, which may be cut
		add(screen.Faint("@" + t.Claim.Holder))
	case len(t.BlockedBy) > 0:
		if id := t.BlockedBy[0]; madeUp(id) {
			add(screen.Faint("blocked")) // the title needs the room
		} else {
			add(screen.Faint("after " + string(id)))
		}
	}
	switch {
	case t.Status == thread.WaitingHuman:
		add(screen.Bold("waiting"))
	case t.Status != thread.Active || len(out) == 0:
		add(screen.StatusCell(t.Status))
	}
	return out
}

// runWord is the phase of a run with what it has used.
func runWord(run *app.RunRecord) string {
	text := fmt.Sprintf("%s %dt", run.Phase, run.Turns)
	for _, cost := range run.Used.Cost {
		text += fmt.Sprintf(" %.2f %s", cost.Amount, cost.Currency)
	}
	return text
}
