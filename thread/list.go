package thread

import (
	"bytes"
	"slices"
	"time"
)

// Filter says which threads a list shows; an empty field asks for all.
type Filter struct {
	Status    Status
	Objective ObjectiveID
	Parent    ThreadID
	Tag       string
	Executor  Executor
	// Ready keeps those that somebody could take up at the time Now: active,
	// unclaimed, and every dependency terminated.
	Ready bool
	Now   time.Time
	// All includes archived threads; so does Status archived.
	All bool
}

// List returns the threads that pass the filter, by creation time, then id.
// Errors: those of reading the archive.
func (s *State) List(f Filter) ([]Thread, error) {
	page, err := s.First(f, 0)
	return page.Threads, err
}

func (s *State) passes(f Filter, t Thread) bool {
	return (f.Status == "" || t.Status == f.Status) &&
		(f.Objective == "" || t.ObjectiveID == f.Objective) &&
		(f.Parent == "" || t.ParentID == f.Parent) &&
		(f.Tag == "" || slices.Contains(t.Tags, f.Tag)) &&
		(f.Executor == "" || t.Executor == f.Executor) &&
		(!f.Ready || s.Ready(t, f.Now))
}

// Ready reports whether somebody could take the thread up at this time.
func (s *State) Ready(t Thread, now time.Time) bool {
	if t.Status != Active || t.Held(now) != nil {
		return false
	}
	for _, id := range t.DependsOn {
		if !s.StatusOf(id).Terminated() {
			return false
		}
	}
	return true
}

// Resumable reports whether a suspended thread waits for nothing any more: it has
// children, and all of them are terminated, archived ones too.
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

// hadChild reports whether the archive holds a child of the thread. An archive
// that cannot be read holds none.
func (s *State) hadChild(id ThreadID) bool {
	lines, _ := s.archivedLines(TableThreads)
	return slices.ContainsFunc(lines, func(l Line) bool {
		return bytes.Contains(l.JSON, []byte(`"parentId":"`+string(id)+`"`))
	})
}

// StatusOf returns the status of a thread that some record names: one that the
// State lacks is archived.
func (s *State) StatusOf(id ThreadID) Status {
	if t, ok := s.Threads.Peek(string(id)); ok {
		return t.Status
	}
	return Archived
}

// Relations are a thread's ties to other threads.
type Relations struct {
	Children     []ThreadID `json:"children"`
	DependsOn    []ThreadID `json:"dependsOn"`
	DependedOnBy []ThreadID `json:"dependedOnBy"`
}

// RelationsOf returns the ties of a thread; children and dependants are those
// whose records are in the State, in the order of a list.
func (s *State) RelationsOf(t Thread) Relations {
	r := Relations{Children: []ThreadID{}, DependsOn: append([]ThreadID{}, t.DependsOn...), DependedOnBy: []ThreadID{}}
	// Both name it in quotes: so do few others.
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
