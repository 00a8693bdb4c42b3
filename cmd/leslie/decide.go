package main

import (
	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/thread"
)

// This file implements a person's decisions: approve, deny and revoke, and approve
// without an id, which reviews all open requests.

type decisionText struct{ *app.DecideResult }

func (d decisionText) Text(p *page) {
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
	cmd.operands[0].optional, cmd.operands[0].meant = true, true
	cmd.flags = append(cmd.flags, toggle("apply", "apply the merge that was approved, as merge continue does"))
	cmd.detail = "On a terminal, without an id, it goes through everything that waits.\n" +
		"W402 reports what has changed in the thread since the request."
	return cmd
}

func denyCommand() *command {
	cmd := decisionCommand(thread.Deny, "deny a request; only a person can")
	cmd.operands[0].meant = true
	return cmd
}

func revokeCommand() *command {
	cmd := decisionCommand(thread.Revoke, "take back an open request, or revoke a grant")
	cmd.detail = "A person may revoke any. An agent may take back an open request: its own, one of the thread that it speaks for, or one " +
		"below a thread that it has claimed, but none that a person made. The thread continues when none is open."
	return cmd
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
	if d == thread.Approve && c.operand(0) == "" && canPrompt(c) {
		c.meansNothing("without an id", "request-id", "expect-revision")
		return runUseCase(c, app.ReviewAll, app.ReviewRequest{Reviewer: &reviewPrompt{prompt: newPrompt(c), c: c}},
			func(d *app.ReviewResult) Data { return reviewText{d} })
	}
	in := app.DecideRequest{Approval: c.operand(0), Decision: d, Reason: c.text("reason")}
	if d != thread.Revoke {
		in.Approval = meantRecord(c, approvalIDs)
	}
	if canPrompt(c) {
		in.Confirm = func(paths []string) (bool, error) { return confirmChanged(c, paths) }
	}
	if in.OfMerge = c.on("apply"); in.OfMerge {
		c.meansNothing("with --apply", "request-id", "expect-revision")
	}
	decided, err := useCase(c, app.Decide, in)
	switch {
	case err != nil:
		return nil, c.asUsageError(err, "apply")
	case in.OfMerge && decided.Status == thread.GrantApproved:
		return applyApproved(c, decided)
	}
	return decisionText{decided}, nil
}

// appliedText is an approval with the merge that it was for.
type appliedText struct {
	decisionText
	Merge *app.MergeResult `json:"merge"`
}

func (d appliedText) Text(p *page) {
	p.line("approval %s  %s  %s", d.ApprovalID, string(d.Status), joined(d.Scope))
	mergeText{MergeResult: d.Merge}.Text(p)
}

// applyApproved applies the merge of a decision, as an operation of its own. Its error
// says that the approval stands.
func applyApproved(c *call, decided *app.DecideResult) (Data, error) {
	argv := []string{"merge", "continue", string(*decided.MergeID), "--dir", c.who.dir, "--as", string(c.who.as), "--actor", c.who.actor, "--format", c.who.format}
	if c.who.noInput {
		argv = append(argv, "--no-input")
	}
	all := commandsFor(argv)
	own := newCall(c.ctx, c.env, lint(all, argv))
	own.argv = argv
	data, err := own.do(all)
	c.warnings.Add(c.op.Warnings()...)
	c.warnings.Add(own.warnings...)
	if own.op != nil {
		c.op = own.op
	}
	if err != nil {
		return decisionText{decided}, err
	}
	d := appliedText{decisionText{decided}, nil}
	if merged, ok := data.(mergeText); ok {
		d.Merge = merged.MergeResult
	}
	return d, nil
}

// confirmChanged asks the person at the terminal to confirm a request whose subject
// has changed.
func confirmChanged(c *call, paths []string) (bool, error) {
	p := newPrompt(c)
	sayChanged(p, paths)
	answer, ok := p.choose("Approve it as it is now?", "yes", "no")
	return answer == "yes", unlessAnswered(c, ok)
}

// unlessAnswered returns T904 if a question was interrupted.
func unlessAnswered(c *call, ok bool) error {
	if ok {
		return nil
	}
	return interrupted(c)
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

type reviewText struct{ *app.ReviewResult }

func (d reviewText) Text(p *page) {
	for _, a := range d.Decided {
		p.line("approval %s  %s  %s  %s", a.ApprovalID, a.ThreadID, string(a.Status), joined(a.Scope))
	}
	if d.Open == 0 {
		p.line("no open requests")
		return
	}
	p.line("%d still open; run leslie approve again to continue", d.Open)
}

// reviewPrompt asks the person at the terminal about each request.
type reviewPrompt struct {
	*prompt
	c *call
}

// Gone implements app.Reviewer.
func (p *reviewPrompt) Gone(id thread.ApprovalID) { p.say("%s has been decided in the meantime", id) }

// Review implements app.Reviewer.
func (p *reviewPrompt) Review(r app.Review) (v app.ReviewVerdict, err error) {
	p.show(r)
	answer, ok := p.choose("Your decision?", "approve", "deny", "later", "quit")
	switch {
	case !ok || answer == "quit":
		return app.ReviewVerdict{Quit: true}, unlessAnswered(p.c, ok)
	case answer == "later":
		return v, nil
	}
	v = app.ReviewVerdict{Decision: thread.GrantDecision(answer), Reason: p.c.text("reason")}
	if answer == "deny" && v.Reason == "" {
		if v.Reason, ok = p.text("Why? (may be left empty)"); !ok {
			return app.ReviewVerdict{Quit: true}, interrupted(p.c)
		}
	}
	return v, nil
}

// show draws a request: who asks for what and why, and what has changed.
func (p *reviewPrompt) show(r app.Review) {
	p.say("\n%s %d of %d: %s  %s asks for %s", p.paint(bold, "request"), r.Number, r.Of, r.ApprovalID, r.ThreadID, p.paint(bold, joined(r.Scope)))
	p.say("  thread: %s", r.Title)
	facts := &page{}
	approvalFacts(facts, r.ApprovalRecord)
	p.say("%s  asked by: %s (%s), %s", styled(facts.String()), r.CreatedBy.Actor, r.CreatedBy.As, r.CreatedAt.Format("2006-01-02 15:04:05Z"))
	if r.MergeID != nil {
		p.plan(*r.MergeID, r.Plan)
	}
	if len(r.Changed) > 0 {
		sayChanged(p.prompt, r.Changed)
	}
}

// plan draws what a merge that is asked about would do.
func (p *prompt) plan(id thread.MergeID, list []merging.PlannedFile) {
	for i, f := range list {
		if i == maxShownLines {
			p.say("    (%d more; leslie merge status %s)", len(list)-i, id)
			break
		}
		p.say("    %s %s", f.Verb(), escape(f.Path))
	}
}
