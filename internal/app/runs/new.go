package runs

import (
	"cmp"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/app/code"
	"leslie/internal/app/threads"
	"leslie/internal/fact"
	"leslie/thread"
)

// NewRequest begins something new: a thread that an agent is to run, and an objective for it
// unless one is named, or a parent.
type NewRequest struct {
	threads.SpawnRequest
	// NoCode: the thread owns no code. Else it does in a git repository that has a commit.
	NoCode bool
	Agent  string // by which agent; "": the one that the configuration names
}

// Faults returns what is wrong with the request.
func (in NewRequest) Faults(name app.Names) []app.Fault {
	if in.NoCode && in.Code {
		k := app.NewChecks(name)
		k.With("NoCode", "Code", "", "cannot be used with %s", k.Name("Code"))
		return k.Faults
	}
	in.Code = in.Code || !in.NoCode // perhaps
	return in.SpawnRequest.Faults(name)
}

// NewResult has both.
type NewResult struct {
	ObjectiveID thread.ObjectiveID `json:"objectiveId"`
	ThreadID    thread.ThreadID    `json:"threadId"`
	// Branch and Worktree are those of its code, "" for none.
	Branch   string `json:"branch,omitempty"`
	Worktree string `json:"worktree,omitempty"`
}

// RunNew creates the thread, if there is an agent for it. Errors: T701, T903, those of
// threads.Spawn.
func RunNew(c *app.Call, in NewRequest) (*NewResult, error) {
	if app.FirstLine(in.Intent) == "" {
		return nil, codes.InvalidArgument.New(fact.Of("reason", "Text is empty"))
	}
	all, chosen, err := agents.Profiles(c)
	if err != nil {
		return nil, err
	}
	p, err := agents.Named(all, cmp.Or(in.Agent, chosen))
	if err == nil {
		err = agents.Installed(c, p)
	}
	if err != nil {
		return nil, err
	}
	in.OwnObjective = true
	if !in.NoCode && !in.Code && in.Worktree == "" {
		if repo, err := code.OpenRepo(c); err == nil {
			head, err := repo.Resolve(c.Context(), "HEAD")
			in.Code = err == nil && head != ""
		}
	}
	made := c.ForCommand("spawn") // the run is an operation of its own
	t, err := threads.Spawn(made, in.SpawnRequest)
	c.Include(made)
	if err != nil {
		return nil, err
	}
	d := &NewResult{ObjectiveID: t.ObjectiveID, ThreadID: t.ThreadID}
	if t.Code != nil {
		d.Branch, d.Worktree = t.Code.Branch, t.Code.Worktree
	}
	return d, nil
}

// NotStarted adds to the error of a run of new work that ended before its first turn what
// was created and stays.
func (d *NewResult) NotStarted(err error) error {
	id := string(d.ThreadID)
	created := "thread " + id + " of objective " + string(d.ObjectiveID)
	return codes.Of(err).
		With(fact.Of("threadId", d.ThreadID), fact.Of("objectiveId", d.ObjectiveID), fact.Of("created", created)).
		WithHint("The new thread stays: correct the cause, then leslie run " + id + "; leslie cancel " + id + " ends it").
		WithNext("leslie status " + id)
}
