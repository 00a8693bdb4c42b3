package threadcmd

import (
	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/thread"
)

// This file implements inject, which sends information to a thread while it works. The
// thread's agent gets it from context.

type injectText struct{ *threads.InjectResult }

func (d injectText) Text(p *page.Page) {
	if d.Withdrawn {
		p.Line("injection %s  withdrawn before the agent of %s saw it", d.InjectionID, string(d.ThreadID))
		return
	}
	p.Line("injection %s  %s, %s, waits for the agent of %s", d.InjectionID, string(d.Type), string(d.Urgency),
		string(d.ThreadID))
}

// Inject is the command leslie inject.
func Inject() *cli.Command {
	types := []string{string(thread.InjectData), string(thread.InjectConstraint), string(thread.InjectFeedback),
		string(thread.InjectPriority)}
	urgencies := []string{string(thread.Immediate), string(thread.NextStep)}
	return &cli.Command{
		Name: "inject", Summary: "send a thread data, constraints or feedback while it works", Writes: true,
		NamesThread: true,
		Detail: "The thread's own agent gets it with leslie context, once; a constraint stays there until the " +
			"thread ends. Until it was seen, each answer to the agent says that messages wait (W105), the thread " +
			"cannot be completed by it (T113), and --withdraw takes the injection back. All injections are kept in " +
			"the thread's folder, in " + app.InjectionsFile + ". " +
			"ID and --content are required without --withdraw.",
		Example:  `leslie inject write-docs --type constraint --urgency immediate --content "Keep the old API"`,
		Operands: []cli.Operand{{Value: cli.ID("ID", cli.ThreadIDs), Optional: true}},
		Flags: []cli.Flag{
			cli.NewFlag("type", cli.OneOf(types...), "what kind of information it is (default feedback)"),
			cli.NewFlag("content", cli.Text("TEXT"), "the text, at most 64 KiB; - reads standard input"),
			cli.NewFlag("urgency", cli.OneOf(urgencies...), "when the agent should act on it (default next_step)"),
			cli.NewFlag("withdraw", cli.ID("INJ", cli.OtherIDs).Offering(cli.InjectionIDs),
				"take this injection back, which the agent has not seen"),
		},
		Run: runInject,
	}
}

func runInject(c *cli.Call) (cli.Data, error) {
	if c.Has("withdraw") {
		for _, name := range []string{"type", "content", "urgency"} {
			if c.Has(name) {
				c.Fault("--"+name, c.Text(name), "--"+name+" cannot be used with --withdraw")
			}
		}
		in := threads.WithdrawRequest{Injection: c.Text("withdraw"), Thread: c.Operand(0)}
		return cli.RunUseCase(c, threads.WithdrawInjection, in,
			func(d *threads.InjectResult) cli.Data { return injectText{d} })
	}
	if c.Operand(0) == "" {
		c.Fault("ID", "", "the operand ID is missing")
	}
	in := threads.InjectRequest{
		Thread: c.Operand(0), Type: thread.InjectionType(c.TextOr("type", string(thread.InjectFeedback))),
		Urgency: thread.Urgency(c.Text("urgency")), Content: c.Text("content"),
	}
	c.Require("content")
	c.CheckRequest(in.Faults, nil)
	if len(c.Faults) == 0 { // else standard input is left unread
		in.Content = c.ReadContent("content", app.MaxContent)
	}
	return cli.RunUseCase(c, threads.Inject, in, func(d *threads.InjectResult) cli.Data { return injectText{d} })
}
