package app

import (
	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
)

// RespectClaim applies, inside a rule, the rule about threads that somebody else has
// claimed: see thread.State.RespectClaim. Errors: T101, T105, T108.
func (c *Call) RespectClaim(s *thread.State, id string, stamp thread.Stamp) error {
	found, err := s.RespectClaim(id, stamp)
	c.Warn(found...)
	return err
}

// RunsAlready is T108 for a thread that another process runs.
func (c *Call) RunsAlready(id thread.ThreadID) error {
	until := c.Now().Add(thread.RunClaim)
	_, _ = c.View(func(s *thread.State) error {
		if t, err := s.Thread(string(id)); err == nil && t.Claim != nil {
			until = t.Claim.Until
		}
		return nil
	})
	return codes.Claimed.New(fact.Of("threadId", id), fact.Of("holder", thread.RunHolder(id)), fact.Of("until", until)).
		WithHint("Another process runs its agent: look on with leslie run log "+string(id)+" --follow, or stop it with leslie run stop "+string(id)).
		WithNext("leslie run log "+string(id), "leslie run list")
}
