package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
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
	mergeComesNext(p, d.ApprovalRecord)
}

type alwaysText struct{ *app.ApproveAlwaysResult }

func (d alwaysText) Text(p *page) {
	decisionText{&d.DecideResult}.Text(p)
	p.line("run.always of %s", d.Always.Path)
	p.field("  before", orNone(d.Always.Before))
	p.field("  now", orNone(d.Always.After))
}

// orNone lists texts, "none" if there are none.
func orNone(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return joined(all)
}

// mergeComesNext says how to apply a merge that was approved.
func mergeComesNext(p *page, d app.ApprovalRecord) {
	if d.MergeID != nil && d.Status == thread.GrantApproved {
		p.line("leslie merge continue %s applies the merge", *d.MergeID)
	}
}

func approveCommand() *command {
	cmd := decisionCommand(thread.Approve, "approve a request; only a person can")
	cmd.operands[0].optional, cmd.operands[0].meant = true, true
	cmd.flags = append(cmd.flags, toggle("apply", "apply the merge that was approved, as merge continue does"),
		toggle("always", "of a tool's call: allow it from now on, by a rule in your own configuration"))
	cmd.detail = "On a terminal, without an id, it goes through everything that waits.\n" +
		"W402 reports what has changed in the thread since the request.\n" +
		"--always approves the call of a tool and adds the narrowest rule that allows it to run.always of your own configuration: it holds in all " +
		"your projects. Where no rule can allow the call, nothing changes (T903)."
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
		c.meansNothing("without an id", "request-id", "expect-revision", "apply", "always")
		return runUseCase(c, app.ReviewAll, app.ReviewRequest{Reviewer: &reviewPrompt{prompt: newPrompt(c), c: c}},
			func(d *app.ReviewResult) Data { return reviewText{d} })
	}
	in := app.DecideRequest{Approval: c.operand(0), Decision: d, Reason: c.text("reason")}
	if d != thread.Revoke {
		in.Approval = meantRecord(c, approvalIDs)
	}
	if c.on("always") {
		c.meansNothing("with --always", "request-id", "expect-revision", "apply")
		return runUseCase(c, app.ApproveAlways, app.ApproveAlwaysRequest{Approval: in.Approval, Reason: in.Reason},
			func(d *app.ApproveAlwaysResult) Data { return alwaysText{d} })
	}
	if canPrompt(c) {
		in.Confirm = func(of app.ApprovalRecord, paths []string) (bool, error) { return confirmChanged(c, of, paths) }
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
	own, data, err := carryOut(c.ctx, commandsFor(argv), argv, c.env)
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
func confirmChanged(c *call, of app.ApprovalRecord, paths []string) (bool, error) {
	p := newPrompt(c)
	sayChanged(p, of, paths)
	question := "Approve it as it is now?"
	if of.MergeID != nil {
		question = "Approve what was asked?"
	}
	answer, ok := p.pick(menu{question: question, choices: []screen.Choice{
		{Word: wordYes, Key: "y", About: "approve it"},
		{Word: wordNo, Key: "n", About: "leave the request open"},
	}})
	return answer == wordYes, unlessAnswered(c, ok)
}

// unlessAnswered returns T904 if a question was interrupted.
func unlessAnswered(c *call, ok bool) error {
	if ok {
		return nil
	}
	return interrupted(c)
}

// sayChanged says at which paths the subject of a request has changed, and what that means
// for a merge.
func sayChanged(p *prompt, of app.ApprovalRecord, paths []string) {
	p.say("  %s", p.paint(bold, "changed since it was asked for:"))
	for i, path := range paths {
		if i == maxShownLines {
			p.say("    (%d more)", len(paths)-i)
			break
		}
		p.say("    %s", path)
	}
	if of.MergeID != nil {
		p.draw(screen.Paragraph("  ", "An approval is for what was asked: the merge asks again before it does anything else.", p.width))
	}
}

type reviewText struct{ *app.ReviewResult }

func (d reviewText) Text(p *page) {
	for _, a := range d.Decided {
		p.line("approval %s  %s  %s  %s", a.ApprovalID, a.ThreadID, string(a.Status), joined(a.Scope))
		mergeComesNext(p, a)
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

// Words of the question about a request.
const (
	wordApprove = "approve"
	wordDeny    = "deny"
	wordAlways  = "always"
)

// Review implements app.Reviewer.
func (p *reviewPrompt) Review(r app.Review) (v app.ReviewVerdict, err error) {
	files := p.show(r)
	answer, err := p.decision(r, files)
	if err != nil || answer == wordQuit || answer == wordLater {
		return app.ReviewVerdict{Quit: answer != wordLater}, err
	}
	v = app.ReviewVerdict{Decision: thread.GrantDecision(answer), Reason: p.c.text("reason")}
	if answer == wordAlways {
		v.Decision, v.Always = thread.Approve, true
	}
	if answer == wordDeny && v.Reason == "" {
		var ok bool
		if v.Reason, ok = p.text("Why? (may be left empty)"); !ok {
			return app.ReviewVerdict{Quit: true}, interrupted(p.c)
		}
	}
	return v, nil
}

// decision asks about a request; wordQuit if the terminal was closed. The diff of a merge
// is shown as often as it is asked for.
func (p *reviewPrompt) decision(r app.Review, files []app.FileDiff) (word string, err error) {
	question := menu{question: "Your decision?", choices: []screen.Choice{
		{Word: wordApprove, Key: "a", About: "approve the request"},
		{Word: wordDeny, Key: "d", About: "deny it; you are asked why"},
	}}
	if len(r.Rules) > 0 {
		question.choices = append(question.choices, screen.Choice{Word: wordAlways, Key: "w", About: "approve it, and allow from now on: " + joined(r.Rules)})
	}
	if files != nil {
		question.choices = append(question.choices, screen.Choice{Word: wordDiff, Key: "f", About: "show what changes in " + string(r.ThreadID) + ", line by line"})
	}
	question.choices = append(question.choices,
		screen.Choice{Word: wordLater, Key: "l", About: "leave it open and go to the next one"},
		screen.Choice{Word: wordQuit, Key: "q", About: "leave this one and all others open"})
	for {
		word, ok := p.pick(question)
		switch {
		case !ok:
			return wordQuit, interrupted(p.c)
		case word != wordDiff:
			return word, nil
		}
		if err := p.diff(p.c, files, r.ThreadID); err != nil {
			return wordQuit, err
		}
	}
}

// show draws a request: who asks for what and why, what has changed, and of a merge what
// it would do. It returns the diff of a merge, nil if there is none.
func (p *reviewPrompt) show(r app.Review) (files []app.FileDiff) {
	p.say("\n%s %d of %d: %s  %s asks for %s", p.paint(bold, "request"), r.Number, r.Of, r.ApprovalID, r.ThreadID, p.paint(bold, joined(r.Scope)))
	facts := &page{relative: true, now: p.c.env.now}
	facts.line("  thread: %s", r.Title)
	approvalFacts(facts, r.ApprovalRecord)
	facts.line("  asked by: %s (%s), %s", r.CreatedBy.Actor, string(r.CreatedBy.As), facts.at(r.CreatedAt))
	for line := range strings.Lines(facts.String()) {
		p.draw(screen.Paragraph("  ", strings.TrimSpace(line), p.width))
	}
	if r.MergeID != nil {
		files = p.mergeDiff(*r.MergeID)
		p.plan(r, files)
	}
	if len(r.Changed) > 0 {
		sayChanged(p.prompt, r.ApprovalRecord, r.Changed)
	}
	return files
}

// mergeDiff returns what a pending merge would change, nil if that cannot be said: the
// request is about what was recorded with it, and can be decided without.
func (p *reviewPrompt) mergeDiff(id thread.MergeID) []app.FileDiff {
	project, err := app.Open(p.c.who.dir, environment(p.c))
	if err != nil {
		return nil
	}
	d, err := app.Diff(project.Call(p.c.ctx, p.c.caller(), app.Request{}), app.DiffRequest{From: string(id)})
	if err != nil {
		return nil
	}
	return d.Files
}

// plan draws what a merge that is asked about would do to each file, and how many lines
// that changes where it still would do that.
func (p *reviewPrompt) plan(r app.Review, files []app.FileDiff) {
	v := screen.MergeSummary{Width: p.width, Colours: p.coloured, Limit: maxShownFiles}
	if files != nil {
		v.More = wordDiff + " shows all"
	}
	for _, f := range r.Plan {
		one := screen.MergeFile{Path: f.Path, Verb: f.Verb()}
		for _, d := range files {
			if d.Path == f.Path && !slices.Contains(r.Changed, f.Path) {
				one.Note = countsOf(d)
			}
		}
		v.Files = append(v.Files, one)
	}
	p.draw(v.Draw().Lines)
}

// countsOf says in a few words how much of a file differs.
func countsOf(f app.FileDiff) string {
	switch {
	case f.Binary:
		return "binary"
	case f.TooLarge:
		return "too large to compare line by line"
	case f.Change == app.ModeFile:
		return "mode " + gitMode(f.From) + " -> " + gitMode(f.To)
	case f.Change == app.ConflictFile:
		return ""
	}
	return fmt.Sprintf("+%d -%d", f.Added, f.Removed)
}
