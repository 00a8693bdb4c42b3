package app

import (
	"errors"

	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// SystemActor is the actor of operations by leslie itself.
const SystemActor = "leslie"

// ReadOnly marks the call as one that changes nothing, even if it finds unfinished
// work. Every use case that only reads calls it first.
func (c *Call) ReadOnly() { c.request.ReadOnly = true }

// View reads the current State with passed deadlines applied. A line of a batch sees
// the effects of the lines before it. Errors: fn's, and those of Store.View.
func (c *Call) View(fn func(s *thread.State) error) (store.View, error) {
	if c.draft != nil {
		return store.View{Revision: c.draft.state.Revision}, fn(c.draft.state.Fork())
	}
	if err := c.Refresh(); err != nil {
		return store.View{}, err
	}
	v, err := c.store.View(c.ctx, func(s *thread.State) error {
		if now := c.Now(); s.Overdue(now) {
			s.Expire(thread.Stamp{Time: now, As: thread.System, Actor: SystemActor})
		}
		c.noteMessages(s)
		return fn(s)
	})
	c.Warn(v.Warnings...)
	if err == nil {
		c.revision = &v.Revision
	}
	return v, err
}

// ReadConsistent runs read, which reads these threads' files and perhaps the State, so that it
// sees no operation's file work half done. A call that is going to write first finishes
// what a killed process left; one that only reads changes nothing. read may run again,
// and its earlier warnings are then dropped. A call of it inside read, or inside a
// rule under the lock, just runs its function.
func (c *Call) ReadConsistent(read func() error, ids ...thread.ThreadID) (err error) {
	if c.covered {
		return read()
	}
	if err := c.Fetch(ids...); err != nil {
		return err
	}
	c.covered = true
	defer func() { c.covered = false }()
	kept := len(c.warnings)
	again := func() error {
		c.WarnAnew(kept)
		return read()
	}
	var found warnings.List
	if c.request.ReadOnly {
		found, err = c.store.ReadConsistent(c.ctx, ids, again)
	} else {
		found, err = c.store.ReadConsistentToWrite(c.ctx, c.LockWait(), ids, again)
	}
	c.storeWarnings.Add(found...)
	return err
}

// Attempts is how often something is planned if the files keep changing.
const Attempts = 3

// ErrMoved says that files have changed since planning.
var ErrMoved = errors.New("the files changed since that was planned")
