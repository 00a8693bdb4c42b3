package app

import (
	"slices"
	"time"

	"leslie/thread"
)

// ActorFilter selects what an actor has made, or holds; an empty one selects all.
type ActorFilter struct {
	Mine bool   // only what is the caller's
	By   string // only what is this actor's
}

// Check adds what is wrong with the filter.
func (f ActorFilter) Check(k *Checks) {
	if f.By != "" && f.Mine {
		k.With("Mine", "By", "", "cannot be used with %s", k.Name("Mine"))
	}
}

// Actor is whose things are selected, "" for everybody's.
func (f ActorFilter) Actor(c *Call) string {
	if f.Mine {
		return c.Caller().Actor
	}
	return f.By
}

// Faults returns what is wrong with the filter; requests that take nothing else that can be wrong embed it.
func (f ActorFilter) Faults(name Names) []Fault {
	k := NewChecks(name)
	f.Check(k)
	return k.Faults
}

// RecordFilter selects the records of a list: those that belong to threads, that somebody has made, or
// that changed since. An empty field selects all.
type RecordFilter struct {
	Threads     []string        // ids: only what belongs to one of these threads
	ActorFilter                 // who made it
	Since       thread.Revision // only what changed after this revision
	From        time.Time       // only what was made or decided at this time or later
}

// Filterable is what a RecordFilter looks at.
type Filterable struct {
	Threads []thread.ThreadID // that the record belongs to
	Made    thread.Attribution
	Decided *thread.Attribution // nil: not yet
	Changed thread.Revision
}

// Select keeps the records of a list that the filter selects. Errors: T903, T101 and T105 for its threads.
func Select[R any](c *Call, s *thread.State, f RecordFilter, all []R, of func(R) Filterable) ([]R, error) {
	if err := FaultsError(f.Faults(nil)); err != nil {
		return nil, err
	}
	var ids []thread.ThreadID
	for _, id := range f.Threads {
		t, err := s.Thread(id)
		if err != nil {
			return nil, err
		}
		ids = append(ids, t.ID)
	}
	by := f.Actor(c)
	var out []R
	for _, record := range all {
		r := of(record)
		at := r.Made.At
		if r.Decided != nil {
			at = r.Decided.At
		}
		if (len(ids) == 0 || slices.ContainsFunc(r.Threads, func(id thread.ThreadID) bool { return slices.Contains(ids, id) })) &&
			(by == "" || r.Made.Actor == by) && (f.Since == 0 || r.Changed > f.Since) && !at.Before(f.From) {
			out = append(out, record)
		}
	}
	return out, nil
}

// Empty reports whether the filter selects all.
func (f RecordFilter) Empty() bool {
	return len(f.Threads) == 0 && f.ActorFilter == (ActorFilter{}) && f.Since == 0 && f.From.IsZero()
}
