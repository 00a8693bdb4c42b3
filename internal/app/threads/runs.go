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

// next is the command that goes on with a run, or shows more of it.
func (l *RunLine) next() string {
	id := string(l.ThreadID)
	switch l.Result {
	case OutcomeLimit:
		if l.Ready {
			return "leslie run " + id
		}
	case OutcomeRunning:
		return "leslie run log " + id + " --follow"
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
	return "leslie run log " + id
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
	Since  time.Time `json:"since"`
	Next   string    `json:"next"` // the command that stops it, or starts it again
}

// mostRunLines is how many runs a summary lists.
const mostRunLines = 20

// addRuns adds the runs of threads, and the process that starts them. Errors: T509.
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
		line.Result, line.Total = OutcomeOf(line.RunRecord), app.Deref(thread.RunsOf(t)).Used
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
		switch until := agents.LimitedNow(c, limits, l.Agent); {
		case l.Stop == thread.RunLimited && until.IsZero():
			l.Ready = true
		case l.Ready && !until.IsZero():
			l.Ready, l.Reason = false, l.Agent+" may use nothing more until "+until.Format(time.RFC3339)
		}
		l.Changes = amounts[l.ThreadID]
		l.Next = l.next()
	}
	loop, err := c.Store().Loop()
	if err == nil && (loop.Held || loop.Killed) {
		d.Loop = &RunLoopRecord{Killed: loop.Killed, Since: loop.Since, Next: "leslie run stop --loop"}
		if loop.Killed {
			d.Loop.Next = loop.Again()
		}
	}
	return err
}
