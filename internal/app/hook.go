package app

import (
	"slices"

	"leslie/thread"
)

// SessionResult is what concerns the session of a coding agent in a project.
type SessionResult struct {
	// Thread is the thread for which the session works: the one that it speaks for, else
	// the only one that it has claimed; "" for none.
	Thread thread.ThreadID
	Open   bool // the thread has not ended, and waits for nobody
	Unread int  // messages and comments for its agent
	// Active is how many threads are active in the project, Ready how many can be claimed.
	Active, Ready int
}

// Session finds out what concerns the session of a coding agent whose calls have one of
// these names. Errors: those of reading.
func Session(c *Call, actors []string) (*SessionResult, error) {
	c.readOnly()
	d := &SessionResult{}
	_, err := c.view(func(s *thread.State) error {
		active, err := s.First(thread.Filter{Status: thread.Active, Now: c.now()}, 0)
		if err != nil {
			return err
		}
		own, speaks := speakerOf(c, s)
		held := 0
		d.Active, d.Ready = len(active.Threads), 0
		for _, t := range active.Threads {
			if s.Ready(t, c.now()) {
				d.Ready++
			}
			if claim := t.Held(c.now()); !speaks && claim != nil && slices.Contains(actors, claim.Holder) {
				held++
				own = t
			}
		}
		if speaks || held == 1 {
			d.Thread, d.Open, d.Unread = own.ID, own.Status == thread.Active, s.UnreadOf(own).All().Count
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}
