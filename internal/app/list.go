package app

import (
	"cmp"
	"slices"
	"time"

	"leslie/thread"
)

// ListRequest lists threads; an empty field selects all.
type ListRequest struct {
	Status    thread.Status
	Objective string
	Parent    string
	Tag       string
	Executor  thread.Executor
	Ready     bool // only what could be taken up now: active, unclaimed, every dependency terminated
	All       bool // archived threads too
	Limit     int  // 0: all
	Tree      bool // children behind their parents
	// Order is the order of the list; in a tree, of siblings. In the order ByUrgency a
	// thread's place in a tree is that of the most urgent below it.
	Order thread.Order
}

// Faults returns what is wrong with the request.
func (in ListRequest) Faults(name Names) []Fault {
	k := newChecks(name)
	if in.Status != "" {
		oneOf(k, "Status", in.Status, thread.Statuses()...)
	}
	if in.Executor != "" {
		oneOf(k, "Executor", in.Executor, thread.ByHuman, thread.ByAgent)
	}
	if in.Order != "" {
		oneOf(k, "Order", in.Order, thread.ByUrgency)
	}
	return k.faults
}

// ListResult has threads in the form of a list.
type ListResult struct{ Items[ThreadItem] }

// ThreadItem is a thread in a list.
type ThreadItem struct {
	ThreadID    thread.ThreadID    `json:"threadId"`
	Title       string             `json:"title"`
	Status      thread.Status      `json:"status"`
	Executor    thread.Executor    `json:"executor"`
	ObjectiveID thread.ObjectiveID `json:"objectiveId"`
	ParentID    *thread.ThreadID   `json:"parentId"`
	DependsOn   []thread.ThreadID  `json:"dependsOn"`
	Claim       *ClaimRecord       `json:"claim"`
	Tags        []string           `json:"tags"`
	Code        *CodeRecord        `json:"code,omitempty"`
	UpdatedAt   time.Time          `json:"updatedAt"`
	// Run is the newest run of its agent, if leslie has started one.
	Run *RunRecord `json:"run,omitempty"`
	// Depth, in a tree, is the number of its ancestors in the list.
	Depth *int `json:"depth,omitempty"`
}

// List lists threads. Errors: T903, T601, T101 and T105 for the filters, those of
// reading.
func List(c *Call, in ListRequest) (*ListResult, error) {
	c.readOnly()
	if err := refused(in.Faults(nil)); err != nil {
		return nil, err
	}
	var page thread.Page
	_, err := c.view(func(s *thread.State) error {
		f, err := in.filter(c, s)
		if err != nil {
			return err
		}
		page, err = s.First(f, in.Limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	rows, now := make([]ThreadItem, len(page.Threads)), c.now()
	for i, t := range page.Threads {
		rows[i] = threadItem(t, now)
	}
	if in.Tree {
		if in.Order == thread.ByUrgency {
			rows = byMostUrgent(rows)
		}
		rows = asTree(rows)
	}
	return &ListResult{Items[ThreadItem]{Items: rows, Total: page.Total, Truncated: len(rows) < page.Total}}, nil
}

func threadItem(t thread.Thread, now time.Time) ThreadItem {
	item := ThreadItem{
		ThreadID: t.ID, Title: t.Title, Status: t.Status, Executor: t.Executor, ObjectiveID: t.ObjectiveID, ParentID: orNull(t.ParentID),
		DependsOn: append([]thread.ThreadID{}, t.DependsOn...), Claim: currentClaim(t, now), Tags: append([]string{}, t.Tags...), Code: codeOf(t), UpdatedAt: t.Updated,
	}
	if run := t.LastRun(); run != nil {
		r := runOf(*run)
		item.Run = &r
	}
	return item
}

// byMostUrgent moves each thread of a list to the place of the first one below it.
func byMostUrgent(rows []ThreadItem) []ThreadItem {
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
	slices.SortStableFunc(rows, func(a, b ThreadItem) int { return cmp.Compare(place[a.ThreadID], place[b.ThreadID]) })
	return rows
}

// asTree orders a list so that children follow their parents; siblings keep their order.
// A thread whose parent is not in the list is a root.
func asTree(rows []ThreadItem) []ThreadItem {
	listed := map[thread.ThreadID]bool{}
	for _, t := range rows {
		listed[t.ThreadID] = true
	}
	children := map[thread.ThreadID][]ThreadItem{}
	for _, t := range rows {
		parent := thread.ThreadID("")
		if t.ParentID != nil && listed[*t.ParentID] {
			parent = *t.ParentID
		}
		children[parent] = append(children[parent], t)
	}
	out := make([]ThreadItem, 0, len(rows))
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

func (in ListRequest) filter(c *Call, s *thread.State) (thread.Filter, error) {
	f := thread.Filter{Status: in.Status, Tag: in.Tag, Executor: in.Executor, Ready: in.Ready, Now: c.now(), All: in.All, Order: in.Order}
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
