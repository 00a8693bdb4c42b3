package threads

import (
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/thread"
	"leslie/warnings"
)

// This file says what a caller holds, for one that begins anew and no longer knows: its
// claims, and for an agent what it has asked for and merges that are not finished.

// HeldRequest asks what the caller holds.
type HeldRequest struct{}

// HeldResult has what the caller holds. Items are of the kinds claim, approval, question
// and merge, in this order, each kind in the order of its list.
type HeldResult struct {
	Held []app.WaitingItem `json:"held"`
}

// Held returns what the caller holds. Errors: those of reading.
func Held(c *app.Call, _ HeldRequest) (*HeldResult, error) {
	c.ReadOnly()
	d := &HeldResult{}
	_, err := c.View(func(s *thread.State) error {
		d.Held = heldBy(c, s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// heldBy lists what the caller holds. Requests, questions and merges are those that the
// caller made, and those of the threads that it has claimed; what waits for a person
// stands in every person's summary, so people have their claims alone here.
func heldBy(c *app.Call, s *thread.State) []app.WaitingItem {
	items, own := []app.WaitingItem{}, map[thread.ThreadID]bool{}
	now, actor := c.Now(), c.Caller().Actor
	for _, t := range s.ClaimedBy(actor) {
		own[t.ID] = true
		item := app.WaitingItem{Kind: app.HeldClaim, ID: string(t.ID), ThreadID: t.ID, Title: t.Title, Next: "leslie context --thread " + string(t.ID)}
		if owned := t.OwnedCode(); owned != nil && owned.State == thread.CodeElsewhere {
			item.Next = "leslie claim " + string(t.ID) // brings it here
		}
		if t.Held(now) == nil {
			item.Title, item.Next = item.Title+" (the claim has expired)", "leslie renew "+string(t.ID)
		}
		items = append(items, item)
	}
	if c.Caller().As != thread.Agent {
		return items
	}
	mine := func(id thread.ThreadID, by thread.Attribution) bool {
		return own[id] || by.Actor == actor && by.As == thread.Agent
	}
	for _, g := range s.OpenRequests("") {
		if mine(g.ThreadID, g.Created) {
			items = append(items, app.AskedRequest(g))
		}
	}
	for _, q := range s.OpenQuestions("") {
		if mine(q.ThreadID, q.Created) {
			items = append(items, app.QuestionItem(q))
		}
	}
	for _, m := range s.MergesOf("") {
		if mine(m.Target, m.Created) {
			items = append(items, app.MergeItem(m))
		}
	}
	return items
}

// warnOtherHeld adds W116 for an agent that works on a thread which it does not hold, while it holds
// others.
func warnOtherHeld(c *app.Call, s *thread.State, t thread.Thread) {
	stamp := c.Stamp()
	if held := t.Held(stamp.Time); stamp.As != thread.Agent || t.Status.Terminated() || held != nil && held.Holder == stamp.Actor {
		return
	}
	if held := s.AlsoHeld(t.ID, stamp); len(held) > 0 {
		c.Warn(warnings.OtherHeld.New(fact.Of("threadId", t.ID), fact.Of("held", app.Joined(held))))
	}
}
