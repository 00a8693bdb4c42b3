package threads

import (
	"leslie/internal/app"
	"leslie/thread"
)

// This file handles objectives: goals that threads work for.

// CreateObjectiveRequest creates an objective.
type CreateObjectiveRequest struct {
	Title string
	ID    string // "": one that the title gives
}

// Faults returns what is wrong with the request.
func (in CreateObjectiveRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	k.Needed("Title", in.Title)
	k.Title("Title", in.Title)
	k.NewID("ID", in.ID)
	return k.Faults
}

// ObjectiveResult is an objective after a change.
type ObjectiveResult struct {
	app.ObjectiveRecord
	app.Change
}

// CreateObjective creates an objective. Errors: T903, T106 if the id is taken, and
// those of a write.
func CreateObjective(c *app.Call, in CreateObjectiveRequest) (*ObjectiveResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*ObjectiveResult, thread.ThreadID, error) {
		o, err := s.CreateObjective(thread.NewObjective{ID: c.NewObjectiveID(s, in.ID, in.Title), Title: in.Title}, stamp)
		if err != nil {
			return nil, "", err
		}
		return &ObjectiveResult{ObjectiveRecord: app.ObjectiveOf(s, o)}, "", nil
	})
}

// ListObjectivesRequest lists objectives.
type ListObjectivesRequest struct {
	Limit int // 0: all
}

// ListObjectivesResult has the objectives in order.
type ListObjectivesResult struct{ app.Items[app.ObjectiveRecord] }

// ListObjectives lists the objectives. Errors: those of reading.
func ListObjectives(c *app.Call, in ListObjectivesRequest) (*ListObjectivesResult, error) {
	c.ReadOnly()
	var all []app.ObjectiveRecord
	_, err := c.View(func(s *thread.State) error {
		all = nil
		for _, o := range s.ObjectivesInOrder() {
			all = append(all, app.ObjectiveOf(s, o))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &ListObjectivesResult{app.First(all, in.Limit)}, nil
}

// ObjectiveRequest names an objective by its id or a prefix of it.
type ObjectiveRequest struct {
	Objective string
}

// ShowObjective returns one objective. Errors: T601, T105, those of reading.
func ShowObjective(c *app.Call, in ObjectiveRequest) (*app.ObjectiveRecord, error) {
	c.ReadOnly()
	d := &app.ObjectiveRecord{}
	_, err := c.View(func(s *thread.State) error {
		o, err := s.Objective(in.Objective)
		if err != nil {
			return err
		}
		*d = app.ObjectiveOf(s, o)
		_, of, err := s.SumsOfRuns()
		d.Runs = of[o.ID]
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// FinishObjective marks an objective done. Errors: T601, T105, T602 while a thread
// of it is not terminated, and those of a write.
func FinishObjective(c *app.Call, in ObjectiveRequest) (*ObjectiveResult, error) {
	return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*ObjectiveResult, thread.ThreadID, error) {
		o, err := s.FinishObjective(in.Objective, stamp)
		if err != nil {
			return nil, "", err
		}
		return &ObjectiveResult{ObjectiveRecord: app.ObjectiveOf(s, o)}, "", nil
	})
}

// CancelObjectiveRequest gives an objective up.
type CancelObjectiveRequest struct {
	Objective string
	Reason    string
}

// CancelObjectiveResult is the objective, and the threads that ended with it.
type CancelObjectiveResult struct {
	app.ObjectiveRecord
	Ended []thread.ThreadID `json:"ended"`
	// Code has those of them whose worktrees stay.
	Code []thread.ThreadID `json:"code,omitempty"`
	app.Change
}

// CancelObjective cancels an objective and its threads that are not terminated; their worktrees
// stay. Errors: T601, T105, T108 for a thread that another holds, and those of a write.
func CancelObjective(c *app.Call, in CancelObjectiveRequest) (*CancelObjectiveResult, error) {
	return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*CancelObjectiveResult, thread.ThreadID, error) {
		stamp = c.Speaking(s, stamp)
		o, err := s.Objective(in.Objective)
		for _, t := range s.OpenThreads(o) {
			if err == nil {
				err = c.RespectClaim(s, string(t.ID), stamp)
			}
		}
		var ended []thread.Thread
		if err == nil {
			o, ended, err = s.CancelObjective(in.Objective, in.Reason, stamp)
		}
		if err != nil {
			return nil, "", err
		}
		d := &CancelObjectiveResult{ObjectiveRecord: app.ObjectiveOf(s, o), Ended: []thread.ThreadID{}}
		for _, t := range ended {
			d.Ended = append(d.Ended, t.ID)
			if owned := t.OwnedCode(); owned != nil && owned.State == thread.CodeReady && owned.Made.Worktree {
				d.Code = append(d.Code, t.ID)
			}
		}
		return d, "", nil
	})
}
