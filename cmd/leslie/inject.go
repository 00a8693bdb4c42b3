package main

import (
	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/thread"
)

// This file implements inject, which sends information to a thread while it works. The
// thread's agent gets it from context.

type injectText struct{ *app.InjectResult }

func (d injectText) Text(p *page) {
	if d.Withdrawn {
		p.line("injection %s  withdrawn before the agent of %s saw it", d.InjectionID, string(d.ThreadID))
		return
	}
	p.line("injection %s  %s, %s, waits for the agent of %s", d.InjectionID, string(d.Type), string(d.Urgency), string(d.ThreadID))
}

func injectCommand() *command {
	types := []string{string(thread.InjectData), string(thread.InjectConstraint), string(thread.InjectFeedback), string(thread.InjectPriority)}
	urgencies := []string{string(thread.Immediate), string(thread.NextStep)}
	return &command{
		name: "inject", summary: "send a thread data, constraints or feedback while it works", writes: true, namesThread: true,
		hint: hint{stepIn, "inject ID --type feedback --content TEXT"},
		detail: "The thread's own agent gets it with leslie context, once; a constraint stays there until the thread ends. Until it was seen, " +
			"each answer to the agent says that messages wait (W105), the thread cannot be completed by it (T113), and --withdraw takes the " +
			"injection back. All injections are kept in the thread's folder, in " + app.InjectionsFile + ". " +
			"ID and --content are required without --withdraw.",
		example:  `leslie inject thread-a1b2c3d4 --type constraint --urgency immediate --content "Keep the old API"`,
		operands: []operand{{value: anID("ID", threadIDs), optional: true}},
		flags: []cli.Flag{
			newOption("type", oneOf(types...), "what kind of information it is (default feedback)"),
			newOption("content", anyText("TEXT"), "the text, at most 64 KiB; - reads standard input"),
			newOption("urgency", oneOf(urgencies...), "when the agent should act on it (default next_step)"),
			newOption("withdraw", anID("INJ", otherIDs), "take this injection back, which the agent has not seen"),
		},
		run: runInject,
	}
}

func runInject(c *call) (Data, error) {
	if c.has("withdraw") {
		for _, name := range []string{"type", "content", "urgency"} {
			if c.has(name) {
				c.fault("--"+name, c.text(name), "--"+name+" cannot be used with --withdraw")
			}
		}
		in := app.WithdrawRequest{Injection: c.text("withdraw"), Thread: c.operand(0)}
		return runUseCase(c, app.WithdrawInjection, in, func(d *app.InjectResult) Data { return injectText{d} })
	}
	if c.operand(0) == "" {
		c.fault("ID", "", "the operand ID is missing")
	}
	in := app.InjectRequest{
		Thread: c.operand(0), Type: thread.InjectionType(c.textOr("type", string(thread.InjectFeedback))), Urgency: thread.Urgency(c.text("urgency")), Content: c.text("content"),
	}
	c.require("content")
	c.checkRequest(in.Faults, nil)
	if len(c.faults) == 0 { // else standard input is left unread
		in.Content = c.readContent("content", app.MaxContent)
	}
	return runUseCase(c, app.Inject, in, func(d *app.InjectResult) Data { return injectText{d} })
}
