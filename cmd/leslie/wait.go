package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/thread"
)

type waitText struct{ *app.WaitResult }

// isPartialResult: the state at the timeout is useful, too.
func (d waitText) isPartialResult() {}

func (d waitText) Text(p *page) {
	for _, t := range d.Threads {
		met := ""
		if t.Met {
			met = "  met"
		}
		p.line("%s  %s%s", t.ThreadID, t.Status, met)
		if t.Wakeable {
			p.line("  wakeable: every child is terminated; leslie resume %s continues it", t.ThreadID)
		}
		p.field("  active children", joined(t.Children))
		for _, a := range t.Approvals {
			approvalText(p, a)
		}
	}
	if d.Operations != nil {
		for _, op := range d.Operations.Items {
			operationText{op}.Text(p)
		}
	}
	if d.Messages {
		p.line("messages wait for your thread; what you waited for has not come yet")
	}
	p.field("revision", int64(d.Revision))
}

func waitCommand() *command {
	return &command{
		name: "wait", summary: "wait until threads are done, change, are ready, have no active children, or have a decision",
		hint: hint{watching, "wait ID --until any"},
		detail: "done (the default) and children also return for a suspended thread whose children have all terminated: " +
			"it can be resumed. An agent's wait also returns when messages wait for the thread that it speaks for (W105). any returns with the first change of one of the threads after --since (default: from now on), or without " +
			"a thread with any change at all, whichever thread you speak for. ready returns when each thread is active, unclaimed or yours, and its dependencies are " +
			"terminated, or without a thread when there is one to claim. Agents wait at most 100s by default.",
		example:  "leslie wait thread-a1b2c3d4 --timeout 90s",
		operands: []operand{{value: anID("ID", threadIDs), speaks: true, many: true}},
		flags: []cli.Flag{
			newOption("until", oneOf(untilWords()...), "what to wait for (default done)"),
			newOption("since", aCount("REV"), "with any: changes after this revision count"),
			newOption("timeout", aDuration(), "give up after D with T109 (default for agents 100s, for people never)"),
		},
		run: runWait,
	}
}

func untilWords() []string {
	return []string{string(thread.UntilDone), string(thread.UntilAny), string(thread.UntilChildren), string(thread.UntilDecision), string(thread.UntilReady)}
}

func runWait(c *call) (Data, error) {
	in := app.WaitRequest{Until: thread.Until(c.text("until")), Since: c.revisionOf("since"), Timeout: waitTimeout(c)}
	in.Threads = waitedFor(c, in.Until)
	if err := c.usage(); err != nil {
		return nil, err
	}
	op, err := c.open()
	if err != nil {
		return nil, err
	}
	d, err := app.Wait(op, in)
	if d == nil {
		return nil, sinceFault(c, err)
	}
	return waitText{d}, err
}

// waitedFor returns the named threads. For a wait for any change, none means every
// thread.
func waitedFor(c *call, until thread.Until) []string {
	args := c.flags.Args().Slice()
	if len(args) == 0 && until.NeedsThread(c.who.thread != "") {
		args = []string{c.targetThread()}
	}
	return args
}

// waitTimeout returns --timeout, otherwise the default for the kind of caller; 0: no
// limit.
func waitTimeout(c *call) time.Duration {
	d, _ := time.ParseDuration(c.text("timeout")) // checked with the line
	if d == 0 && c.who.as != thread.User {
		return app.AgentsPatience
	}
	return d
}
