package threadcmd

import (
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/thread"
)

// This file implements claim, renew and release, by which several agents distribute
// threads. Writing to a thread extends the holder's claim.

type claimText struct{ *threads.ClaimResult }

func (d claimText) Text(p *page.Page) {
	switch {
	case d.Reason == thread.NothingInTime && len(d.Held) > 0:
		p.Line("%s: no other thread became ready in time; go on with what you hold", string(d.Reason))
	case d.Reason != "":
		p.Line("%s: %s", string(d.Reason), whyNoThread(d.Reason))
	case d.ThreadID == nil:
		p.Line("no thread is ready to be claimed")
		p.Line("those that are active are claimed, held back by others, or for people: leslie list shows them, " +
			"--wait 90s waits for one")
	case d.TakenFrom != nil:
		p.Line("thread %s  claimed by %s until %s, taken over from %s", string(*d.ThreadID), *d.Holder,
			d.Until.Format(time.RFC3339), *d.TakenFrom)
	case d.Holder != nil:
		p.Line("thread %s  claimed by %s until %s", string(*d.ThreadID), *d.Holder, d.Until.Format(time.RFC3339))
	case d.Changed:
		p.Line("thread %s  released", string(*d.ThreadID))
	default:
		p.Line("thread %s  not claimed; nothing changed", string(*d.ThreadID))
	}
	if d.Reopened != nil {
		p.Line("reopened: %s", reopenedText(*d.Reopened))
	}
	p.Field("worktree", d.Worktree)
	if d.Removed {
		p.Line("its worktree was removed: leslie code restore %s makes it again", string(*d.ThreadID))
	}
	if d.TakenFrom != nil && d.Worktree != "" {
		p.Field("not handed on", notHandedOn(*d.ThreadID, *d.TakenFrom))
	}
	if len(d.Brought) > 0 {
		p.Line("its worktree begins with the code of %s", app.Joined(d.Brought))
	}
	for _, id := range d.Held {
		p.Line("you already hold %s: leslie context --thread %s", string(id), string(id))
	}
	if d.Derived {
		p.Line("you are %s, a name derived from your process; LESLIE_ACTOR=NAME gives you another", *d.Holder)
	}
	switch {
	case d.Elsewhere != "":
		p.Line("its worktree is on %s: once its commits can come, leslie code setup %s makes one here", d.Elsewhere, string(*d.ThreadID))
	case d.Taken():
		p.Line("next: leslie context --thread %s", string(*d.ThreadID))
	}
}

// notHandedOn says of a thread that was taken over what its worktree may lack; "" if from is.
func notHandedOn(id thread.ThreadID, from string) string {
	if from == "" {
		return ""
	}
	return "what " + from + " may have there that was not sent: leslie publish " + string(id) + " on that machine brings it"
}

// reopenedText says who reopened a thread, when and why.
func reopenedText(r thread.Reopening) string {
	line := "by " + r.Actor + " (" + string(r.As) + ") at " + r.At.Format(time.RFC3339)
	if r.Reason != "" {
		line += ": " + r.Reason
	}
	return line
}

// whyNoThread says why there is no thread to claim.
func whyNoThread(why thread.Nothing) string {
	switch why {
	case thread.NothingLeft:
		return "every objective is completed, there is nothing left to claim"
	case thread.NothingActive:
		return "no thread is active; --wait 90s waits until somebody creates, resumes or approves one"
	case thread.NothingRead:
		return "messages came for what you hold; read them"
	}
	return "no thread became ready in time; repeat the call"
}

// Claim is the command leslie claim.
func Claim() *cli.Command {
	return &cli.Command{
		Name: "claim", Summary: "claim a thread; --next picks the first ready one", Writes: true,
		Detail: "A claim keeps others from claiming the thread and other agents from changing it (T108). It ends " +
			"when its time is up, when you release it, or when the thread ends; your own writes extend it. --next takes " +
			"the first thread of leslie list --ready: an agent gets only threads for agents, and in a thread's worktree " +
			"that thread. If none is ready, threadId is null and reason says why. With --wait it waits for one, and " +
			"answers early with what somebody hands to you, or with the reason messages (read them) or " +
			"objective_completed (stop); after timeout, repeat it. --take-over is for when the holder is gone (leslie status " +
			"says when it was last heard of): a person may, and whoever holds a thread above. Work, branch and worktree " +
			"stay as they are. To give your own to another: leslie transfer ID --to NAME.",
		Example:  "leslie claim --next",
		Operands: []cli.Operand{{Value: cli.ID("ID", cli.ThreadIDs), Optional: true, Many: true}},
		Flags: []cli.Flag{
			cli.Toggle("next", "claim the first ready thread"),
			cli.NewFlag("wait", cli.Duration(), "with --next: wait up to D until a thread is ready"),
			cli.NewFlag("for", cli.Duration(), "how long (default: claimFor in the configuration, else 1h)"),
			cli.Toggle("take-over", "claim it also if another holds it: for a person, and for whoever holds a "+
				"thread above it"),
			cli.NewFlag("reason", cli.Text("TEXT"), "with --take-over: why, which whoever held it is told"),
		},
		Run: runClaim,
	}
}

func runClaim(c *cli.Call) (cli.Data, error) {
	in := threads.ClaimRequest{Next: c.On("next"), TakeOver: c.On("take-over"), Reason: c.Text("reason")}
	switch {
	case in.TakeOver && in.Next:
		c.Fault("--take-over", "", "--take-over cannot be used with --next: name the thread")
	case in.TakeOver && in.Reason == "":
		c.Fault("--reason", "", "--reason is missing: --take-over tells whoever holds the thread why")
	case c.Has("reason") && !in.TakeOver:
		c.Fault("--reason", in.Reason, "--reason goes with --take-over")
	}
	switch {
	case !in.Next:
		c.TargetThread()
	case c.Operand(0) != "":
		c.Fault("--next", "", "--next chooses the thread: leave ID out")
	}
	checkHolder(c, func(name string) string { return c.OwnLine("--actor", name) })
	if in.Wait, _ = time.ParseDuration(c.Text("wait")); c.Has("wait") && !in.Next {
		c.Fault("--wait", c.Text("wait"), "--wait goes with --next")
	}
	in.For, _ = time.ParseDuration(c.Text("for")) // checked with the line
	if in.Next {
		return cli.RunUseCase(c, threads.Claim, in, claimed)
	}
	return cli.ForThreads(c, func(op *app.Call, id string) (*threads.ClaimResult, error) {
		in := in
		in.Thread = id
		return threads.Claim(op, in)
	}, claimed)
}

func claimed(d *threads.ClaimResult) cli.Data { return claimText{d} }

// checkHolder refuses an agent that has only the login name, because all agents of
// that user would count as one holder. next is the line to run with a name.
func checkHolder(c *cli.Call, next func(name string) string) {
	if c.Who.As != thread.Agent || !c.Who.Unnamed {
		return
	}
	name := c.Env.NewID("agent-")
	c.Faults = append(c.Faults, cli.Fault{
		Field: "--actor", Problem: "--actor is missing: this agent has no session id, and no name could be derived " +
			"for it",
		Hint: "Give the same name in every call: export LESLIE_ACTOR=" + name, Next: next(name),
	})
}

// Renew is the command leslie renew.
func Renew() *cli.Command {
	return &cli.Command{
		Name: "renew", Summary: "extend your claim on a thread", Writes: true,
		Detail:   "An expired claim can be renewed unless somebody else has claimed the thread.",
		Example:  "leslie renew write-docs",
		Operands: []cli.Operand{cli.ThreadsOperand()},
		Run: func(c *cli.Call) (cli.Data, error) {
			return runHolder(c, threads.Renew)
		},
	}
}

// Release is the command leslie release.
func Release() *cli.Command {
	return &cli.Command{
		Name: "release", Summary: "release your claim on a thread", Writes: true,
		Detail: "A person can release anybody's claim; the holder is told (W112). To go on with a thread whose " +
			"holder is gone, take it over instead: leslie claim ID --take-over --reason TEXT, which a person may, " +
			"and the holder of a claim on a thread above. To give it to another, by name: leslie transfer ID " +
			"--to NAME.",
		Example:  "leslie release write-docs",
		Operands: []cli.Operand{cli.ThreadsOperand()},
		Flags: []cli.Flag{cli.NewFlag("reason", cli.Text("TEXT"),
			"why, which whoever held it, or takes it next, is told")},
		Run: func(c *cli.Call) (cli.Data, error) {
			return runHolder(c, threads.Release)
		},
	}
}

// runHolder runs a command of the holder of a claim.
func runHolder(c *cli.Call, do func(*app.Call, threads.HolderRequest) (*threads.ClaimResult, error)) (cli.Data, error) {
	first := c.TargetThread()
	checkHolder(c, func(string) string { return "leslie status " + first })
	return cli.ForThreads(c, func(op *app.Call, id string) (*threads.ClaimResult, error) {
		return do(op, threads.HolderRequest{Thread: id, Reason: c.Text("reason")})
	}, claimed)
}
