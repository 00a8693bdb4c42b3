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
	p.line("injection %s  %s, %s, waits for the agent of %s", d.InjectionID, string(d.Type), string(d.Urgency), string(d.ThreadID))
}

func injectCommand() *command {
	types := []string{string(thread.InjectData), string(thread.InjectConstraint), string(thread.InjectFeedback), string(thread.InjectPriority)}
	urgencies := []string{string(thread.Immediate), string(thread.NextStep)}
	return &command{
		name: "inject", summary: "send a thread data, constraints or feedback while it works", writes: true, namesThread: true,
		hint: hint{stepIn, "inject ID --type feedback --content TEXT"},
		detail: "The thread's own agent gets it once, with leslie context. Until then status shows it. All injections are kept in the thread's " +
			"folder, in " + app.InjectionsFile + ".",
		example:  `leslie inject thread-a1b2c3d4 --type constraint --urgency immediate --content "Keep the old API"`,
		operands: []operand{{value: anID("ID", threadIDs)}},
		flags: []cli.Flag{
			newOption("type", oneOf(types...).required(), "what kind of information it is"),
			newOption("content", anyText("TEXT").required(), "the text, at most 64 KiB; - reads standard input"),
			newOption("urgency", oneOf(urgencies...), "when the agent should act on it (default next_step)"),
		},
		run: runInject,
	}
}

func runInject(c *call) (Data, error) {
	in := app.InjectRequest{
		Thread: c.operand(0), Type: thread.InjectionType(c.text("type")), Urgency: thread.Urgency(c.text("urgency")), Content: c.text("content"),
	}
	c.require("type", "content")
	c.checkRequest(in.Faults, nil)
	if len(c.faults) == 0 { // else standard input is left unread
		in.Content = c.readContent("content", app.MaxContent)
	}
	return runUseCase(c, app.Inject, in, func(d *app.InjectResult) Data { return injectText{d} })
}
