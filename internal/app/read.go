package app

import (
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// systemActor is the actor of operations by leslie itself.
const systemActor = "leslie"

// readOnly marks the call as one that changes nothing, even if it finds unfinished
// work. Every use case that only reads calls it first.
func (c *Call) readOnly() { c.request.ReadOnly = true }

// view reads the current State with passed deadlines applied. A line of a batch sees
// the effects of the lines before it. Errors: fn's, and those of Store.View.
func (c *Call) view(fn func(s *thread.State) error) (store.View, error) {
	if c.draft != nil {
		return store.View{Revision: c.draft.state.Revision}, fn(c.draft.state.Fork())
	}
	if err := refresh(c); err != nil {
		return store.View{}, err
	}
	v, err := c.store.View(c.ctx, func(s *thread.State) error {
		if now := c.now(); s.Overdue(now) {
			s.Expire(thread.Stamp{Time: now, As: thread.System, Actor: systemActor})
		}
		noteMessages(c, s)
		return fn(s)
	})
	c.warn(v.Warnings...)
	if err == nil {
		c.revision = &v.Revision
	}
	return v, err
}

// settled runs read, which reads these threads' files and perhaps the State, so that it
// sees no operation's file work half done. A call that is going to write first finishes
// what a killed process left; one that only reads changes nothing. read may run again,
// and its earlier warnings are then dropped. A call of settled inside read, or inside a
// rule under the lock, just runs its function.
func (c *Call) settled(read func() error, ids ...thread.ThreadID) (err error) {
	if c.covered {
		return read()
	}
	if err := fetch(c, ids...); err != nil {
		return err
	}
	c.covered = true
	defer func() { c.covered = false }()
	kept := len(c.warnings)
	again := func() error {
		c.warnings = c.warnings[:kept]
		return read()
	}
	var found warnings.List
	if c.request.ReadOnly {
		found, err = c.store.Consistent(c.ctx, ids, again)
	} else {
		found, err = c.store.Settled(c.ctx, c.lockWait(), ids, again)
	}
	c.storeWarnings.Add(found...)
	return err
}
