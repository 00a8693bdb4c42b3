package thread

import (
	"slices"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// ObjectiveStatus is where an objective stands.
type ObjectiveStatus string

// The statuses of an objective.
const (
	ObjectiveActive    ObjectiveStatus = "active"
	ObjectiveCompleted ObjectiveStatus = "completed"
)

// Counts is how many threads there are of each status.
type Counts map[Status]int

// NewObjective is what a new objective is made of.
type NewObjective struct {
	ID    ObjectiveID
	Title string
}

// CreateObjective makes an objective. Errors: T106.
func (s *State) CreateObjective(in NewObjective, stamp Stamp) (Objective, error) {
	if _, ok := s.Objectives.Get(string(in.ID)); ok {
		return Objective{}, codes.AlreadyExists.New(fact.Of("id", in.ID)).
			WithNext("leslie objective status " + string(in.ID))
	}
	return s.Objectives.Put(Objective{ID: in.ID, Title: in.Title, CreatedAt: stamp.Time}), nil
}

// FinishObjective marks an objective done; one that is marked already stays as
// it is. Errors: T601, T105, T602 while a thread of it is not terminated.
func (s *State) FinishObjective(arg string, stamp Stamp) (Objective, error) {
	o, err := s.Objective(arg)
	if err != nil || o.Done() {
		return o, err
	}
	counts := s.CountsOf(o)
	open := counts[Active] + counts[Suspended] + counts[WaitingHuman]
	if open > 0 {
		return Objective{}, codes.ThreadsNotTerminated.New(
			fact.Of("objectiveId", o.ID), fact.Of("count", open), fact.Of("threads", counts))
	}
	done := stamp.Time
	o.DoneAt = &done
	return s.Objectives.Put(o), nil
}

// CountsOf returns how many threads of each status an objective has, archived
// ones too. Every status that has none is left out.
func (s *State) CountsOf(o Objective) Counts {
	return s.counts(o.Archived, func(line []byte) bool { return isOf(line, o.ID) })
}

// Counts returns how many threads of each status there are.
func (s *State) Counts() Counts {
	archived := 0
	for o := range s.Objectives.All() {
		archived += o.Archived
	}
	return s.counts(archived, func([]byte) bool { return true })
}

// counts looks at lines: see scan.go.
func (s *State) counts(archived int, keep func(line []byte) bool) Counts {
	counts := Counts{}
	if archived > 0 {
		counts[Archived] = archived
	}
	for _, line := range s.Threads.Lines() {
		if keep(line.JSON) {
			counts[statusIn(line.JSON)]++
		}
	}
	return counts
}

// Status is completed when the objective is marked done, or has threads and
// all of them are terminated.
func (o Objective) Status(counts Counts) ObjectiveStatus {
	total, open := 0, 0
	for status, n := range counts {
		total += n
		if !status.Terminated() {
			open += n
		}
	}
	if o.Done() || total > 0 && open == 0 {
		return ObjectiveCompleted
	}
	return ObjectiveActive
}

// ObjectivesInOrder returns the objectives by creation time, then id.
func (s *State) ObjectivesInOrder() []Objective {
	all := slices.Collect(s.Objectives.All())
	slices.SortStableFunc(all, func(a, b Objective) int { return byTime(a.CreatedAt, b.CreatedAt) })
	return all
}

// byTime orders by time; records come in the order of their ids and the sort is
// stable, so that equal times stay in that order.
func byTime(a, b time.Time) int { return a.Compare(b) }

// openObjective chooses the objective of a new thread: the one named, else the
// parent's, else the only one that is not marked done. Errors: T601, T603, and
// T903 with the candidates where there is no only one.
func (s *State) openObjective(arg string, parent *Thread) (Objective, error) {
	if arg == "" && parent != nil {
		arg = string(parent.ObjectiveID)
	}
	if arg != "" {
		o, err := s.Objective(arg)
		if err == nil && o.Done() {
			err = codes.ObjectiveDone.New(fact.Of("objectiveId", o.ID))
		}
		return o, err
	}
	var open []Objective
	for _, o := range s.ObjectivesInOrder() {
		if !o.Done() {
			open = append(open, o)
		}
	}
	if len(open) == 1 {
		o, _ := s.Objectives.Get(string(open[0].ID))
		return o, nil
	}
	return Objective{}, whichObjective(open)
}

func whichObjective(open []Objective) error {
	if len(open) == 0 {
		return codes.InvalidArgument.New(fact.Of("reason", "there is no open objective to put the thread under")).
			WithHint("Create one with leslie objective create TITLE").
			WithNext("leslie objective list")
	}
	var ids []ObjectiveID
	for _, o := range open[:min(len(open), MaxCandidates)] {
		ids = append(ids, o.ID)
	}
	return codes.InvalidArgument.New(
		fact.Of("reason", "several objectives are open: say which with --objective"),
		fact.Of("count", len(open)), fact.Of("candidates", ids)).
		WithHint("Repeat the call with --objective and one of the candidates").
		WithNext("leslie objective list")
}
