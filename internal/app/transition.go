package app

import (
	"leslie/thread"
	"leslie/warnings"
)

// This file takes over what a command line knows that ran no use case.

// Warn adds warnings.
func (c *Call) Warn(found ...warnings.Warning) { c.warn(found...) }

// Takes takes over what a command that is no use case yet knows: the thread it was about,
// and what it warns of.
func (c *Call) Takes(about thread.ThreadID, found warnings.List) {
	if c.warn(found...); about != "" {
		c.target = about
	}
}
