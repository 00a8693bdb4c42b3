package threadcmd

import (
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/historycmd"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/thread"
)

type waitText struct{ *threads.WaitResult }

// IsPartialResult: the state at the timeout is useful, too.
func (d waitText) IsPartialResult() {}

func (d waitText) Text(p *page.Page) {
	for _, t := range d.Threads {
		met := ""
		if t.Met {
			met = "  met"
		}
		p.Line("%s  %s%s", t.ThreadID, t.Status, met)
		if t.Wakeable {
			p.Line("  wakeable: every child is terminated; leslie resume %s continues it", t.ThreadID)
		}
		p.Field("  active children", app.Joined(t.Children))
		for _, a := range t.Approvals {
			page.ApprovalText(p, a)
		}
	}
	if d.Operations != nil {
		for _, op := range d.Operations.Items {
			historycmd.OperationText{OperationRecord: op}.Text(p)
		}
	}
	if d.Messages {
		p.Line("messages wait for your thread; what you waited for has not come yet")
	}
	p.Field("revision", int64(d.Revision))
}

// Wait is the command leslie wait.
func Wait() *cli.Command {
	return &cli.Command{
		Name: "wait", Summary: "wait until threads are done, change, are ready, have no active children, or have a " +
			"decision",
		Detail: "done (the default) and children also return for a suspended thread whose children have all " +
			"terminated: it can be resumed. An agent's wait also returns when messages wait for the thread that it " +
			"speaks for (W105). any returns with the first change of one of the threads after --since (default: " +
			"from now on), or without a thread with any change at all, whichever thread you speak for. ready " +
			"returns when each thread is active, unclaimed or yours, and its dependencies are terminated, or " +
			"without a thread when there is one to claim. Agents wait at most 100s by default.",
		Example:  "leslie wait write-docs --timeout 90s",
		Operands: []cli.Operand{{Value: cli.ID("ID", cli.ThreadIDs), Speaks: true, Many: true}},
		Flags: []cli.Flag{
			cli.NewFlag("until", cli.OneOf(untilWords()...), "what to wait for (default done)"),
			cli.NewFlag("since", cli.NonNegative("REV"), "with any: changes after this revision count"),
			cli.NewFlag("timeout", cli.Duration(),
				"give up after D with T109 (default for agents 100s, for people never)"),
		},
		Run: runWait,
	}
}

func untilWords() []string {
	return []string{string(thread.UntilDone), string(thread.UntilAny), string(thread.UntilChildren),
		string(thread.UntilDecision), string(thread.UntilReady)}
}

func runWait(c *cli.Call) (cli.Data, error) {
	in := threads.WaitRequest{Until: thread.Until(c.Text("until")), Since: c.RevisionOf("since"),
		Timeout: WaitTimeout(c)}
	in.Threads = waitedFor(c, in.Until)
	if err := c.Usage(); err != nil {
		return nil, err
	}
	op, err := c.Open()
	if err != nil {
		return nil, err
	}
	d, err := threads.Wait(op, in)
	if d == nil {
		return nil, c.SinceFault(err)
	}
	return waitText{d}, err
}

// waitedFor returns the named threads. For a wait for any change, none means every
// thread.
func waitedFor(c *cli.Call, until thread.Until) []string {
	args := c.Flags.Args().Slice()
	if len(args) == 0 && until.NeedsThread(c.Who.Thread != "") {
		args = []string{c.TargetThread()}
	}
	return args
}

// WaitTimeout returns --timeout, otherwise the default for the kind of caller; 0: no
// limit.
func WaitTimeout(c *cli.Call) time.Duration {
	d, _ := time.ParseDuration(c.Text("timeout")) // checked with the line
	if d == 0 && c.Who.As != thread.User {
		return app.AgentsPatience
	}
	return d
}
