package main

import (
	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/thread"
)

type lifecycleText struct{ *app.LifecycleResult }

func (d lifecycleText) Text(p *page) {
	if d.Changed {
		p.line("thread %s  %s -> %s", d.ThreadID, d.From, d.Status)
	} else {
		p.line("thread %s  %s already; nothing changed", d.ThreadID, d.Status)
	}
	p.line("objective %s  %s", d.Objective.ObjectiveID, d.Objective.Status)
	p.field("ready now", joined(d.Ready))
	p.field("withdrawn without a decision", joined(d.Withdrawn))
	p.field("closed without an answer", joined(d.Unanswered))
	if d.Code != "" {
		p.field("its worktree stays", d.Code+" (leslie code remove "+string(d.ThreadID)+" keeps what is not committed)")
	}
}

func reasonFlag() cli.Flag {
	return newOption("reason", anyText("R"), "why, for the record")
}

func lifecycleCommand() *command {
	words := make([]string, 0, len(thread.Actions()))
	for _, a := range thread.Actions() {
		words = append(words, string(a))
	}
	return &command{
		name: "lifecycle", summary: "change a thread's status", writes: true,
		detail:   "done, cancel, suspend, resume, archive and reopen are also commands.",
		example:  "leslie lifecycle thread-a1b2c3d4 --action suspend --reason \"waits for the API\"",
		operands: []operand{threadOperand()},
		flags: []cli.Flag{
			newOption("action", oneOf(words...).required().formerly(map[string]string{"blocked": "suspend"}), "what to do"),
			reasonFlag(),
		},
		run: func(c *call) (Data, error) {
			c.require("action")
			return runLifecycle(c, thread.Action(c.text("action")))
		},
	}
}

func doneCommand() *command {
	return withHint(shortLifecycle(thread.Done, "complete a thread"), hint{ending, "done ID"})
}

func cancelCommand() *command {
	return withHint(shortLifecycle(thread.Cancel, "cancel a thread"), hint{ending, "cancel ID --reason TEXT"})
}

func suspendCommand() *command {
	return withHint(shortLifecycle(thread.Suspend, "suspend a thread until it is resumed"), hint{ending, "suspend ID --reason TEXT"})
}

func resumeCommand() *command {
	cmd := shortLifecycle(thread.Resume, "resume a suspended thread")
	cmd.operands = []operand{threadOperand()} // a person looks at each thread before it goes on
	return cmd
}

func archiveCommand() *command {
	return shortLifecycle(thread.Archive, "archive a completed or cancelled thread; it stays readable")
}

func reopenCommand() *command {
	cmd := shortLifecycle(thread.Reopen, "make a completed or cancelled thread active again")
	cmd.detail = "People may reopen any thread. An agent may reopen the thread that it speaks for, those below it or below a thread that " +
		"it has claimed, and those that it spawned. Not under an objective that is done (T603)."
	return cmd
}

func withHint(cmd *command, h hint) *command {
	cmd.hint = h
	return cmd
}

func shortLifecycle(action thread.Action, summary string) *command {
	return &command{
		name: string(action), summary: summary, writes: true,
		example:  "leslie " + string(action) + " thread-a1b2c3d4",
		operands: []operand{threadsOperand()}, flags: []cli.Flag{reasonFlag()},
		run: func(c *call) (Data, error) { return runLifecycle(c, action) },
	}
}

func runLifecycle(c *call, action thread.Action) (Data, error) {
	reason := c.text("reason")
	return forThreads(c, func(op *app.Call, id string) (*app.LifecycleResult, error) {
		return app.Lifecycle(op, app.LifecycleRequest{Thread: id, Action: action, Reason: reason})
	}, func(d *app.LifecycleResult) Data { return lifecycleText{d} })
}
