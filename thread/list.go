package thread

import (
	"slices"
	"time"
)

// Filter selects the threads of a list; an empty field selects all.
type Filter struct {
	Status    Status
	Objective ObjectiveID
	Parent    ThreadID
	Tag       string
	Executor  Executor
	// Holder selects threads whose claim this actor has at the time Now.
	Holder string
	// Since selects threads that changed after a revision, From those that changed at a time or later.
	Since Revision
	From  time.Time
	// Ready selects threads that can be claimed at the time Now: see Readiness.
	Ready bool
	Now   time.Time
	// Runs leaves out threads whose agent is not to be started without anybody asking for
	// it: see Thread.RunsAgain.
	Runs bool
	// All includes archived threads; so does Status archived.
	All bool
	// Order is the order of the list.
	Order Order
}

// Order is an order of threads.
type Order string

// The orders; each has ids as its last key.
const (
	ByCreation Order = ""
	// ByUrgency has first what waits for somebody (waiting_human, suspended), then what is
	// active, then what has ended, and in each the latest change first.
	ByUrgency Order = "urgency"
	// ByTurn is the order in which ready threads are claimed. Lists of what is ready have it
	// whatever they ask for.
	ByTurn Order = "turn"
)

// urgency is the place of a status in the order ByUrgency.
func (st Status) urgency() int {
	switch {
	case st == WaitingHuman || st == Suspended:
		return 0
	case !st.Terminated():
		return 1
	}
	return 2
}

// List returns the threads that match the filter, in its order.
// Errors: those of reading the archive.
func (s *State) List(f Filter) ([]Thread, error) {
	page, err := s.First(f, 0)
	return page.Threads, err
}

// ThreadLines returns the threads that match a filter as lines, first those in the State, then those
// in the archive, whatever the order that it asks for. Errors: those of reading the archive.
func (s *State) ThreadLines(f Filter) ([]Line, error) {
	var out []Line
	err := s.eachLine(f, func(line Line) { out = append(out, line) })
	return out, err
}

// eachLine calls fn with the threads that match a filter, first those in the State, then those in the
// archive. Errors: those of reading the archive.
func (s *State) eachLine(f Filter, fn func(Line)) error {
	matcher := s.match(f)
	for _, line := range s.Threads.Lines() {
		if matcher.passes(line, func() Thread { t, _ := s.Threads.Peek(line.ID); return t }) {
			fn(line)
		}
	}
	if !f.All && f.Status != Archived {
		return nil
	}
	lines, err := s.archivedLines(TableThreads)
	for _, line := range lines {
		if matcher.passes(line, func() Thread { return decode[Thread](line.JSON) }) {
			fn(line)
		}
	}
	return err
}

func (f Filter) passes(t Thread, r *Readiness) bool {
	return (f.Status == "" || t.Status == f.Status) &&
		(f.Objective == "" || t.ObjectiveID == f.Objective) &&
		(f.Parent == "" || t.ParentID == f.Parent) &&
		(f.Tag == "" || slices.Contains(t.Tags, f.Tag)) &&
		(f.Executor == "" || t.Executor == f.Executor) &&
		(f.Holder == "" || t.HeldBy(f.Holder, f.Now)) &&
		(f.Since == 0 || t.Revision > f.Since) && !t.Updated.Before(f.From) &&
		(!f.Ready || r.Ready(t, f.Now)) &&
		(!f.Runs || t.RunsAgain())
}

// AnyActive reports whether a thread is active.
func (s *State) AnyActive() bool {
	return slices.ContainsFunc(s.Threads.Lines(), func(l Line) bool { return statusIn(l.JSON) == Active })
}

// Resumable reports whether a suspended thread has children and all of them,
// archived ones included, are terminated. A thread that the mistake limit suspended
// is not resumable.
func (s *State) Resumable(t Thread) bool {
	if t.Status != Suspended || t.Mistakes != nil {
		return false
	}
	children := s.Threads.where(`"parentId":"`+string(t.ID)+`"`, func(o Thread) bool { return o.ParentID == t.ID })
	for _, child := range children {
		if !child.Status.Terminated() {
			return false
		}
	}
	return len(children) > 0 || s.hadChild(t.ID)
}

// hadChild reports whether the archive contains a child of the thread. An archive
// that cannot be read counts as empty.
func (s *State) hadChild(id ThreadID) bool {
	lines, _ := s.archivedLines(TableThreads)
	parent := textMember{"parentId", string(id), pattern("parentId", string(id))}
	return slices.ContainsFunc(lines, func(l Line) bool { return parent.in(l.JSON) })
}

// StatusOf returns the status of a thread that a record names. A thread that is not
// in the State is archived.
func (s *State) StatusOf(id ThreadID) Status {
	if t, ok := s.Threads.Peek(string(id)); ok {
		return t.Status
	}
	return Archived
}

// Relations are the relations of a thread to other threads.
type Relations struct {
	Children     []ThreadID `json:"children"`
	DependsOn    []ThreadID `json:"dependsOn"`
	DependedOnBy []ThreadID `json:"dependedOnBy"`
}

// RelationsOf returns the relations of a thread. Children and dependants include
// only threads in the State, ordered as in a list.
func (s *State) RelationsOf(t Thread) Relations {
	r := Relations{Children: []ThreadID{}, DependsOn: append([]ThreadID{}, t.DependsOn...), DependedOnBy: []ThreadID{}}
	// Both contain its id in quotes, and few other lines do.
	for _, o := range inListOrder(s.Threads.where(`"`+string(t.ID)+`"`, func(Thread) bool { return true })) {
		if o.ParentID == t.ID {
			r.Children = append(r.Children, o.ID)
		}
		if slices.Contains(o.DependsOn, t.ID) {
			r.DependedOnBy = append(r.DependedOnBy, o.ID)
		}
	}
	return r
}
