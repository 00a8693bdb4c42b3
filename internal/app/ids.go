package app

import (
	"leslie/thread"
)

// NewCheckpointID returns an id that no checkpoint of a thread has.
func (c *Call) NewCheckpointID(t thread.Thread) thread.CheckpointID {
	return thread.CheckpointID(c.NewID("", thread.PrefixCheckpoint, func(id string) bool {
		_, err := t.CheckpointOf(id)
		return err == nil
	}))
}

// NewApprovalID returns an id that no approval has.
func (c *Call) NewApprovalID(s *thread.State) thread.ApprovalID {
	return thread.ApprovalID(c.NewID("", thread.PrefixApproval, func(id string) bool {
		_, taken := s.Approvals.Peek(id)
		return taken
	}))
}
