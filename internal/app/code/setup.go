package code

import (
	"strconv"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
)

// This file makes worktrees ready for work: it finishes what a killed process left half
// made, and runs the setup that the configuration names.

// SetupRequest names a thread that owns code.
type SetupRequest struct {
	Thread string // "": the thread that the caller speaks for
}

// SetupResult is a thread's code that is ready.
type SetupResult struct {
	ThreadID thread.ThreadID  `json:"threadId"`
	State    thread.CodeState `json:"state"`
	Branch   string           `json:"branch"`
	Worktree string           `json:"worktree"` // absolute
	// Setup says how the configured command ended, null if none ran.
	Setup    *SetupOutcome   `json:"setup"`
	Revision thread.Revision `json:"revision"`
	app.Change
}

// SetupOutcome says how the setup of a worktree ended.
type SetupOutcome struct {
	Exit   int    `json:"exit"`
	Output string `json:"output,omitempty"` // its end
}

// Setup makes the worktree of a thread ready: it finishes one that a killed process
// left half made, or makes one here for code that is on another machine, copies what
// .worktreeinclude names, and runs the configured setup.
// Errors: T101, T105, T107, T108, T801, T802, T803 if somebody has made the branch or the
// folder since, T805 while another process works on it, T807, T808, and those of a write.
func Setup(c *app.Call, in SetupRequest) (*SetupResult, error) {
	id := c.ThreadOr(in.Thread)
	if first, ok, err := app.Answered[SetupResult](c); ok || err != nil {
		return first, err
	}
	allowed := []thread.CodeState{thread.CodeMaking, thread.CodeReady, thread.CodeElsewhere}
	var t thread.Thread
	look := func() error {
		_, err := c.View(func(s *thread.State) (err error) {
			if t, err = s.OwnCode(id); err == nil && !t.OwnedCode().RemovedElsewhere() {
				t, err = s.OwnCode(id, allowed...)
			}
			return err
		})
		return err
	}
	if err := look(); err != nil {
		return nil, err
	}
	release, err := Hold(c, t.ID)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := look(); err != nil { // as nobody else changes it now
		return nil, err
	}
	repo, err := RepoOf(c, t)
	if err != nil {
		return nil, err
	}
	if t.OwnedCode().State == thread.CodeElsewhere || t.OwnedCode().RemovedElsewhere() {
		if t, err = comeHere(c, repo, t); err != nil {
			return nil, err
		}
	}
	dir, admin := WorktreeDir(c, t), t.OwnedCode().Admin
	if t.OwnedCode().State == thread.CodeReady && FolderMissing(dir) {
		return nil, thread.NoCode(t.ID, "its worktree is not there").
			WithHint("leslie code restore " + string(t.ID) + " brings it back").WithNext("leslie code " + string(t.ID))
	}
	if t.OwnedCode().State == thread.CodeMaking {
		if _, _, err := branchAgain(c, repo, t); err != nil {
			return nil, err
		}
		w, err := Make(c, repo, t.ID, *t.OwnedCode(), WorktreeSpecOf(c, t))
		if err != nil {
			return nil, err
		}
		admin = w.Admin
	}
	if dir != repo.Top {
		if err := CopyIncluded(c, repo, dir); err != nil {
			return nil, err
		}
	}
	d, err := app.Write(c, func(s *thread.State, stamp thread.Stamp) (*SetupResult, thread.ThreadID, error) {
		if err := c.RespectClaim(s, string(t.ID), stamp); err != nil {
			return nil, "", err
		}
		t, err := s.ChangeCode(string(t.ID), allowed, stamp, func(_ *thread.Thread, code *thread.Code) {
			if code.State == thread.CodeMaking {
				code.State, code.Admin, code.Call = thread.CodeReady, admin, ""
			}
		})
		if err != nil {
			return nil, "", err
		}
		return &SetupResult{ThreadID: t.ID, State: t.OwnedCode().State, Branch: t.Branch, Worktree: dir, Revision: t.Revision}, t.ID, nil
	})
	if err != nil || c.Replayed() {
		return d, err
	}
	catchUp(c, repo, t)
	up := SetupRun{C: c, ID: t.ID, Dir: dir, Folder: WorkFolder(c, repo.Top, dir), Slot: t.OwnedCode().Slot}
	outcome, at, err := up.Run()
	if err != nil {
		return nil, err
	}
	if d.Setup = outcome; outcome != nil {
		d.Revision, d.Changed = at, true
	}
	return d, nil
}

// SetupRun is one run of the configured setup in a thread's worktree.
type SetupRun struct {
	C           *app.Call
	ID          thread.ThreadID
	Dir, Folder string // the worktree, and the project's folder in it
	Slot        int
}

// setupTime is how long the setup may take.
const setupTime = 10 * time.Minute

// Run runs the command, if there is one, and records how it ended, at the revision that
// it returns. Errors: T807, T903 and T509 for the configuration, T904, those of a write.
func (u SetupRun) Run() (*SetupOutcome, thread.Revision, error) {
	command, err := u.command()
	if err != nil || command == "" {
		return nil, 0, err
	}
	result, err := u.execute(command)
	reason := ""
	switch {
	case u.C.Context().Err() != nil:
		return nil, 0, err
	case codes.Has(err, codes.AgentTimeout):
		reason, result.Status = "it took longer than "+setupTime.String(), -1
	case err != nil:
		reason, result.Status = codes.Of(err).Facts().Text("reason"), -1
	case result.Status != 0:
		reason = "it ended with status " + strconv.Itoa(result.Status)
	}
	outcome := &SetupOutcome{Exit: result.Status, Output: result.Tail}
	at, err := u.record(outcome)
	if err == nil && reason != "" {
		err = codes.SetupFailed.New(fact.Of("path", u.Dir), fact.Of("reason", reason), fact.Of("threadId", u.ID), fact.Of("output", result.Tail), fact.Of("changed", true))
	}
	return outcome, at, err
}

// command is the configured one, "" for none. Errors: T903, T509.
func (u SetupRun) command() (string, error) {
	user, project, err := u.C.Configs()
	if err != nil {
		return "", err
	}
	return u.C.Chooser(user, project)("code.setup", user.Code.Setup, project.Code.Setup), nil
}

func (u SetupRun) execute(command string) (external.Result, error) {
	return external.Run(u.C.Context(), external.Job{Command: command, Dir: u.Folder, Env: slotEnviron(u.C, u.ID, u.Slot), Timeout: setupTime})
}

// again runs the command, if there is one, for a worktree that is not the thread's own, and
// records nothing. Errors: T807, T903 and T509 for the configuration, T904.
func (u SetupRun) again() error {
	command, err := u.command()
	if err != nil || command == "" {
		return err
	}
	result, err := u.execute(command)
	if err == nil && result.Status != 0 {
		err = codes.SetupFailed.New(fact.Of("path", u.Dir), fact.Of("reason", "it ended with status "+strconv.Itoa(result.Status)), fact.Of("threadId", u.ID))
	}
	return err
}

// record records how the command ended, as an operation without an answer of its own.
func (u SetupRun) record(outcome *SetupOutcome) (thread.Revision, error) {
	c := u.C
	c.GoOn()
	c.Request().Expect = nil
	call := c.StoreCall()
	call.Request = ""
	commit, err := c.Update(call, func(s *thread.State) (store.Outcome, error) {
		_, err := s.ChangeCode(string(u.ID), nil, call.Stamp, func(_ *thread.Thread, code *thread.Code) {
			code.Setup = &thread.CodeSetup{At: call.Stamp.Time, Exit: outcome.Exit, Output: outcome.Output}
		})
		return store.Outcome{Thread: u.ID}, err
	})
	if err != nil {
		return 0, err
	}
	c.Wrote(commit)
	return commit.Revision, nil
}
