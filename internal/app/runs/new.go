package runs

import (
	"cmp"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/app/threads"
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
// if there is an agent for it. Errors: T701, T903, those of a write.
func NewWork(c *app.Call, in NewWorkRequest) (*NewWorkResult, error) {
	if app.FirstLine(in.Text) == "" {
		return nil, codes.InvalidArgument.New(fact.Of("reason", "Text is empty"))
	}
	all, chosen, err := agents.Profiles(c)
	if err != nil {
		return nil, err
	}
	p, err := agents.AgentNamed(all, cmp.Or(in.Agent, chosen))
	if err == nil {
		err = agents.Installed(c, p)
	}
	if err != nil {
		return nil, err
	}
	d := &NewWorkResult{}
	made := c.Beside("spawn") // the run is an operation of its own
	_, err = app.Batch(made, app.BatchRequest{Unnumbered: true, Lines: []app.BatchLine{
		{Number: 1, Caller: c.Caller(), Do: func(line *app.Call) (any, error) {
			o, err := threads.CreateObjective(line, threads.CreateObjectiveRequest{Title: app.FirstLine(in.Text)})
			if err == nil {
				d.ObjectiveID = o.ObjectiveID
			}
			return o, err
		}},
		{Number: 2, Caller: c.Caller(), Do: func(line *app.Call) (any, error) {
			t, err := threads.Spawn(line, threads.SpawnRequest{Objective: string(d.ObjectiveID), Intent: in.Text, Title: app.FirstLine(in.Text)})
			if err == nil {
				d.ThreadID = t.ThreadID
			}
			return t, err
		}},
	}})
	c.Include(made)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// NotStarted adds to the error of a run of new work that ended before its first turn what
// was created and stays.
func (d *NewWorkResult) NotStarted(err error) error {
	id := string(d.ThreadID)
	created := "thread " + id + " of objective " + string(d.ObjectiveID)
	return codes.Of(err).
		With(fact.Of("threadId", d.ThreadID), fact.Of("objectiveId", d.ObjectiveID), fact.Of("created", created)).
		WithHint("The new thread stays: correct the cause, then leslie run " + id + "; leslie cancel " + id + " ends it").
		WithNext("leslie status " + id)
}
