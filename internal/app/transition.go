package app

import (
	"time"

	"leslie/store"
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

// DraftStage leaves a stage to the batch.
func (c *Call) DraftStage(stage *store.Stage) { c.draft.stages = append(c.draft.stages, stage) }

// DraftBegins reports whether the thread is one that the batch makes.
func (c *Call) DraftBegins(id thread.ThreadID) bool { return c != nil && c.draft.begins(id) }

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
