package app

import "leslie/thread"

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
	Revision  thread.Revision    `json:"revision"`
	Change
}

// LifecycleObjective is the objective of a thread whose status changed.
type LifecycleObjective struct {
	ObjectiveID thread.ObjectiveID     `json:"objectiveId"`
	Status      thread.ObjectiveStatus `json:"status"`
}

// Lifecycle changes a thread's status. Errors: T101, T102, T103, T105, T108, T113, T402,
// and those of a write.
func Lifecycle(c *Call, in LifecycleRequest) (*LifecycleResult, error) {
	id := c.threadOr(in.Thread)
	d, err := write(c, func(s *thread.State, stamp thread.Stamp) (*LifecycleResult, thread.ThreadID, error) {
		if err := respectClaim(c, s, id, stamp); err != nil {
			return nil, "", err
		}
		if in.Action == thread.Done {
			if err := mayFinish(c, s, id); err != nil {
				return nil, "", err
			}
		}
		done, err := s.Lifecycle(id, in.Action, in.Reason, stamp)
		if err != nil {
			return nil, "", err
		}
		t := done.Thread
		d := &LifecycleResult{ThreadID: t.ID, From: done.From, Status: t.Status, Reason: t.Reason, Revision: t.Revision}
		d.Objective.ObjectiveID = t.ObjectiveID
		if o, ok := s.Objectives.Peek(string(t.ObjectiveID)); ok {
			d.Objective.Status = o.Status(s.CountsOf(o))
		}
		return d, t.ID, nil
	})
	if err == nil && d.Changed && d.Status == thread.Active && c.caller.As.Person() {
		c.note = noteResumed
	}
	return d, err
}
