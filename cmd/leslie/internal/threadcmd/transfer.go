package threadcmd

import (
	"slices"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/decisions"
	"leslie/thread"
)

// This file implements transfer: a thread requests capabilities from a person,
// receives some, or gets another executor.

type transferText struct{ *decisions.TransferResult }

func (d transferText) Text(p *page.Page) {
	if d.Claim != nil {
		p.Line("thread %s  handed to %s, whose claim it is until %s, and longer with each of its writes", d.ThreadID, d.Claim.Holder, d.Claim.Until.Format(time.RFC3339))
		if d.Here {
			p.Line("that is on this machine; for somebody on another one, say NAME@MACHINE (leslie remote status)")
		}
		if d.Unheard != "" {
			p.Line("%s has not written in this project yet, as one that has just connected; its own leslie remote status shows its name", d.Unheard)
		}
		p.Line("%s goes on with: leslie claim %s", d.Claim.Holder, d.ThreadID)
		return
	}
	if d.ApprovalID == nil {
		p.Line("thread %s  %s, executor: %s", d.ThreadID, d.ThreadStatus, string(d.Executor))
		return
	}
	if !d.Changed {
		p.Line("nothing changed")
	}
	p.Line("approval %s  %s  %s", *d.ApprovalID, string(*d.Status), app.Joined(d.Scope))
	if d.Deadline != nil {
		p.Line("deadline: %s, then %s", d.Deadline.Format(time.RFC3339), string(*d.Fallback))
	}
	if d.Until != nil {
		p.Field("until", d.Until.Format(time.RFC3339))
	}
	p.Line("thread %s  %s", d.ThreadID, d.ThreadStatus)
	if *d.Status == thread.GrantOpen {
		p.Line("a person decides: leslie approve %s, or leslie deny %s", *d.ApprovalID, *d.ApprovalID)
		p.Line("the thread waits until then; leslie revoke %s takes the request back", *d.ApprovalID)
	}
}

// Transfer is the command leslie transfer.
func Transfer() *cli.Command {
	directions := []string{string(decisions.RequestApproval), string(decisions.Delegate), string(decisions.HandOff)}
	fallbacks := []string{string(thread.Block), string(thread.Skip), string(thread.AutoApprove)}
	return &cli.Command{
		Name: "transfer", Summary: "hand a thread to somebody, or request or delegate capabilities", Writes: true,
		Detail: "With --to alone the thread is handed to a person (human), to whichever agent comes (agent), or to somebody by " +
			"name: an agent's LESLIE_ACTOR, as leslie history shows it. The holder's claim ends, and the work stays. With " +
			"--scope, request_approval asks a person, and the thread waits; after --timeout, --fallback leaves the request " +
			"open (block, the default), ends it without a grant (skip) or grants it (auto_approve). delegate grants the " +
			"capabilities at once, until --timeout. The same request again is the open one. --wait returns after the " +
			"decision: approved 0, denied T404, too late T401, and for an agent as soon as messages wait for its thread.",
		Example:  "leslie transfer write-docs --to w2 --reason \"the tests are missing\"",
		Operands: []cli.Operand{cli.ThreadOperand()},
		Flags: []cli.Flag{
			cli.NewFlag("direction", cli.OneOf(directions...), "what to do (default request_approval; with --to alone: handoff)"),
			cli.NewFlag("scope", cli.Capabilities(), "the capabilities, such as code_edit or deploy"),
			cli.NewFlag("to", cli.Text("human|agent|NAME"),
				"who decides (human), gets the capabilities (agent), or takes over"),
			cli.ReasonFlag(),
			cli.NewFlag("timeout", cli.Duration(),
				"how long to wait for the decision, or how long a delegation lasts"),
			cli.NewFlag("fallback", cli.OneOf(fallbacks...), "what happens without a decision in time"),
			cli.Toggle("wait", "return after the decision"),
			cli.Formerly("target", "to"),
		},
		Run: runTransfer,
	}
}

func runTransfer(c *cli.Call) (cli.Data, error) {
	usual := decisions.RequestApproval
	if c.Has("to") && !c.Has("scope") { // it is the thread that is given
		usual = decisions.HandOff
	}
	in := decisions.TransferRequest{
		Direction: decisions.Direction(c.TextOr("direction", string(usual))),
		Thread:    c.TargetThread(), Scope: c.Parts("scope"), To: thread.Executor(c.Text("to")),
		Reason: c.Text("reason"), Fallback: thread.Fallback(c.Text("fallback")), Wait: c.On("wait"),
		Waiting: func(id thread.ApprovalID) { c.SayWaiting(id) },
	}
	if in.Direction == decisions.HandOff && in.To != "" && !slices.Contains(executorWords(), string(in.To)) {
		in.To, in.ToActor = "", string(in.To)
	}
	if to := string(in.To); !c.Has("direction") && c.Has("scope") && to != "" && !slices.Contains(executorWords(), to) {
		c.Fault("--to", to, "--to "+to+" names somebody: transfer ID --to "+to+", without --scope, gives the thread to them")
		return nil, c.Usage()
	}
	in.Timeout, _ = time.ParseDuration(c.Text("timeout")) // checked with the line
	c.WaitTakesNoValue()
	if !c.Faulty("direction") { // what else there is to say depends on it
		c.CheckRequest(in.Faults, nil)
	}
	data, err := cli.RunUseCase(c, decisions.Transfer, in,
		func(d *decisions.TransferResult) cli.Data { return transferText{d} })
	return data, c.UsageOf(err, nil)
}
