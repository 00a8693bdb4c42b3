package main

import (
	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/store"
	"leslie/thread"
)

// This file is how a person decides: approve, deny and revoke, and approve
// without an id, which goes through all that waits.

// decisionData is a grant as a decision left it.
type decisionData struct {
	app.ApprovalRecord
	ThreadStatus thread.Status `json:"threadStatus"`
	change
}

func (d *decisionData) Text(p *page) {
	if d.Changed {
		p.line("approval %s  %s  %s", d.ApprovalID, string(d.Status), joined(d.Scope))
	} else {
		p.line("approval %s  %s; nothing changed", d.ApprovalID, string(d.Status))
	}
	p.line("thread %s  %s", d.ThreadID, d.ThreadStatus)
	if d.MergeID != nil && d.Status == thread.GrantApproved {
		p.line("leslie merge continue %s applies the merge", *d.MergeID)
	}
}

func approveCommand() *command {
	cmd := decisionCommand(thread.Approve, "approve a request; only a person can")
	cmd.operands[0].optional = true
	cmd.detail = "On a terminal, without an id, it goes through everything that waits.\n" +
		"What of the thread has changed since it asked is told (W402)."
	return cmd
}

func denyCommand() *command {
	return decisionCommand(thread.Deny, "deny a request; only a person can")
}

func revokeCommand() *command {
	return decisionCommand(thread.Revoke, "revoke a grant or a request; only a person can")
}

func decisionCommand(d thread.GrantDecision, summary string) *command {
	return &command{
		name: string(d), summary: summary, writes: true,
		example:  "leslie " + string(d) + " appr-a1b2c3d4",
		operands: []operand{{value: anID("A", approvalIDs)}}, flags: []cli.Flag{reasonFlag()},
		run: func(c *call) (Data, error) { return runDecision(c, d) },
	}
}

func runDecision(c *call, d thread.GrantDecision) (Data, error) {
	walk := d == thread.Approve && c.operand(0) == "" && c.canPrompt()
	switch {
	case walk:
		c.meansNothing("without an id", "request-id", "expect-revision")
	case d == thread.Approve && c.operand(0) == "":
		c.fault("A", "", "the operand A is missing")
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	if walk {
		return c.goThrough(st)
	}
	if first, ok, err := answered[decisionData](c); ok || err != nil {
		return first, err
	}
	g, err := c.decidable(c.operand(0), d)
	if err != nil {
		return nil, err
	}
	if d == thread.Approve && g.Status == thread.GrantOpen {
		keep, err := c.confirmChanged(st, g)
		if err != nil {
			return nil, err
		}
		if keep {
			return c.leftOpen(g), nil
		}
	}
	return c.decideGrant(string(g.ID), d, c.text("reason"))
}

// decidable is the grant as it stands, if the decision is allowed.
func (c *call) decidable(arg string, d thread.GrantDecision) (g thread.Approval, err error) {
	_, err = c.view(func(s *thread.State) error {
		if g, err = s.Approval(arg); err != nil {
			return err
		}
		_, _, err = s.DecideGrant(arg, d, "", thread.Stamp{Time: c.now(), As: c.who.as, Actor: c.who.actor})
		return err
	})
	return g, err
}

// decideGrant records a decision; its time is that of the decision, not of the
// question.
func (c *call) decideGrant(arg string, d thread.GrantDecision, reason string) (*decisionData, error) {
	c.stamped = nil
	return write(c, func(s *thread.State, stamp thread.Stamp) (*decisionData, thread.ThreadID, error) {
		g, t, err := s.DecideGrant(arg, d, reason, stamp)
		if err != nil {
			return nil, "", err
		}
		return &decisionData{ApprovalRecord: app.ApprovalOf(g, stamp.Time), ThreadStatus: t.Status}, g.ThreadID, nil
	})
}

// confirmChanged tells what has changed since the request: a person at the
// terminal is asked whether that matters (keep: the request is left open),
// everybody else gets W402.
func (c *call) confirmChanged(st *store.Store, g thread.Approval) (keep bool, err error) {
	paths, err := c.changedSince(st, g)
	if err != nil || len(paths) == 0 {
		return false, err
	}
	if !c.canPrompt() {
		c.warnPaths(g.ID, paths)
		return false, nil
	}
	p := c.newPrompt()
	sayChanged(p, paths)
	answer, ok := p.choose("Approve it as it is now?", "yes", "no")
	return answer != "yes", c.unlessAnswered(ok)
}

// unlessAnswered is T904 when a question was interrupted.
func (c *call) unlessAnswered(ok bool) error {
	if ok {
		return nil
	}
	return c.interrupted()
}

func sayChanged(p *prompt, paths []string) {
	p.say("  %s", p.paint(yellow, "changed since it was asked for:"))
	for i, path := range paths {
		if i == maxShownLines {
			p.say("    (%d more)", len(paths)-i)
			break
		}
		p.say("    %s", path)
	}
}

// leftOpen is the answer of a decision that was not taken.
func (c *call) leftOpen(g thread.Approval) *decisionData {
	return &decisionData{ApprovalRecord: app.ApprovalOf(g, c.now()), ThreadStatus: thread.WaitingHuman}
}

// queueData is what became of all that waited.
type queueData struct {
	Decided []app.ApprovalRecord `json:"decided"`
	Open    int                  `json:"open"`
	change
}

func (d *queueData) Text(p *page) {
	for _, a := range d.Decided {
		p.line("approval %s  %s  %s  %s", a.ApprovalID, a.ThreadID, string(a.Status), joined(a.Scope))
	}
	if d.Open == 0 {
		p.line("nothing waits for a decision")
		return
	}
	p.line("%d still wait; leslie approve goes through them again", d.Open)
}

// goThrough shows each open request and asks. Each decision is recorded at
// once, so that nothing is lost when the person is called away.
func (c *call) goThrough(st *store.Store) (Data, error) {
	d := &queueData{Decided: []app.ApprovalRecord{}}
	open, err := c.openRequests()
	if err != nil {
		return nil, err
	}
	p := c.newPrompt()
	for i, id := range open {
		decided, quit, err := c.askAbout(st, p, id, i+1, len(open))
		if decided != nil {
			d.Decided = append(d.Decided, decided.ApprovalRecord)
		}
		c.changed = len(d.Decided) > 0
		if err != nil {
			return nil, err
		}
		if quit {
			break
		}
	}
	left, err := c.openRequests()
	d.Open = len(left)
	d.SetChanged(c.changed)
	return d, err
}

func (c *call) openRequests() (ids []thread.ApprovalID, err error) {
	_, err = c.view(func(s *thread.State) error {
		ids = nil
		for _, g := range s.OpenRequests("") {
			ids = append(ids, g.ID)
		}
		return nil
	})
	return ids, err
}

// askAbout asks about one request; decided is nil when it is left for later, or
// was decided meanwhile.
func (c *call) askAbout(st *store.Store, p *prompt, id thread.ApprovalID, n, of int) (decided *decisionData, quit bool, err error) {
	g, err := c.decidable(string(id), thread.Approve)
	if err != nil || g.Status != thread.GrantOpen {
		return nil, false, meanwhile(p, id, err)
	}
	if err := c.showRequest(st, p, g, n, of); err != nil {
		return nil, true, err
	}
	answer, ok := p.choose("Your decision?", "approve", "deny", "later", "quit")
	if !ok || answer == "quit" {
		return nil, true, c.unlessAnswered(ok)
	}
	if answer == "later" {
		return nil, false, nil
	}
	reason := c.text("reason")
	if answer == "deny" && reason == "" {
		if reason, ok = p.text("Why? (may be left empty)"); !ok {
			return nil, true, c.interrupted()
		}
	}
	decided, err = c.decideGrant(string(id), thread.GrantDecision(answer), reason)
	if err != nil {
		return nil, false, meanwhile(p, id, err)
	}
	return decided, false, nil
}

// meanwhile says that somebody else was faster, which is no error here.
func meanwhile(p *prompt, id thread.ApprovalID, err error) error {
	if err != nil && !codes.Has(err, codes.InvalidTransition) && !codes.Has(err, codes.ApprovalNotFound) && !codes.Has(err, codes.NotWritable) {
		return err
	}
	p.say("%s was decided meanwhile", id)
	return nil
}

// showRequest draws a request: who asks for what and why, and what has changed.
func (c *call) showRequest(st *store.Store, p *prompt, g thread.Approval, n, of int) error {
	title := ""
	if _, err := c.view(func(s *thread.State) error {
		t, err := s.Thread(string(g.ThreadID))
		title = t.Title
		return err
	}); err != nil {
		return err
	}
	p.say("\n%s %d of %d: %s  %s asks for %s", p.paint(bold, "request"), n, of, g.ID, g.ThreadID, p.paint(bold, joined(g.Scope)))
	p.say("  thread: %s", title)
	page := &page{}
	approvalFacts(page, app.ApprovalOf(g, c.now()))
	p.say("%s  asked by: %s (%s), %s", styled(page.String()), g.Created.Actor, g.Created.As, g.Created.At.Format("2006-01-02 15:04:05Z"))
	if g.MergeID != "" {
		list, err := merging.ReadPlan(st, g.Plan)
		p.plan(g, list)
		if err != nil {
			return err
		}
	}
	paths, err := c.changedSince(st, g)
	if err == nil && len(paths) > 0 {
		sayChanged(p, paths)
	}
	return err
}
