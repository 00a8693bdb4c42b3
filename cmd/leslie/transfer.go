package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/thread"
)

// This file implements transfer: a thread requests capabilities from a person,
// receives some, or gets another executor.

type transferText struct{ *app.TransferResult }

func (d transferText) Text(p *page) {
	if d.ApprovalID == nil {
		p.line("thread %s  %s, executor: %s", d.ThreadID, d.ThreadStatus, string(d.Executor))
		return
	}
	if !d.Changed {
		p.line("nothing changed")
	}
	p.line("approval %s  %s  %s", *d.ApprovalID, string(*d.Status), joined(d.Scope))
	if d.Deadline != nil {
		p.line("deadline: %s, then %s", d.Deadline.Format(time.RFC3339), string(*d.Fallback))
	}
	if d.Until != nil {
		p.field("until", d.Until.Format(time.RFC3339))
	}
	p.line("thread %s  %s", d.ThreadID, d.ThreadStatus)
	if *d.Status == thread.GrantOpen {
		p.line("a person decides: leslie approve %s, or leslie deny %s", *d.ApprovalID, *d.ApprovalID)
		p.line("the thread waits until then; leslie revoke %s takes the request back", *d.ApprovalID)
	}
}

func transferCommand() *command {
	directions := []string{string(app.RequestApproval), string(app.Delegate), string(app.HandOff)}
	fallbacks := []string{string(thread.Block), string(thread.Skip), string(thread.AutoApprove)}
	return &command{
		name: "transfer", summary: "request or delegate capabilities, or hand a thread over", writes: true,
		hint: hint{asking, "transfer ID --direction request_approval --scope CAPABILITY"},
		detail: "request_approval asks a person; the thread waits for the decision. After --timeout, --fallback applies: " +
			"block (default) leaves the request open, skip ends it without a grant, auto_approve grants it. " +
			"delegate grants the capabilities at once, until --timeout. handoff makes --to the executor. " +
			"The same request again is the open one. --wait returns after the decision: approved 0, denied T404, no decision in time T401, " +
			"for an agent also as soon as messages wait for the thread that it speaks for.",
		example:  "leslie transfer thread-a1b2c3d4 --direction request_approval --scope deploy --reason \"ship 1.2\"",
		operands: []operand{threadOperand()},
		flags: []cli.Flag{
			newOption("direction", oneOf(directions...), "what to do (default request_approval)"),
			newOption("scope", capabilities(), "the capabilities, such as code_edit or deploy"),
			newOption("to", oneOf(executorWords()...), "who decides (human), gets the capabilities (agent), or takes over"),
			reasonFlag(),
			newOption("timeout", aDuration(), "how long to wait for the decision, or how long a delegation lasts"),
			newOption("fallback", oneOf(fallbacks...), "what happens without a decision in time"),
			toggle("wait", "return after the decision"),
			formerly("target", "to"),
		},
		run: runTransfer,
	}
}

func runTransfer(c *call) (Data, error) {
	in := app.TransferRequest{
		Direction: app.Direction(c.textOr("direction", string(app.RequestApproval))), Thread: c.targetThread(), Scope: c.parts("scope"), To: thread.Executor(c.text("to")),
		Reason: c.text("reason"), Fallback: thread.Fallback(c.text("fallback")), Wait: c.on("wait"), Waiting: func(id thread.ApprovalID) { sayWaiting(c, id) },
	}
	in.Timeout, _ = time.ParseDuration(c.text("timeout")) // checked with the line
	c.checkRequest(in.Faults, nil)
	data, err := runUseCase(c, app.Transfer, in, func(d *app.TransferResult) Data { return transferText{d} })
	return data, c.usageOf(err, nil)
}

// meansNothing adds a fault for each given flag that has no meaning here.
func (c *given) meansNothing(where string, flags ...string) {
	for _, name := range flags {
		if c.has(name) {
			c.fault("--"+name, "", "--"+name+" cannot be used "+where)
		}
	}
}
