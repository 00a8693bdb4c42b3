package agents

import (
	"slices"

	"leslie/internal/app"
	"leslie/thread"
)

// SessionResult is what concerns the session of a coding agent in a project.
type SessionResult struct {
	// Thread is the thread for which the session works: the one that it speaks for, else
	// the only one that it has claimed; "" for none.
	Thread thread.ThreadID
	Open   bool // the thread has not ended, and waits for nobody
	// Unread is how many messages wait for its agent, Comments how many comments are open.
	Unread, Comments int
	// Active is how many threads are active in the project, Ready how many can be claimed.
	Active, Ready int
}

// Session finds out what concerns the session of a coding agent whose calls have one of
// these names. Errors: those of reading.
func Session(c *app.Call, actors []string) (*SessionResult, error) {
	c.ReadOnly()
	actors = slices.Clone(actors)
	for i, actor := range actors {
		actors[i] = c.Project().NameHere(actor)
		c.Store().Hear(actors[i], c.Now())
	}
	d := &SessionResult{}
	_, err := c.View(func(s *thread.State) error {
		active, err := s.First(thread.Filter{Status: thread.Active, Now: c.Now()}, 0)
		if err != nil {
			return err
		}
		own, speaks := c.SpeakerOf(s)
		ready := s.Readiness()
		held := 0
		d.Active, d.Ready = len(active.Threads), 0
		for _, t := range active.Threads {
			if ready.Ready(t, c.Now()) {
				d.Ready++
			}
			if claim := t.Held(c.Now()); !speaks && claim != nil && slices.Contains(actors, claim.Holder) {
				held++
				own = t
			}
		}
		if speaks || held == 1 {
			waits := s.UnreadOf(own)
			d.Thread, d.Open, d.Unread, d.Comments = own.ID, own.Status == thread.Active, waits.Count, waits.Comments
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}
