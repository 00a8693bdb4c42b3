package app

import (
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// systemActor is the name of what nobody did: leslie itself.
const systemActor = "leslie"

// readOnly marks the call as one that changes nothing, whatever it finds unfinished.
// Every use case that only reads begins with it.
func (c *Call) readOnly() { c.request.ReadOnly = true }

// view reads the State as it is now; deadlines that have passed show their
// effect. A line of a batch sees what the lines before it did. Errors: fn's, and
// those of Store.View.
func (c *Call) view(fn func(s *thread.State) error) (store.View, error) {
	if c.draft != nil {
		return store.View{Revision: c.draft.state.Revision}, fn(c.draft.state.Fork())
	}
	v, err := c.store.View(c.ctx, func(s *thread.State) error {
		if now := c.now(); s.Overdue(now) {
			s.Expire(thread.Stamp{Time: now, As: thread.System, Actor: systemActor})
		}
		return fn(s)
	})
	c.warn(v.Warnings...)
	if err == nil {
		c.revision = &v.Revision
	}
	return v, err
}

// settled runs read, which looks at these threads' files and perhaps at the State,
// and sees no operation's file work half done. A call that is going to write has
// what a dead process left carried out first; one that only looks changes nothing.
// read may run again; what it warned of is forgotten then. What read calls, and what
// a rule calls under the lock, is covered by it.
func (c *Call) settled(read func() error, ids ...thread.ThreadID) (err error) {
	if c.covered {
		return read()
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
