package app

import (
	"errors"

	"leslie/internal/fact"
	"leslie/thread"
	"leslie/warnings"
)

// LifecycleRequest changes a thread's status.
type LifecycleRequest struct {
	Thread string // "": the thread that the caller speaks for
	Action thread.Action
	Reason string
}

// LifecycleResult has the status of the thread and of its objective.
type LifecycleResult struct {
	ThreadID  thread.ThreadID    `json:"threadId"`
	From      thread.Status      `json:"from"`
	Status    thread.Status      `json:"status"`
	Reason    string             `json:"reason,omitempty"`
	Objective LifecycleObjective `json:"objective"`
	// Ready has the threads that are ready because this one has terminated; absent if it
	// has not.
	Ready []thread.ThreadID `json:"ready,omitzero"`
	// Withdrawn has the open requests that ended with the thread's wait, and Unanswered
	// the questions that nobody will be shown any more because the thread ended.
	Withdrawn  []thread.ApprovalID `json:"withdrawn,omitempty"`
	Unanswered []thread.QuestionID `json:"unanswered,omitempty"`
	// Code is the worktree that stays although the thread has ended, absolute; absent for
	// none.
	Code     string          `json:"code,omitempty"`
	Revision thread.Revision `json:"revision"`
	Change
}

// LifecycleObjective is the objective of a thread whose status changed.
type LifecycleObjective struct {
	ObjectiveID thread.ObjectiveID     `json:"objectiveId"`
	Status      thread.ObjectiveStatus `json:"status"`
}

// Lifecycle changes a thread's status. Before an agent completes a thread, its checks run
// (SpawnRequest.Accept), and afterwards it and others whose code conflicts are told (W808).
// Errors: T101, T102, T103, T105, T108, T113, T402, those of a
// write; T114 for a check, and T801, T802 if there is no worktree to run it in.
func Lifecycle(c *Call, in LifecycleRequest) (*LifecycleResult, error) {
	in.Thread = c.threadOr(in.Thread)
	var found accepted
	for {
		d, err := changeStatus(c, in, found)
		var first *notChecked
		if errors.As(err, &first) && !found.covers(first.thread.ID, first.thread.OwnedCode().Accept) {
			if found, err = accept(c, first.thread); err != nil {
				return nil, err
			}
			continue
		}
		if err == nil && d.Changed && d.Status == thread.Active && byPerson(c) {
			c.note = noteResumed
		}
		return d, err
	}
}

// changeStatus changes a thread's status, given what its checks found.
func changeStatus(c *Call, in LifecycleRequest, found accepted) (*LifecycleResult, error) {
	id := in.Thread
	var ended []CodeItem
	d, err := write(c, func(s *thread.State, stamp thread.Stamp) (*LifecycleResult, thread.ThreadID, error) {
		ended = nil
		if err := respectClaim(c, s, id, stamp); err != nil {
			return nil, "", err
		}
		if in.Action == thread.Done {
			if err := mayFinish(c, s, id); err != nil {
				return nil, "", err
			}
			if err := found.record(s, id, stamp); err != nil {
				return nil, "", err
			}
		}
		done, err := s.Lifecycle(id, in.Action, in.Reason, speaking(c, s, stamp))
		if err != nil {
			return nil, "", err
		}
		t := done.Thread
		if t.Status.Terminated() && t.Status != done.From {
			warnOpenChildren(c, s, t)
			warnOpenMerges(c, s, t)
		}
		d := &LifecycleResult{ThreadID: t.ID, From: done.From, Status: t.Status, Reason: t.Reason, Withdrawn: done.Withdrawn, Revision: t.Revision}
		d.Objective.ObjectiveID = t.ObjectiveID
		if o, ok := s.Objectives.Peek(string(t.ObjectiveID)); ok {
			d.Objective.Status = o.Status(s.CountsOf(o))
		}
		if in.Action == thread.Done && t.Status != done.From && !stamp.ByPerson() {
			ended = withCode(c, s, t)
		}
		if t.Status.Terminated() && !done.From.Terminated() {
			d.Ready = s.MadeReady(t, stamp.Time)
			if code := t.OwnedCode(); code != nil && code.State == thread.CodeReady {
				d.Code = worktreeDir(c, t)
			}
			for _, q := range s.OpenQuestions(t.ID) {
				d.Unanswered = append(d.Unanswered, q.ID)
			}
		}
		return d, t.ID, nil
	})
	if err == nil {
		tellOverlaps(c, ended)
	}
	return d, err
}

// warnOpenChildren adds W107 for a thread that ended before its children.
func warnOpenChildren(c *Call, s *thread.State, t thread.Thread) {
	if open := s.OpenChildren(t.ID); len(open) > 0 {
		c.warn(warnings.ChildrenActive.New(fact.Of("threadId", t.ID), fact.Of("status", t.Status), fact.Of("count", len(open)), fact.Of("children", open[:min(len(open), thread.MaxCandidates)])))
	}
}

// warnOpenMerges adds W109 for a thread that ended while merges into it are pending.
func warnOpenMerges(c *Call, s *thread.State, t thread.Thread) {
	var open []thread.MergeID
	for _, m := range s.MergesOf(t.ID) {
		if m.Target == t.ID {
			open = append(open, m.ID)
		}
	}
	if len(open) > 0 {
		c.warn(warnings.MergesOpen.New(fact.Of("threadId", t.ID), fact.Of("status", t.Status), fact.Of("count", len(open)), fact.Of("merges", open[:min(len(open), thread.MaxCandidates)])))
	}
}
