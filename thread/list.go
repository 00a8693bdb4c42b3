package thread

import "slices"

// Filter says which threads a list shows; an empty field asks for all.
type Filter struct {
	Status    Status
	Objective ObjectiveID
	Parent    ThreadID
	Tag       string
	Executor  Executor
	// Ready keeps those that somebody could take up: active, unclaimed, and
	// every dependency terminated.
	Ready bool
	// All includes archived threads; so does Status archived.
	All bool
}

// List returns the threads that pass the filter, by creation time, then id.
// Errors: those of reading the archive.
func (s *State) List(f Filter) ([]Thread, error) {
	var out []Thread
	for t := range s.Threads.All() {
		if s.passes(f, t) {
			out = append(out, t)
		}
	}
	if f.All || f.Status == Archived {
		lines, err := s.archivedLines(TableThreads)
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			if t := decode[Thread](line.JSON); s.passes(f, t) {
				out = append(out, t)
			}
		}
	}
	slices.SortFunc(out, func(a, b Thread) int {
		if c := byTime(a.Created.At, b.Created.At); c != 0 {
			return c
		}
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return out, nil
}

func (s *State) passes(f Filter, t Thread) bool {
	return (f.Status == "" || t.Status == f.Status) &&
		(f.Objective == "" || t.ObjectiveID == f.Objective) &&
		(f.Parent == "" || t.ParentID == f.Parent) &&
		(f.Tag == "" || slices.Contains(t.Tags, f.Tag)) &&
		(f.Executor == "" || t.Executor == f.Executor) &&
		(!f.Ready || s.Ready(t))
}

// Ready reports whether somebody could take the thread up now.
func (s *State) Ready(t Thread) bool {
	if t.Status != Active {
		return false
	}
	for _, id := range t.DependsOn {
		if !s.StatusOf(id).Terminated() {
			return false
		}
	}
	return true
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
	all, _ := s.List(Filter{})
	for _, o := range all {
		if o.ParentID == t.ID {
			r.Children = append(r.Children, o.ID)
		}
		if slices.Contains(o.DependsOn, t.ID) {
			r.DependedOnBy = append(r.DependedOnBy, o.ID)
		}
	}
	return r
}
