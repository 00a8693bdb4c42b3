package threads

import (
	"cmp"
	"slices"
	"time"

	"leslie/internal/app"
	"leslie/thread"
)

// ListRequest lists threads; an empty field selects all.
type ListRequest struct {
	Status          thread.Status
	Objective       string
	Parent          string
	Tag             string
	Executor        thread.Executor
	Ready           bool            // only what could be taken up now: active, unclaimed, and nothing holds it back
	app.ActorFilter                 // who has claimed it
	Since           thread.Revision // only what changed after this revision
	From            time.Time       // only what changed at this time or later
	All             bool            // archived threads too
	Limit           int             // 0: all
	Tree            bool            // children behind their parents
	// Order is the order of the list; in a tree, of siblings. In the order ByUrgency a
	// thread's place in a tree is that of the most urgent below it.
	Order thread.Order
}

// Faults returns what is wrong with the request.
func (in ListRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	if in.Mine && in.Ready {
		k.With("Ready", "Mine", "", "cannot be used with %s: no thread that you hold is ready to be claimed", k.Name("Ready"))
	}
	in.Check(k)
	if in.By != "" && in.Ready {
		k.With("Ready", "By", "", "cannot be used with %s: no thread that somebody holds is ready to be claimed", k.Name("Ready"))
	}
	if in.Status != "" {
		app.OneOf(k, "Status", in.Status, thread.Statuses()...)
	}
	if in.Executor != "" {
		app.OneOf(k, "Executor", in.Executor, thread.ByHuman, thread.ByAgent)
	}
	if in.Order != "" {
		app.OneOf(k, "Order", in.Order, thread.ByUrgency)
	}
	return k.Faults
}

// ListResult has threads in the form of a list.
type ListResult struct {
	app.Items[app.ThreadItem]
	// Archived is how many archived threads match, if no other does and they were not asked for.
	Archived int `json:"archived,omitempty"`
}

// List lists threads. Errors: T903, T601, T101 and T105 for the filters, those of
// reading.
func List(c *app.Call, in ListRequest) (*ListResult, error) {
	c.ReadOnly()
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	var page, archived thread.Page
	_, err := c.View(func(s *thread.State) error {
		f, err := in.filter(c, s)
		if err != nil {
			return err
		}
		page, err = s.First(f, in.Limit)
		if archived = (thread.Page{}); err == nil && page.Total == 0 && in.Status == "" && !in.All && !in.Ready && f.Holder == "" {
			f.Status = thread.Archived
			archived, err = s.First(f, 1)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	rows := make([]app.ThreadItem, len(page.Threads))
	for i, t := range page.Threads {
		rows[i] = app.ThreadItemOf(c, t)
	}
	if in.Tree {
		if in.Order == thread.ByUrgency {
			rows = byMostUrgent(rows)
		}
		rows = asTree(rows)
	}
	return &ListResult{app.Items[app.ThreadItem]{Items: rows, Total: page.Total, Truncated: len(rows) < page.Total}, archived.Total}, nil
}

// byMostUrgent moves each thread of a list to the place of the first one below it.
func byMostUrgent(rows []app.ThreadItem) []app.ThreadItem {
	parents, place := map[thread.ThreadID]thread.ThreadID{}, map[thread.ThreadID]int{}
	for _, t := range rows {
		if t.ParentID != nil {
			parents[t.ThreadID] = *t.ParentID
		}
	}
	for i, t := range rows {
		for id, ok := t.ThreadID, true; ok; id, ok = parents[id] {
			if _, placed := place[id]; placed {
				break // and so is what is above it
			}
			place[id] = i
		}
	}
	slices.SortStableFunc(rows, func(a, b app.ThreadItem) int { return cmp.Compare(place[a.ThreadID], place[b.ThreadID]) })
	return rows
}

// asTree orders a list so that children follow their parents; siblings keep their order.
// A thread whose parent is not in the list is a root.
func asTree(rows []app.ThreadItem) []app.ThreadItem {
	listed := map[thread.ThreadID]bool{}
	for _, t := range rows {
		listed[t.ThreadID] = true
	}
	children := map[thread.ThreadID][]app.ThreadItem{}
	for _, t := range rows {
		parent := thread.ThreadID("")
		if t.ParentID != nil && listed[*t.ParentID] {
			parent = *t.ParentID
		}
		children[parent] = append(children[parent], t)
	}
	out := make([]app.ThreadItem, 0, len(rows))
	var place func(parent thread.ThreadID, depth int)
	place = func(parent thread.ThreadID, depth int) {
		for _, t := range children[parent] {
			t.Depth = &depth
			out = append(out, t)
			place(t.ThreadID, depth+1)
		}
	}
	place("", 0)
	return out
}

func (in ListRequest) filter(c *app.Call, s *thread.State) (thread.Filter, error) {
	f := thread.Filter{Status: in.Status, Tag: in.Tag, Executor: in.Executor, Ready: in.Ready, Now: c.Now(), All: in.All, Order: in.Order, Holder: in.Actor(c),
		Since: in.Since, From: in.From}
	if in.Objective != "" {
		o, err := s.Objective(in.Objective)
		if err != nil {
			return f, err
		}
		f.Objective = o.ID
	}
	if in.Parent != "" {
		t, err := s.Thread(in.Parent)
		if err != nil {
			return f, err
		}
		f.Parent = t.ID
	}
	return f, nil
}
