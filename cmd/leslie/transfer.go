package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/thread"
)

// This file is transfer: a thread asks a person for capabilities, is given some,
// or gets another executor.

type transferText struct{ *app.TransferResult }

func (d transferText) Text(p *page) {
	if d.ApprovalID == nil {
		p.line("thread %s  %s, carried out by: %s", d.ThreadID, d.ThreadStatus, string(d.Executor))
		return
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
	}
}

func transferCommand() *command {
	directions := []string{string(app.RequestApproval), string(app.Delegate), string(app.HandOff)}
	fallbacks := []string{string(thread.Block), string(thread.Skip), string(thread.AutoApprove)}
	return &command{
		name: "transfer", summary: "ask a person for capabilities, give some, or hand a thread over", writes: true,
		teach: lesson{asking, "transfer ID --direction request_approval --scope CAPABILITY"},
		detail: "request_approval asks a person; the thread waits until it is decided. Past the --timeout the --fallback\n" +
			"holds: block (default) leaves the request open, skip ends it and grants nothing, auto_approve grants it.\n" +
			"delegate grants at once, until the --timeout. handoff makes --to the executor.\n" +
			"--wait returns when it is decided: approved 0, denied T404, late T401.",
		example:  "leslie transfer thread-a1b2c3d4 --direction request_approval --scope deploy --reason \"ship 1.2\"",
		operands: []operand{threadOperand()},
		flags: []cli.Flag{
			newOption("direction", oneOf(directions...).required(), "what is to happen"),
			newOption("scope", capabilities(), "the capabilities, such as code_edit or deploy"),
			newOption("to", oneOf(executorWords()...), "who is asked (human), gets them (agent), or takes over"),
			reasonFlag(),
			newOption("timeout", aDuration(), "how long a decision is waited for, or a delegation holds"),
			newOption("fallback", oneOf(fallbacks...), "what happens when nobody has decided by then"),
			toggle("wait", "return when it is decided"),
		},
		run: runTransfer,
	}
}

func runTransfer(c *call) (Data, error) {
	in := app.TransferRequest{
		Direction: app.Direction(c.text("direction")), Thread: c.targetThread(), Scope: c.parts("scope"), To: thread.Executor(c.text("to")),
		Reason: c.text("reason"), Fallback: thread.Fallback(c.text("fallback")), Wait: c.on("wait"), Waiting: c.sayWaiting,
	}
	in.Timeout, _ = time.ParseDuration(c.text("timeout")) // checked with the line
	c.checkRequest(in.Faults, nil)
	data, err := runUseCase(c, app.Transfer, in, func(d *app.TransferResult) Data { return transferText{d} })
	return data, c.usageOf(err, nil)
}

// meansNothing is a fault for each flag that was given and has no meaning.
func (c *call) meansNothing(where string, flags ...string) {
	for _, name := range flags {
		if c.has(name) {
			c.fault("--"+name, "", "--"+name+" means nothing "+where)
		}
	}
}
