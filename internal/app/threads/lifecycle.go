package threads

import (
	"errors"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/fact"
	"leslie/thread"
	"leslie/warnings"
)

// LifecycleRequest changes a thread's status.
type LifecycleRequest struct {
	Thread string // "": the thread that the caller speaks for
	Action thread.Action
	Reason string
	// Successor is the thread that takes the place of one that is cancelled; "": none.
	Successor string
	// Uncommitted is LeaveUncommitted if an agent completes a thread although files in its
	// worktree are not committed, and NoCommits if it does without a commit on its branch.
	Uncommitted string
	NoCommits   bool
	// Landed: the thread's code has just landed, with nothing left uncommitted, so git is not asked
	// about it again.
	Landed bool
}

// LifecycleResult has the status of the thread and of its objective.
type LifecycleResult struct {
	ThreadID  thread.ThreadID    `json:"threadId"`
	From      thread.Status      `json:"from"`
	Status    thread.Status      `json:"status"`
	Reason    string             `json:"reason,omitempty"`
	Successor thread.ThreadID    `json:"successor,omitempty"`
	Objective LifecycleObjective `json:"objective"`
	// Ready has the threads that are ready because this one has terminated; absent if it
	// has not.
	Ready []thread.ThreadID `json:"ready,omitzero"`
	// Withdrawn has the open requests that ended with the thread's wait, and Unanswered
	// the questions that nobody will be shown any more because the thread ended.
	Withdrawn  []thread.ApprovalID `json:"withdrawn,omitempty"`
	Unanswered []thread.QuestionID `json:"unanswered,omitempty"`
	// Code is the worktree that leslie made and that stays although the thread has ended,
	// absolute; absent for none.
	Code string `json:"code,omitempty"`
	// LandsIn is the branch in which the code of a completed thread lands, while none of it
	// has landed; "" for none.
	LandsIn string `json:"landsIn,omitempty"`
	// Changes is how much a completed thread changed in its code; nil if it owns none, or git
	// cannot say it.
	Changes *app.CodeAmount `json:"changes,omitempty"`
	// NotHere has the machines of which commits are not here of a completed thread that has none here.
	NotHere []string `json:"notHere,omitempty"`
	// SentAgain: it was completed already, and what it got since went to the other machines.
	SentAgain bool            `json:"sentAgain,omitempty"`
	Revision  thread.Revision `json:"revision"`
	app.Change
}

// LifecycleObjective is the objective of a thread whose status changed.
type LifecycleObjective struct {
	ObjectiveID thread.ObjectiveID     `json:"objectiveId"`
	Status      thread.ObjectiveStatus `json:"status"`
	// Ended: the thread was the last of it that went on.
	Ended bool `json:"ended,omitempty"`
	// ToLand has the other threads of an objective that ended whose code has not landed.
	ToLand []thread.ThreadID `json:"toLand,omitempty"`
}

// Lifecycle changes a thread's status. Before an agent completes a thread, its checks run
// (SpawnRequest.Accept), and afterwards it and others whose code conflicts are told (W808).
// Siblings of a completed thread that changed the same lines of an artifact are told (W110).
// Errors: T101, T102, T103, T105, T108, T113, T402, those of a
// write; T117 for code that is not committed; T114 for a check, and T801, T802 if there is no worktree to run it in.
func Lifecycle(c *app.Call, in LifecycleRequest) (*LifecycleResult, error) {
	in.Thread = c.ThreadOr(in.Thread)
	var found code.CheckResults
	left, err := uncommitted(c, in)
	if err != nil {
		return nil, err
	}
	for awaited := false; ; {
		d, err := changeStatus(c, in, found, left)
		if codes.Has(err, codes.UnreadMessages) && !awaited {
			if awaited = true; awaitShown(c, in.Thread) {
				continue
			}
		}
		var first *code.ChecksNotRun
		if errors.As(err, &first) && !found.Covers(first.Thread.ID, first.Thread.OwnedCode().Accept) {
			if found, err = code.RunChecks(c, first.Thread); err != nil {
				return nil, err
			}
			continue
		}
		if err == nil && d.Changed && d.Status == thread.Active && c.ByPerson() {
			c.SetNote(app.NoteResumed)
		}
		return d, err
	}
}

// showPatience is how long what an agent's prompt shows takes to be recorded as seen.
const showPatience = time.Second

// awaitShown waits until the agent of a run has seen its messages, and reports whether it has: those that its prompt
// shows are recorded when it first answers, and it may finish at the same time.
func awaitShown(c *app.Call, id string) bool {
	return c.Await(showPatience, func(s *thread.State) (done bool, wake time.Time, err error) {
		t, err := s.Thread(id)
		if err != nil || !t.LastRun().Going() {
			return false, wake, codes.WaitTimeout.New()
		}
		return s.UnreadOf(t).Count == 0, wake, nil
	}) == nil
}

// changeStatus changes a thread's status, given what its checks found and what is not
// committed.
func changeStatus(c *app.Call, in LifecycleRequest, found code.CheckResults, left leftBehind) (*LifecycleResult, error) {
	id := in.Thread
	var ended []code.Item
	var toLand []thread.ThreadID
	completed, owner, before := false, false, c.Changed()
	d, err := app.Write(c, func(s *thread.State, stamp thread.Stamp) (*LifecycleResult, thread.ThreadID, error) {
		ended, completed, toLand = nil, false, nil
		if err := c.RespectClaim(s, id, stamp); err != nil {
			return nil, "", err
		}
		if in.Action == thread.Done {
			if err := c.MayFinish(s, id); err != nil {
				return nil, "", err
			}
			if err := left.record(c, s, in, stamp); err != nil {
				return nil, "", err
			}
			if t, _ := s.Threads.Peek(id); t.ID != "" {
				warnOtherHeld(c, s, t)
			}
			if err := found.Record(s, id, stamp); err != nil {
				return nil, "", err
			}
		}
		done, err := thread.Transition{}, error(nil)
		if in.Successor != "" && in.Action == thread.Cancel {
			done, err = s.Replace(id, in.Successor, in.Reason, c.Speaking(s, stamp))
		} else {
			done, err = s.Lifecycle(id, in.Action, in.Reason, c.Speaking(s, stamp))
		}
		if err != nil {
			return nil, "", err
		}
		t := done.Thread
		if in.Action == thread.Done && done.From == thread.Completed {
			s.HandOn(t.ID) // what it got since goes to the other machines
		}
		if t.Status.Terminated() && t.Status != done.From {
			warnOpenChildren(c, s, t)
			warnOpenMerges(c, s, t)
		}
		d := &LifecycleResult{ThreadID: t.ID, From: done.From, Status: t.Status, Reason: t.Reason, Successor: t.Successor, Withdrawn: done.Withdrawn, Revision: t.Revision}
		d.Objective.ObjectiveID = t.ObjectiveID
		if o, ok := s.Objectives.Peek(string(t.ObjectiveID)); ok {
			d.Objective.Status = o.Status(s.CountsOf(o))
			if d.Objective.Ended = d.Objective.Status != thread.ObjectiveActive && t.Status.Terminated() && !done.From.Terminated(); d.Objective.Ended {
				for _, other := range s.ToLand() {
					if other.ObjectiveID == o.ID && other.ID != t.ID {
						toLand = append(toLand, other.ID)
					}
				}
			}
		}
		completed, owner = in.Action == thread.Done && t.Status != done.From, t.OwnedCode() != nil
		if completed && !stamp.ByPerson() {
			ended = code.OwnerAndOthers(c, s, t)
		}
		if t.Status.Terminated() && !done.From.Terminated() {
			d.Ready = s.MadeReady(t, stamp.Time)
			if owned := t.OwnedCode(); owned != nil && owned.State == thread.CodeReady {
				if owned.Made.Worktree && !code.FolderMissing(code.WorktreeDir(c, t)) {
					d.Code = code.WorktreeDir(c, t)
				}
				if t.Status == thread.Completed && len(owned.Landed) == 0 {
					d.LandsIn = s.LandsIn(t)
				}
			}
			for _, q := range s.OpenQuestions(t.ID) {
				d.Unanswered = append(d.Unanswered, q.ID)
			}
		}
		return d, t.ID, nil
	})
	if err == nil {
		d.SentAgain = !d.Changed && !before && c.Changed()
		d.Changed = d.Changed || d.SentAgain
		code.TellOverlaps(c, ended)
		if completed {
			TellArtifactOverlaps(c, d.ThreadID)
			if owner && !c.InBatch() && !in.Landed {
				standing, amount := code.StandingOf(c, d.ThreadID)
				if d.Changes = amount; amount != nil && amount.Commits == 0 {
					d.NotHere = standing.NotSent
				}
				if standing != nil && standing.State == thread.CodeElsewhere && standing.Left != nil {
					warnOfLeft(c, *standing.Left)
				}
			}
		}
		if len(toLand) > 0 && !c.InBatch() {
			ids := make([]string, len(toLand))
			for i, id := range toLand {
				ids[i] = string(id)
			}
			landed := code.FullyLanded(c, ids)
			d.Objective.ToLand = slices.DeleteFunc(toLand, func(id thread.ThreadID) bool { return slices.Contains(landed, id) })
		}
	}
	return d, err
}

// warnOfLeft adds W810 for a completed thread whose code is on another machine, and of which this one has commits or files
// alone: they are not part of what was completed.
func warnOfLeft(c *app.Call, left app.CodeLeft) {
	var reasons []string
	if left.Commits > 0 {
		reasons = append(reasons, fact.Plural(left.Commits, "commit")+" on "+left.Branch+" of this machine alone")
	}
	if left.Astray > 0 {
		reasons = append(reasons, fact.Plural(left.Astray, "commit")+" in "+left.Worktree+" that no branch has")
	}
	if left.Files > 0 {
		reasons = append(reasons, fact.Plural(left.Files, "file")+" not committed in "+left.Worktree)
	}
	c.Warn(warnings.CodeUnfinished.New(fact.Of("threadId", left.ThreadID), fact.Of("reason", strings.Join(reasons, ", "))))
}

// warnOpenChildren adds W107 for a thread that ended before its children.
func warnOpenChildren(c *app.Call, s *thread.State, t thread.Thread) {
	if open := s.OpenChildren(t.ID); len(open) > 0 {
		c.Warn(warnings.ChildrenActive.New(fact.Of("threadId", t.ID), fact.Of("status", t.Status), fact.Of("count", len(open)), fact.Of("children", open[:min(len(open), thread.MaxCandidates)])))
	}
}

// warnOpenMerges adds W109 for a thread that ended while merges into it are pending.
func warnOpenMerges(c *app.Call, s *thread.State, t thread.Thread) {
	var open []thread.MergeID
	for _, m := range s.MergesOf(t.ID) {
		if m.Target == t.ID && m.Onto == "" { // a landing of its own goes on
			open = append(open, m.ID)
		}
	}
	if len(open) > 0 {
		c.Warn(warnings.MergesOpen.New(fact.Of("threadId", t.ID), fact.Of("status", t.Status), fact.Of("count", len(open)), fact.Of("merges", open[:min(len(open), thread.MaxCandidates)])))
	}
}
