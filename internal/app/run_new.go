package app

import (
	"cmp"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
)

// NewWorkRequest begins something new: an objective, and a thread for it.
type NewWorkRequest struct {
	Text  string // what is to be achieved
	Agent string // by which agent; "": the one that the configuration names
}

// NewWorkResult has both.
type NewWorkResult struct {
	ObjectiveID thread.ObjectiveID `json:"objectiveId"`
	ThreadID    thread.ThreadID    `json:"threadId"`
}

// NewWork creates an objective and a thread with the text as its intent, in one operation,
// if there is an agent for it. Errors: T903, those of a write.
func NewWork(c *Call, in NewWorkRequest) (*NewWorkResult, error) {
	if firstLine(in.Text) == "" {
		return nil, codes.InvalidArgument.New(fact.Of("reason", "Text is empty"))
	}
	all, chosen, err := profiles(c)
	if err != nil {
		return nil, err
	}
	if _, err := agentNamed(all, cmp.Or(in.Agent, chosen)); err != nil {
		return nil, err
	}
	d := &NewWorkResult{}
	made := c.project.Call(c.ctx, c.caller, Request{Command: "spawn", LockTimeout: c.request.LockTimeout, Waiting: c.request.Waiting}) // the run is an operation of its own
	_, err = Batch(made, BatchRequest{unnumbered: true, Lines: []BatchLine{
		{Number: 1, Caller: c.caller, Do: func(line *Call) (any, error) {
			o, err := CreateObjective(line, CreateObjectiveRequest{Title: firstLine(in.Text)})
			if err == nil {
				d.ObjectiveID = o.ObjectiveID
			}
			return o, err
		}},
		{Number: 2, Caller: c.caller, Do: func(line *Call) (any, error) {
			t, err := Spawn(line, SpawnRequest{Objective: string(d.ObjectiveID), Intent: in.Text, Title: firstLine(in.Text)})
			if err == nil {
				d.ThreadID = t.ThreadID
			}
			return t, err
		}},
	}})
	c.revision, c.changed = made.revision, made.changed
	c.warn(made.warnings...)
	if err != nil {
		return nil, err
	}
	return d, nil
}
