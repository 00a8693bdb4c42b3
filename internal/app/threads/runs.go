package threads

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/app/code"
	"leslie/thread"
)

// This file says what became of runs: what a person looks for in the morning.

// RunLine is a thread whose agent leslie has started, as a summary has it.
type RunLine struct {
	ThreadID     thread.ThreadID `json:"threadId"`
	Title        string          `json:"title"`
	ThreadStatus thread.Status   `json:"threadStatus"`
	app.RunRecord
	Result RunOutcome `json:"result"`
	// Total is what all runs of the thread have used.
	Total thread.Use `json:"total,omitzero"`
	// Changes is how much the thread changed in its code; nil if it owns none, or git cannot say it.
	Changes *app.CodeAmount `json:"changes,omitempty"`
	// FailedChecks are the names of checks of its code that failed last.
	FailedChecks []string `json:"failedChecks,omitempty"`
	Next         string   `json:"next"` // the command that goes on with it, or shows more
}

// RunOutcome says in a word how a run stands.
type RunOutcome string

// The outcomes. A parked run waits for somebody or something; limit is one of the caller's, or that
// of the agent's account.
const (
	OutcomeRunning    RunOutcome = "running"
	OutcomeWanted     RunOutcome = "wanted"
	OutcomeKilled     RunOutcome = "killed"
	OutcomeParked     RunOutcome = "parked"
	OutcomeLimit      RunOutcome = "limit"
	OutcomeDone       RunOutcome = "done"
	OutcomeUnfinished RunOutcome = "unfinished"
	OutcomeFailed     RunOutcome = "failed"
	OutcomeStopped    RunOutcome = "stopped"
)

// OutcomeOf says how a run stands.
func OutcomeOf(r app.RunRecord) RunOutcome {
	switch {
	case r.Killed:
		return OutcomeKilled
	case r.Phase == thread.RunWanted:
		return OutcomeWanted
	case r.Stop == thread.RunLimited, r.Stop == thread.RunBudget:
		return OutcomeLimit
	case r.Phase == thread.RunParked:
		return OutcomeParked
	case r.Phase != thread.RunEnded:
		return OutcomeRunning
	case r.Stop == thread.RunDone:
		return OutcomeDone
	case r.Stop == thread.RunUnfinished:
		return OutcomeUnfinished
	case r.Stop == thread.RunStopped:
		return OutcomeStopped
	}
	return OutcomeFailed
}

// next is the command that goes on with a run, or shows more of it, on a machine: each has the logs of its own runs.
func (l *RunLine) next(machine string) string {
	id, hasLog := string(l.ThreadID), l.Machine == "" || l.Machine == machine
	switch l.Result {
	case OutcomeLimit:
		if l.Ready {
			return "leslie run " + id
		}
	case OutcomeRunning:
		if hasLog {
			return "leslie run log " + id + " --follow"
		}
	case OutcomeWanted:
		return "leslie run list"
	case OutcomeParked:
		if l.Ready || l.Stop == thread.RunInterrupted {
			return "leslie run " + id
		}
		return "leslie status " + id
	case OutcomeKilled:
		return "leslie run " + id
	case OutcomeDone:
		if l.Changes != nil && l.Changes.Commits > 0 && !l.Changes.Landed {
			return "leslie land " + id
		}
		return "leslie diff " + id
	}
	if hasLog {
		return "leslie run log " + id
	}
	return "leslie status " + id
}

// stillThere leaves out the paths in the project's checkout that somebody has removed by now.
func stillThere(c *app.Call, paths []string) []string {
	top := code.NearestGit(c.Project().Root())
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, err := os.Lstat(filepath.Join(top, filepath.FromSlash(path)))
		return os.IsNotExist(err)
	})
}

// RunLoopRecord is a process that starts the agents of whatever is ready.
type RunLoopRecord struct {
	// Killed: it is gone, though nobody stopped it.
	Killed bool      `json:"killed"`
	Since  time.Time `json:"since,omitzero"`
	// Ended is when it ended, nil for one that lives or was killed, and Reason why, "" if its runs say it.
	Ended  *time.Time `json:"ended,omitempty"`
	Reason string     `json:"reason,omitempty"`
	Next   string     `json:"next"` // the command that stops it, or starts it again
}

// NotStarted is a thread that no agent has run.
type NotStarted struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Title    string          `json:"title"`
	// Waits has what keeps an agent from being started, nothing if it is ready.
	Waits []string `json:"waits,omitempty"`
	Next  string   `json:"next"` // the command that starts it, or shows more
}

// addNotStarted adds the active threads for agents that no agent has run and nobody holds. Errors: those of a view.
func (d *SummaryResult) addNotStarted(c *app.Call) error {
	_, err := c.View(func(s *thread.State) (err error) {
		d.NotStarted, err = notStarted(c, s, d.WorktreeGone)
		return err
	})
	if d.NotStartedMore = len(d.NotStarted) - mostRunLines; d.NotStartedMore > 0 {
		d.NotStarted = d.NotStarted[:mostRunLines]
	}
	d.NotStartedMore = max(d.NotStartedMore, 0)
	return err
}

// notStarted finds them, without those whose worktrees are gone. Errors: those of a list.
func notStarted(c *app.Call, s *thread.State, gone []thread.ThreadID) (all []NotStarted, err error) {
	page, err := s.First(thread.Filter{Status: thread.Active, Executor: thread.ByAgent, Now: c.Now()}, 0)
	readiness := s.Readiness()
	for _, t := range page.Threads {
		owned := t.OwnedCode()
		if owned != nil && (len(owned.Landed) > 0 || !owned.IsCheckedOut()) || t.LastRun() != nil || t.Held(c.Now()) != nil ||
			t.PersonsCheckout() || slices.Contains(gone, t.ID) {
			continue
		}
		one := NotStarted{ThreadID: t.ID, Title: t.Title, Next: "leslie run " + string(t.ID)}
		for _, h := range readiness.Holds(t) {
			one.Waits, one.Next = append(one.Waits, "waits for "+string(h.On)+", which is "+string(h.Status)), "leslie status "+string(t.ID)
		}
		for _, on := range s.LostDependencies(t) {
			one.Waits = append(one.Waits, string(on.ID)+", on which it depends, is "+string(on.Status))
		}
		all = append(all, one)
	}
	return all, err
}

// addWorktrees adds the threads whose worktrees are not there, or not whole, and those that have landed and go on.
func (d *SummaryResult) addWorktrees(c *app.Call, owners []thread.Thread) {
	var landed []string
	places := map[thread.ThreadID]string{}
	for _, t := range owners {
		owned := t.OwnedCode()
		last, hasLanded := owned.LastLanded()
		switch halfway := code.Halfway(t.ID, owned.State); {
		case halfway != "":
			d.Unfinished = append(d.Unfinished, Unfinished{t.ID, "the worktree of " + string(t.ID) + " " + halfway})
		case t.Status.Terminated() || owned.State != thread.CodeReady:
		case code.FolderMissing(code.WorktreeDir(c, t)):
			d.WorktreeGone = append(d.WorktreeGone, t.ID)
			if !code.HasBranch(c, t.Branch) {
				d.BranchGone = append(d.BranchGone, t.ID)
			}
		case hasLanded:
			landed, places[t.ID] = append(landed, string(t.ID)), last.Place()
		}
	}
	for _, id := range code.FullyLanded(c, landed) {
		d.Unfinished = append(d.Unfinished, Unfinished{id, "all code of " + string(id) + " is in " + places[id] +
			", and it is not completed: leslie land " + string(id) + " completes it"})
	}
}

// mostRunLines is how many runs a summary lists.
const mostRunLines = 20

// addRuns adds the runs of threads, the process that starts them, and where there is either what was not started.
// Errors: T509, those of a view.
func (d *SummaryResult) addRuns(c *app.Call, all []thread.Thread, since time.Time) error {
	if since.IsZero() {
		since = c.Now().Add(-24 * time.Hour).UTC().Truncate(time.Second)
	}
	last := func(r *thread.Run) time.Time {
		if r.EndedAt != nil {
			return *r.EndedAt
		}
		return r.StartedAt
	}
	all = slices.DeleteFunc(slices.Clone(all), func(t thread.Thread) bool {
		return t.LastRun().Phase == thread.RunEnded && last(t.LastRun()).Before(since)
	})
	slices.SortStableFunc(all, func(a, b thread.Thread) int {
		return cmp.Compare(last(b.LastRun()).UnixNano(), last(a.LastRun()).UnixNano())
	})
	if d.RunsMore = len(all) - mostRunLines; d.RunsMore > 0 {
		all = all[:mostRunLines]
	}
	if d.RunsMore = max(d.RunsMore, 0); len(all) > 0 {
		d.Since = since
	}
	var owners []thread.ThreadID
	for _, t := range all {
		line := RunLine{ThreadID: t.ID, Title: t.Title, ThreadStatus: t.Status, RunRecord: *app.LastRunOf(c, t)}
		line.Result, line.Total = OutcomeOf(line.RunRecord), app.OrZero(thread.RunsOf(t)).Used
		line.Elsewhere = stillThere(c, line.Elsewhere)
		if owned := t.OwnedCode(); owned != nil {
			owners = append(owners, t.ID)
			for _, e := range owned.FailedChecks() {
				line.FailedChecks = append(line.FailedChecks, e.Check)
			}
		}
		d.Runs = append(d.Runs, line)
	}
	amounts, limits := code.AmountsWithLanded(c, owners...), agents.LimitsOf(c)
	for i := range d.Runs {
		l := &d.Runs[i]
		agents.SayLimit(c, limits, &l.RunRecord)
		l.Changes = amounts[l.ThreadID]
		l.Next = l.next(c.Project().Machine())
	}
	loop, err := c.Store().Loop()
	ended := !loop.Held && !loop.Killed && loop.Ended.After(since)
	if err == nil && (len(d.Runs) > 0 || loop.Held || loop.Killed || ended) {
		err = d.addNotStarted(c)
	}
	switch {
	case err != nil:
	case ended && (len(d.Runs) > 0 || len(d.NotStarted) > 0):
		d.Loop = &RunLoopRecord{Ended: &loop.Ended, Reason: loop.Reason, Next: loop.Again()}
	case loop.Held || loop.Killed:
		d.Loop = &RunLoopRecord{Killed: loop.Killed, Since: loop.Since, Next: "leslie run stop --loop"}
		if loop.Killed {
			d.Loop.Next = loop.Again()
		}
	}
	return err
}
