package decidecmd

import (
	"slices"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/mergecmd"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/decisions"
	"leslie/internal/app/merges"
	"leslie/internal/screen"
	"leslie/thread"
)

// This file implements a person's decisions: approve, deny and revoke, and approve and
// deny without the id of a request, which ask about the open ones.

type decisionText struct{ *decisions.DecideResult }

func (d decisionText) Text(p *page.Page) {
	if d.Changed {
		p.Line("approval %s  %s  %s", d.ApprovalID, string(d.Status), app.Joined(d.Scope))
	} else {
		p.Line("approval %s  %s; nothing changed", d.ApprovalID, string(d.Status))
	}
	p.Line("thread %s  %s", d.ThreadID, d.ThreadStatus)
	mergeComesNext(p, d.ApprovalRecord)
}

type alwaysText struct{ *decisions.ApproveAlwaysResult }

func (d alwaysText) Text(p *page.Page) {
	decisionText{&d.DecideResult}.Text(p)
	p.Line("run.always of %s", d.Always.Path)
	p.Field("  before", orNone(d.Always.Before))
	p.Field("  now", orNone(d.Always.After))
}

// orNone lists texts, "none" if there are none.
func orNone(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return app.Joined(all)
}

// mergeComesNext says how to apply a merge that was approved.
func mergeComesNext(p *page.Page, d app.ApprovalRecord) {
	if d.MergeID != nil && d.Status == thread.GrantApproved {
		if slices.Contains(d.Scope, string(thread.Land)) {
			p.Line("leslie land %s lands it", d.ThreadID)
			return
		}
		p.Line("leslie merge continue %s applies the merge", *d.MergeID)
	}
}

const asksWithoutID = "With the id of a request it decides at once. On a terminal, without an id, it shows all open " +
	"requests, with the id of a thread those of the thread, and asks about each."

// Approve is the command leslie approve.
func Approve() *cli.Command {
	cmd := decisionCommand(thread.Approve, "approve a request; only a person can")
	cmd.Operands[0].Optional, cmd.Operands[0].Meant = true, true
	cmd.Flags = append(cmd.Flags, cli.Toggle("apply", "apply the merge that was approved, as merge continue does"),
		cli.Toggle("always", "of a tool's call: allow it from now on, by a rule in your own configuration"))
	cmd.Detail = asksWithoutID + "\n" +
		"W402 reports what has changed in the thread since the request.\n" +
		"--always approves the call of a tool and adds the narrowest rule that allows it to run.always of your own " +
		"configuration: it holds in all your projects. Where no rule can allow the call, nothing changes (T903)."
	return cmd
}

// Deny is the command leslie deny.
func Deny() *cli.Command {
	cmd := decisionCommand(thread.Deny, "deny a request; only a person can")
	cmd.Operands[0].Optional, cmd.Operands[0].Meant = true, true
	cmd.Detail = asksWithoutID
	return cmd
}

// Revoke is the command leslie revoke.
func Revoke() *cli.Command {
	cmd := decisionCommand(thread.Revoke, "take back an open request, or revoke a grant")
	cmd.Detail = "A person may revoke any. An agent may take back an open request: its own, one of the thread that " +
		"it speaks for, or one below a thread that it has claimed, but none that a person made. The thread " +
		"continues when none is open."
	return cmd
}

func decisionCommand(d thread.GrantDecision, summary string) *cli.Command {
	return &cli.Command{
		Name: string(d), Summary: summary, Writes: true,
		Example:  "leslie " + string(d) + " appr-a1b2c3d4",
		Operands: []cli.Operand{{Value: cli.ID("A", cli.ApprovalIDs)}}, Flags: []cli.Flag{cli.ReasonFlag()},
		Run: func(c *cli.Call) (cli.Data, error) { return runDecision(c, d) },
	}
}

func runDecision(c *cli.Call, d thread.GrantDecision) (cli.Data, error) {
	if d != thread.Revoke && c.CanPrompt() && namesNoRequest(c) {
		c.MeansNothing("without the id of a request", "request-id", "expect-revision", "apply", "always")
		in := decisions.ReviewRequest{Thread: c.Operand(0), Reviewer: &reviewPrompt{Prompt: c.Prompt(), c: c}}
		return cli.RunUseCase(c, decisions.ReviewAll, in,
			func(r *decisions.ReviewResult) cli.Data { return reviewText{r, d} })
	}
	in := decisions.DecideRequest{Approval: c.Operand(0), Decision: d, Reason: c.Text("reason")}
	if d != thread.Revoke {
		in.Approval = c.MeantRecord(cli.ApprovalIDs)
	}
	if c.On("always") {
		c.MeansNothing("with --always", "request-id", "expect-revision", "apply")
		return cli.RunUseCase(c, decisions.ApproveAlways,
			decisions.ApproveAlwaysRequest{Approval: in.Approval, Reason: in.Reason},
			func(d *decisions.ApproveAlwaysResult) cli.Data { return alwaysText{d} })
	}
	if c.CanPrompt() {
		in.Confirm = func(of app.ApprovalRecord, paths []string) (bool, error) { return confirmChanged(c, of, paths) }
	}
	if in.OfMerge = c.On("apply"); in.OfMerge {
		c.MeansNothing("with --apply", "request-id", "expect-revision")
	}
	decided, err := cli.UseCase(c, decisions.Decide, in)
	switch {
	case err != nil:
		return nil, c.AsUsageError(err, "apply")
	case in.OfMerge && decided.Status == thread.GrantApproved:
		return applyApproved(c, decided)
	}
	return decisionText{decided}, nil
}

// namesNoRequest reports whether a line has no id, or that of a thread.
func namesNoRequest(c *cli.Call) bool {
	of := c.Operand(0)
	if of == "" || len(c.Faults) > 0 {
		return of == "" && len(c.Line.Operands) == 0
	}
	_, isThread := c.CandidatesFor(cli.ApprovalIDs, of)
	return isThread
}

// appliedText is an approval with the merge that it was for.
type appliedText struct {
	decisionText
	Merge *merges.Result `json:"merge"`
}

func (d appliedText) Text(p *page.Page) {
	p.Line("approval %s  %s  %s", d.ApprovalID, string(d.Status), app.Joined(d.Scope))
	mergecmd.MergeText{Result: d.Merge}.Text(p)
}

// applyApproved applies the merge of a decision, as an operation of its own. Its error
// says that the approval stands.
func applyApproved(c *cli.Call, decided *decisions.DecideResult) (cli.Data, error) {
	argv := []string{"merge", "continue", string(*decided.MergeID), "--dir", c.Who.Dir, "--as", string(c.Who.As),
		"--actor", c.Who.Actor, "--format", c.Who.Format}
	if c.Who.NoInput {
		argv = append(argv, "--no-input")
	}
	own, data, err := cli.RunWithoutReply(c.Ctx, c.Env.Commands.NeededFor(argv), argv, c.Env)
	c.Warnings.Add(c.Op.Warnings()...)
	c.Warnings.Add(own.Warnings...)
	if own.Op != nil {
		c.Op = own.Op
	}
	if err != nil {
		return decisionText{decided}, err
	}
	d := appliedText{decisionText{decided}, nil}
	if merged, ok := data.(mergecmd.MergeText); ok {
		d.Merge = merged.Result
	}
	return d, nil
}

// confirmChanged asks the person at the terminal to confirm a request whose subject
// has changed.
func confirmChanged(c *cli.Call, of app.ApprovalRecord, paths []string) (bool, error) {
	p := c.Prompt()
	sayChanged(p, of, paths)
	question := "Approve it as it is now?"
	if of.MergeID != nil {
		question = "Approve what was asked?"
	}
	return mergecmd.Confirm(c, p, question, "approve it", "leave the request open")
}

// UnlessAnswered returns T904 if a question was interrupted.
func UnlessAnswered(c *cli.Call, ok bool) error {
	if ok {
		return nil
	}
	return c.Interrupted()
}

// sayChanged says at which paths the subject of a request has changed, and what that means
// for a merge.
func sayChanged(p *cli.Prompt, of app.ApprovalRecord, paths []string) {
	p.Say("  %s", p.Paint(cli.Bold, "changed since it was asked for:"))
	for i, path := range paths {
		if i == mergecmd.MaxShownLines {
			p.Say("    (%d more)", len(paths)-i)
			break
		}
		p.Say("    %s", path)
	}
	if of.MergeID != nil {
		p.Draw(screen.Paragraph("  ", "An approval is for what was asked: the merge asks again before it does "+
			"anything else.", p.Width))
	}
}

type reviewText struct {
	*decisions.ReviewResult
	command thread.GrantDecision
}

func (d reviewText) Text(p *page.Page) {
	for _, a := range d.Decided {
		p.Line("approval %s  %s  %s  %s", a.ApprovalID, a.ThreadID, string(a.Status), app.Joined(a.Scope))
		mergeComesNext(p, a)
	}
	if d.Open == 0 {
		p.Line("no open requests")
		return
	}
	p.Line("%d still open; run leslie %s again to continue", d.Open, string(d.command))
}

// reviewPrompt asks the person at the terminal about each request.
type reviewPrompt struct {
	*cli.Prompt
	c *cli.Call
}

// Gone implements decisions.Reviewer.
func (p *reviewPrompt) Gone(id thread.ApprovalID) { p.Say("%s has been decided in the meantime", id) }

// Words of the question about a request.
const (
	wordApprove = "approve"
	wordDeny    = "deny"
	wordAlways  = "always"
)

// Review implements decisions.Reviewer.
func (p *reviewPrompt) Review(r decisions.Review) (v decisions.ReviewVerdict, err error) {
	diff := p.show(r)
	answer, err := p.decision(r, diff)
	if err != nil || answer == mergecmd.WordQuit || answer == mergecmd.WordLater {
		return decisions.ReviewVerdict{Quit: answer != mergecmd.WordLater}, err
	}
	v = decisions.ReviewVerdict{Decision: thread.GrantDecision(answer), Reason: p.c.Text("reason")}
	if answer == wordAlways {
		v.Decision, v.Always = thread.Approve, true
	}
	if answer == wordDeny && v.Reason == "" {
		var ok bool
		if v.Reason, ok = p.Text("Why? (may be left empty)"); !ok {
			return decisions.ReviewVerdict{Quit: true}, p.c.Interrupted()
		}
	}
	return v, nil
}

// decision asks about a request; mergecmd.WordQuit if the terminal was closed. The diff of a merge
// is shown as often as it is asked for.
func (p *reviewPrompt) decision(r decisions.Review, diff *merges.DiffResult) (word string, err error) {
	question := cli.Menu{Question: "Your decision?", Choices: []screen.Choice{
		{Word: wordApprove, Key: "a", About: "approve the request"},
		{Word: wordDeny, Key: "d", About: "deny it; you are asked why"},
	}}
	if len(r.Rules) > 0 {
		question.Choices = append(question.Choices,
			screen.Choice{Word: wordAlways, Key: "w",
				About: "approve it, and allow from now on: " + app.Joined(r.Rules)})
	}
	if diff != nil {
		question.Choices = append(question.Choices,
			screen.Choice{Word: mergecmd.WordDiff, Key: "f",
				About: "show what changes in " + string(r.ThreadID) + ", line by line"})
	}
	question.Choices = append(question.Choices,
		screen.Choice{Word: mergecmd.WordLater, Key: "l", About: "leave it open and go to the next one"},
		screen.Choice{Word: mergecmd.WordQuit, Key: "q", About: "leave this one and all others open"})
	for {
		word, ok := p.Pick(question)
		switch {
		case !ok:
			return mergecmd.WordQuit, p.c.Interrupted()
		case word != mergecmd.WordDiff:
			return word, nil
		}
		if err := mergecmd.ShowDiff(p.Prompt, p.c, diff, string(r.ThreadID)); err != nil {
			return mergecmd.WordQuit, err
		}
	}
}

// show draws a request: who asks for what and why, what has changed, and of a merge what
// it would do. It returns the diff of a merge, nil if there is none.
func (p *reviewPrompt) show(r decisions.Review) (diff *merges.DiffResult) {
	p.Say("\n%s %d of %d: %s  %s asks for %s", p.Paint(cli.Bold, "request"), r.Number, r.Of, r.ApprovalID, r.ThreadID,
		p.Paint(cli.Bold, app.Joined(r.Scope)))
	facts := &page.Page{Relative: true, Now: p.c.Env.Now}
	facts.Line("  thread: %s", r.Title)
	page.ApprovalFacts(facts, r.ApprovalRecord)
	facts.Line("  asked by: %s (%s), %s", r.CreatedBy.Actor, string(r.CreatedBy.As), facts.At(r.CreatedAt))
	for line := range strings.Lines(facts.String()) {
		p.Draw(screen.Paragraph("  ", strings.TrimSpace(line), p.Width))
	}
	if r.MergeID != nil {
		diff = p.mergeDiff(*r.MergeID)
		p.plan(r, diff)
	}
	if len(r.Changed) > 0 {
		sayChanged(p.Prompt, r.ApprovalRecord, r.Changed)
	}
	return diff
}

// mergeDiff returns what a pending merge would change, nil if that cannot be said: the
// request is about what was recorded with it, and can be decided without.
func (p *reviewPrompt) mergeDiff(id thread.MergeID) *merges.DiffResult {
	project, err := app.Open(p.c.Who.Dir, p.c.Environment())
	if err != nil {
		return nil
	}
	d, err := merges.Diff(project.Call(p.c.Ctx, p.c.Caller(), app.Request{}), merges.DiffRequest{From: string(id)})
	if err != nil {
		return nil
	}
	return d
}

// plan draws what a merge that is asked about would do to each file, and how many lines
// that changes where it still would do that.
func (p *reviewPrompt) plan(r decisions.Review, diff *merges.DiffResult) {
	v := screen.MergeSummary{Width: p.Width, Colours: p.Coloured, Limit: mergecmd.MaxShownFiles}
	if diff != nil {
		v.More = mergecmd.WordDiff + " shows all"
	}
	for _, f := range r.Plan {
		one := screen.MergeFile{Path: f.Path, Verb: f.Verb()}
		if diff != nil && !slices.Contains(r.Changed, f.Path) {
			one.Note = mergecmd.CountsAt(diff, f.Path)
		}
		v.Files = append(v.Files, one)
	}
	p.Draw(v.Draw().Lines)
}
