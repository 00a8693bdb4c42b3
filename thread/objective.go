package thread

import (
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// ObjectiveStatus is the status of an objective.
type ObjectiveStatus string

// The statuses of an objective.
const (
	ObjectiveActive    ObjectiveStatus = "active"
	ObjectiveCompleted ObjectiveStatus = "completed"
	ObjectiveCancelled ObjectiveStatus = "cancelled"
)

// Counts has the number of threads with each status.
type Counts map[Status]int

// NewObjective has the parameters of a new objective.
type NewObjective struct {
	ID    ObjectiveID
	Title string
	Made  bool // see Objective.Made
}

// CreateObjective creates an objective. Errors: T106; T903 for a reserved id.
func (s *State) CreateObjective(in NewObjective, stamp Stamp) (Objective, error) {
	for _, line := range s.Objectives.Lines() {
		if strings.EqualFold(line.ID, string(in.ID)) {
			return Objective{}, codes.AlreadyExists.New(fact.Of("id", ObjectiveID(line.ID))).
				WithNext("leslie objective status " + line.ID)
		}
	}
	if err := ReservedName(string(in.ID)); err != nil {
		return Objective{}, err
	}
	return s.Objectives.Put(Objective{ID: in.ID, Title: in.Title, Made: in.Made, CreatedAt: stamp.Time}), nil
}

// FinishObjective marks an objective done. One that is already done is not changed.
// Errors: T601, T105, T602 while one of its threads is not terminated.
func (s *State) FinishObjective(arg string, stamp Stamp) (Objective, error) {
	o, err := s.Objective(arg)
	if err != nil || o.Done() {
		return o, err
	}
	counts := s.CountsOf(o)
	open := counts[Active] + counts[Suspended] + counts[WaitingHuman]
	if open > 0 {
		return Objective{}, codes.ThreadsNotTerminated.New(
			fact.Of("objectiveId", o.ID), fact.Of("count", open), fact.Of("threads", counts)).
			WithCandidates(open, s.openThreads(o)...)
	}
	done := stamp.Time
	o.DoneAt = &done
	return s.Objectives.Put(o), nil
}

// CancelObjective gives an objective up: its threads that are not terminated are cancelled. One
// that is done already is not changed. Errors: T601, T105, those of Lifecycle for its threads.
func (s *State) CancelObjective(arg, reason string, stamp Stamp) (o Objective, ended []Thread, err error) {
	o, err = s.Objective(arg)
	if err != nil || o.Done() {
		return o, nil, err
	}
	for _, t := range s.OpenThreads(o) {
		done, err := s.Lifecycle(string(t.ID), Cancel, reason, stamp)
		if err != nil {
			return Objective{}, nil, err
		}
		ended = append(ended, done.Thread)
	}
	at := stamp.Time
	o.DoneAt, o.Cancelled, o.Reason = &at, true, reason
	return s.Objectives.Put(o), ended, nil
}

// OpenThreads returns the threads of an objective that are not terminated.
func (s *State) OpenThreads(o Objective) []Thread {
	return s.Threads.where(`"objectiveId":"`+string(o.ID)+`"`, func(t Thread) bool { return t.ObjectiveID == o.ID && !t.Status.Terminated() })
}

// openThreads describes the first threads of an objective that are not terminated.
func (s *State) openThreads(o Objective) []codes.Candidate {
	open := s.OpenThreads(o)
	return Candidates(open[:min(len(open), MaxCandidates)])
}

// CountsOf returns the number of an objective's threads with each status, archived
// ones included. It has no entry for a status without threads.
func (s *State) CountsOf(o Objective) Counts {
	return s.counts(o.Archived, func(line []byte) bool { return isOf(line, o.ID) })
}

// AllCounts returns CountsOf of every objective, and the number of all threads with each
// status, in one pass.
func (s *State) AllCounts() (of map[ObjectiveID]Counts, all Counts) {
	of, all = map[ObjectiveID]Counts{}, Counts{}
	for o := range s.Objectives.All() {
		counts := Counts{}
		if o.Archived > 0 {
			counts[Archived] = o.Archived
			all[Archived] += o.Archived
		}
		of[o.ID] = counts
	}
	for _, line := range s.Threads.Lines() {
		id, ok := field(line.JSON, "objectiveId")
		if !ok {
			id = []byte(decode[Thread](line.JSON).ObjectiveID)
		}
		status := statusIn(line.JSON)
		all[status]++
		if counts, known := of[ObjectiveID(id)]; known {
			counts[status]++
		}
	}
	return of, all
}

// counts scans the lines without decoding them: see scan.go.
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

// Status returns cancelled if the objective was given up, completed if the objective is marked done, or has threads and all
// of them are terminated.
func (o Objective) Status(counts Counts) ObjectiveStatus {
	total, open := 0, 0
	for status, n := range counts {
		total += n
		if !status.Terminated() {
			open += n
		}
	}
	switch {
	case o.Cancelled:
		return ObjectiveCancelled
	case o.Done(), total > 0 && open == 0:
		return ObjectiveCompleted
	}
	return ObjectiveActive
}

// ObjectivesInOrder returns the objectives ordered by creation time, then id.
func (s *State) ObjectivesInOrder() []Objective {
	all := slices.Collect(s.Objectives.All())
	slices.SortStableFunc(all, func(a, b Objective) int { return byTime(a.CreatedAt, b.CreatedAt) })
	return all
}

// OpenObjectives returns the objectives that a thread joins which names none: those that are not
// marked done and were not made for a thread of their own, ordered by creation time, then id.
func (s *State) OpenObjectives() []Objective {
	return slices.DeleteFunc(s.ObjectivesInOrder(), func(o Objective) bool { return o.Done() || o.Made })
}

// byTime compares times. Records come ordered by id and the sorts are stable, so
// records with equal times stay ordered by id.
func byTime(a, b time.Time) int { return a.Compare(b) }

// openObjective chooses the objective of a new thread: the named one, otherwise the
// parent's, otherwise the only one that is not done. Errors: T601, T603, and T903
// with the candidates if there is not exactly one.
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
	open := s.OpenObjectives()
	if len(open) == 1 {
		o, _ := s.Objectives.Get(string(open[0].ID))
		return o, nil
	}
	return Objective{}, whichObjective(open)
}

func whichObjective(open []Objective) error {
	if len(open) == 0 {
		return codes.InvalidArgument.New(fact.Of("reason", "there is no open objective for the thread")).
			WithHint("Create one with leslie objective create TITLE").
			WithNext("leslie objective list")
	}
	var ids []ObjectiveID
	for _, o := range open[:min(len(open), MaxCandidates)] {
		ids = append(ids, o.ID)
	}
	return codes.InvalidArgument.New(
		fact.Of("reason", "several objectives are not marked done: choose one with --objective"),
		fact.Of("count", len(open)), fact.Of("candidates", ids)).
		WithHint("Repeat the call with --objective and one of the candidates").
		WithNext("leslie objective list").WithCandidates(len(open), Candidates(open[:min(len(open), MaxCandidates)])...)
}
