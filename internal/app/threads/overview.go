package threads

import (
	"path/filepath"

	"leslie/internal/app"
	"leslie/thread"
)

// OverviewRequest asks for all that is at work.
type OverviewRequest struct{}

// OverviewResult is what a person who looks on sees at once.
type OverviewResult struct {
	Project  string // the name of its folder
	Revision thread.Revision
	// Objectives are those that have threads here or are active, in their order, and Threads
	// the threads that are not archived, children behind their parents.
	Objectives []OverviewObjective
	Threads    []OverviewThread
	Waiting    []app.WaitingItem
	// WaitingMore is how many more wait than are listed.
	WaitingMore int
	// Sources are the threads that pending merges take from, by the merge's id.
	Sources map[string][]thread.ThreadID
}

// OverviewObjective is an objective in an overview.
type OverviewObjective struct {
	ID     thread.ObjectiveID
	Title  string
	Status thread.ObjectiveStatus
}

// OverviewThread is a thread in an overview.
type OverviewThread struct {
	app.ThreadItem
	Unread    int               // what waits for its agent: messages and comments
	BlockedBy []thread.ThreadID // what it depends on that has not ended
}

// Overview returns all objectives and threads that are not archived, and what waits for
// somebody, as of one revision. Errors: those of reading.
func Overview(c *app.Call, _ OverviewRequest) (*OverviewResult, error) {
	c.ReadOnly()
	d := &OverviewResult{Project: filepath.Base(c.Project().Root())}
	var waiting *app.WaitingList
	v, err := c.View(func(s *thread.State) error {
		page, err := s.First(thread.Filter{Order: thread.ByUrgency, Now: c.Now()}, 0)
		if err != nil {
			return err
		}
		counts, _ := s.AllCounts()
		for _, o := range s.ObjectivesInOrder() {
			status := o.Status(counts[o.ID])
			if status == thread.ObjectiveActive || len(counts[o.ID]) > 0 {
				d.Objectives = append(d.Objectives, OverviewObjective{o.ID, o.Title, status})
			}
		}
		d.Threads = overviewThreads(c, s, page.Threads)
		d.Sources = map[string][]thread.ThreadID{}
		for _, m := range s.MergesOf("") {
			d.Sources[string(m.ID)] = m.Sources
		}
		waiting = app.NewWaitingList(c, s)
		return nil
	})
	if err == nil {
		err = dropIdle(waiting)
	}
	if err != nil {
		return nil, err
	}
	d.Revision, d.Waiting = v.Revision, waiting.Items
	for _, n := range waiting.More {
		d.WaitingMore += n
	}
	return d, nil
}

func overviewThreads(c *app.Call, s *thread.State, threads []thread.Thread) []OverviewThread {
	remarks := map[thread.ThreadID]int{}
	for _, comment := range s.OpenComments("") {
		remarks[comment.ThreadID]++
	}
	facts, items := map[thread.ThreadID]OverviewThread{}, make([]app.ThreadItem, len(threads))
	ended := map[thread.ThreadID]bool{}
	for _, t := range threads {
		ended[t.ID] = t.Status.Terminated()
	}
	for i, t := range threads {
		items[i] = app.ThreadItemOf(c, t)
		o := OverviewThread{Unread: remarks[t.ID]}
		for _, injection := range t.Injections {
			if injection.Seen == nil {
				o.Unread++
			}
		}
		for _, id := range t.DependsOn {
			if done, live := ended[id]; live && !done {
				o.BlockedBy = append(o.BlockedBy, id)
			}
		}
		facts[t.ID] = o
	}
	out := make([]OverviewThread, 0, len(threads))
	for _, item := range asTree(byMostUrgent(items)) {
		o := facts[item.ThreadID]
		o.ThreadItem = item
		out = append(out, o)
	}
	return out
}
