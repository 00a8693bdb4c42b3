package app

import "leslie/thread"

// This file handles objectives: goals that threads work for.

// CreateObjectiveRequest creates an objective.
type CreateObjectiveRequest struct {
	Title string
	ID    string // "" for a random one
}

// Faults returns what is wrong with the request.
func (in CreateObjectiveRequest) Faults(name Names) []Fault {
	k := newChecks(name)
	k.needed("Title", in.Title)
	k.title("Title", in.Title)
	k.ids("ID", in.ID)
	return k.faults
}

// ObjectiveResult is an objective after a change.
type ObjectiveResult struct {
	ObjectiveRecord
	Change
}

// CreateObjective creates an objective. Errors: T903, T106 if the id is taken, and
// those of a write.
func CreateObjective(c *Call, in CreateObjectiveRequest) (*ObjectiveResult, error) {
	if err := refused(in.Faults(nil)); err != nil {
		return nil, err
	}
	return write(c, func(s *thread.State, stamp thread.Stamp) (*ObjectiveResult, thread.ThreadID, error) {
		id := c.newID(in.ID, thread.PrefixObjective, func(id string) bool {
			_, taken := s.Objectives.Peek(id)
			return taken
		})
		o, err := s.CreateObjective(thread.NewObjective{ID: thread.ObjectiveID(id), Title: in.Title}, stamp)
		if err != nil {
			return nil, "", err
		}
		return &ObjectiveResult{ObjectiveRecord: objectiveOf(s, o)}, "", nil
	})
}

// ListObjectivesRequest lists objectives.
type ListObjectivesRequest struct {
	Limit int // 0: all
}

// ListObjectivesResult has the objectives in order.
type ListObjectivesResult struct{ Items[ObjectiveRecord] }

// ListObjectives lists the objectives. Errors: those of reading.
func ListObjectives(c *Call, in ListObjectivesRequest) (*ListObjectivesResult, error) {
	c.readOnly()
	var all []ObjectiveRecord
	_, err := c.view(func(s *thread.State) error {
		all = nil
		for _, o := range s.ObjectivesInOrder() {
			all = append(all, objectiveOf(s, o))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &ListObjectivesResult{First(all, in.Limit)}, nil
}

// ObjectiveRequest names an objective by its id or a prefix of it.
type ObjectiveRequest struct {
	Objective string
}

// ShowObjective returns one objective. Errors: T601, T105, those of reading.
func ShowObjective(c *Call, in ObjectiveRequest) (*ObjectiveRecord, error) {
	c.readOnly()
	d := &ObjectiveRecord{}
	_, err := c.view(func(s *thread.State) error {
		o, err := s.Objective(in.Objective)
		*d = objectiveOf(s, o)
		d.Runs = s.SumOfRuns(o.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// FinishObjective marks an objective done. Errors: T601, T105, T602 while a thread
// of it is not terminated, and those of a write.
func FinishObjective(c *Call, in ObjectiveRequest) (*ObjectiveResult, error) {
	return write(c, func(s *thread.State, stamp thread.Stamp) (*ObjectiveResult, thread.ThreadID, error) {
		o, err := s.FinishObjective(in.Objective, stamp)
		if err != nil {
			return nil, "", err
		}
		return &ObjectiveResult{ObjectiveRecord: objectiveOf(s, o)}, "", nil
	})
}
