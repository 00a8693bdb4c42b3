package app

import (
	"time"

	"leslie/thread"
	"leslie/warnings"
)

// This file lets commands that are not use cases of this package yet be lines of
// a batch. It goes with the last of them.

// Drafted runs a rule on the draft of a batch.
func Drafted[T any, P written[T]](c *Call, do func(*thread.State, thread.Stamp) (*T, thread.ThreadID, error)) (*T, error) {
	return rehearse[T, P](c, do)
}

// DraftState is the State that a line of a batch works on, nil outside of one.
func (c *Call) DraftState() *thread.State {
	if c == nil || c.draft == nil {
		return nil
	}
	return c.draft.state
}

// Warn adds warnings.
func (c *Call) Warn(found ...warnings.Warning) { c.warn(found...) }

// ApprovalOf is a grant as it stands at a time.
func ApprovalOf(g thread.Approval, now time.Time) ApprovalRecord { return approvalOf(g, now) }

// Takes takes over what a command that is no use case yet knows: the thread it was about,
// and what it warns of.
func (c *Call) Takes(about thread.ThreadID, found warnings.List) {
	if c.warn(found...); about != "" {
		c.target = about
	}
}
