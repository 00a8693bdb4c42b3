package runs

import (
	"leslie/codes"
	"leslie/internal/app"
	"leslie/thread"
)

// This file tells a person that a run needs them: it failed or was stopped, or its agent has
// suspended the thread and only somebody else can go on. What else a run waits for, such
// as a decision or an answer, is told when that begins to wait.

// endedInVain returns what a run that ended, or was parked, needs of a person, nothing if
// it goes on without one.
func endedInVain(t thread.Thread) []app.WaitingItem {
	run := t.LastRun()
	switch {
	case run == nil || run.Code == codes.Claimed: // somebody else has the thread
		return nil
	case run.Stop == thread.RunUnfinished, run.Stop == thread.RunFailed, run.Stop == thread.RunBudget:
	case run.Stop == thread.RunWaits && t.Status == thread.Suspended && t.Mistakes == nil && run.Awaits != thread.AwaitsThreads:
	default:
		return nil
	}
	return []app.WaitingItem{{
		Kind: app.WaitingRun, ID: string(run.ID), ThreadID: t.ID, Title: string(run.Stop) + ": " + run.Reason,
		Next: "leslie status " + string(t.ID),
	}}
}
