package app

import (
	"strconv"
	"time"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
)

// This file makes worktrees ready for work: it finishes what a killed process left half
// made, and runs the setup that the configuration names.

// CodeSetupRequest names a thread that owns code.
type CodeSetupRequest struct {
	Thread string // "": the thread that the caller speaks for
}

// CodeSetupResult is a thread's code that is ready.
type CodeSetupResult struct {
	ThreadID thread.ThreadID  `json:"threadId"`
	State    thread.CodeState `json:"state"`
	Branch   string           `json:"branch"`
	Worktree string           `json:"worktree"` // absolute
	// Setup says how the configured command ended, null if none ran.
	Setup    *SetupOutcome   `json:"setup"`
	Revision thread.Revision `json:"revision"`
	Change
}

// SetupOutcome says how the setup of a worktree ended.
type SetupOutcome struct {
	Exit   int    `json:"exit"`
	Output string `json:"output,omitempty"` // its end
}

// CodeSetup makes the worktree of a thread ready: it finishes one that a killed process
// left half made, copies what .worktreeinclude names, and runs the configured setup.
// Errors: T101, T105, T107, T108, T801, T802, T803 if somebody has made the branch or the
// folder since, T805 while another process works on it, T807, T808, and those of a write.
func CodeSetup(c *Call, in CodeSetupRequest) (*CodeSetupResult, error) {
	id := c.threadOr(in.Thread)
	if first, ok, err := answered[CodeSetupResult](c); ok || err != nil {
		return first, err
	}
	allowed := []thread.CodeState{thread.CodeMaking, thread.CodeReady}
	var t thread.Thread
	look := func() error {
		_, err := c.view(func(s *thread.State) (err error) {
			t, err = s.OwnCode(id, allowed...)
			return err
		})
		return err
	}
	if err := look(); err != nil {
		return nil, err
	}
	release, err := holdCode(c, t.ID)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := look(); err != nil { // as nobody else changes it now
		return nil, err
	}
	repo, err := repoOf(c, t)
	if err != nil {
		return nil, err
	}
	dir, admin := worktreeDir(c, t), t.OwnedCode().Admin
	if t.OwnedCode().State == thread.CodeMaking {
		w, err := makeCode(c, repo, t.ID, *t.OwnedCode(), makingOf(c, t))
		if err != nil {
			return nil, err
		}
		admin = w.Admin
	}
	if dir != repo.Top {
		if err := copyIncluded(c, repo, dir); err != nil {
			return nil, err
		}
	}
	d, err := write(c, func(s *thread.State, stamp thread.Stamp) (*CodeSetupResult, thread.ThreadID, error) {
		if err := respectClaim(c, s, string(t.ID), stamp); err != nil {
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
		return &CodeSetupResult{ThreadID: t.ID, State: t.OwnedCode().State, Branch: t.Branch, Worktree: dir, Revision: t.Revision}, t.ID, nil
	})
	if err != nil || c.replayed {
		return d, err
	}
	up := setUp{c: c, id: t.ID, dir: dir, folder: workFolder(c, repo.Top, dir), slot: t.OwnedCode().Slot}
	outcome, at, err := up.run()
	if err != nil {
		return nil, err
	}
	if d.Setup = outcome; outcome != nil {
		d.Revision, d.Changed = at, true
	}
	return d, nil
}

// setUp is one run of the configured setup in a thread's worktree.
type setUp struct {
	c           *Call
	id          thread.ThreadID
	dir, folder string // the worktree, and the project's folder in it
	slot        int
}

// setupTime is how long the setup may take.
const setupTime = 10 * time.Minute

// run runs the command, if there is one, and records how it ended, at the revision that
// it returns. Errors: T807, T903 and T509 for the configuration, T904, those of a write.
func (u setUp) run() (*SetupOutcome, thread.Revision, error) {
	user, project, err := configs(u.c)
	if err != nil {
		return nil, 0, err
	}
	command := chooser(u.c, user)("code.setup", user.Code.Setup, project.Code.Setup)
	if command == "" {
		return nil, 0, nil
	}
	result, err := external.Run(u.c.ctx, external.Job{Command: command, Dir: u.folder, Env: slotEnviron(u.c, u.id, u.slot), Timeout: setupTime})
	reason := ""
	switch {
	case u.c.ctx.Err() != nil:
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
		err = codes.SetupFailed.New(fact.Of("path", u.dir), fact.Of("reason", reason), fact.Of("threadId", u.id), fact.Of("output", result.Tail), fact.Of("changed", true))
	}
	return outcome, at, err
}

// record records how the command ended, as an operation without an answer of its own.
func (u setUp) record(outcome *SetupOutcome) (thread.Revision, error) {
	c := u.c
	c.stamp, c.request.Expect = nil, nil
	call := c.storeCall()
	call.Request = ""
	commit, err := c.update(call, func(s *thread.State) (store.Outcome, error) {
		_, err := s.ChangeCode(string(u.id), nil, call.Stamp, func(_ *thread.Thread, code *thread.Code) {
			code.Setup = &thread.CodeSetup{At: call.Stamp.Time, Exit: outcome.Exit, Output: outcome.Output}
		})
		return store.Outcome{Thread: u.id}, err
	})
	if err != nil {
		return 0, err
	}
	c.changed, c.revision = true, &commit.Revision
	c.warn(commit.Warnings...)
	return commit.Revision, nil
}
