package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/thread"
)

// This file implements claim, renew and release, by which several agents distribute
// threads. Writing to a thread extends the holder's claim.

type claimText struct{ *app.ClaimResult }

func (d claimText) Text(p *page) {
	switch {
	case d.Reason != "":
		p.line("%s", nothingText(d.Reason))
	case d.ThreadID == nil:
		p.line("no thread is ready to be claimed")
	case d.Holder != nil:
		p.line("thread %s  claimed by %s until %s", string(*d.ThreadID), *d.Holder, d.Until.Format(time.RFC3339))
	case d.Changed:
		p.line("thread %s  released", string(*d.ThreadID))
	default:
		p.line("thread %s  not claimed; nothing changed", string(*d.ThreadID))
	}
	if d.Derived {
		p.line("you are %s, a name derived from your process; LESLIE_ACTOR=NAME gives you another", *d.Holder)
	}
	if d.Taken() {
		p.line("next: leslie context --thread %s", string(*d.ThreadID))
	}
}

// nothingText says why there is no thread to claim.
func nothingText(why thread.Nothing) string {
	switch why {
	case thread.NothingLeft:
		return "every objective is completed: there is nothing left to claim"
	case thread.NothingActive:
		return "no thread is active: somebody has to create or resume one first"
	}
	return "no thread became ready in time"
}

func claimCommand() *command {
	return &command{
		name: "claim", summary: "claim a thread; --next picks the first ready one", writes: true,
		hint: hint{starting, "claim --next --wait 90s"},
		detail: "A claim keeps others from claiming the thread and other agents from changing it (T108). It ends when its time is up, when you release it, " +
			"or when the thread ends. Your own writes to the thread extend it. --next picks the first thread of leslie list --ready; " +
			"an agent gets only threads for agents. If no thread is ready, threadId is null. --wait waits for one; without a thread, reason " +
			"then says timeout, or at once objective_completed or nothing_active.",
		example:  "leslie claim --next",
		operands: []operand{{value: anID("ID", threadIDs), optional: true, many: true}},
		flags: []cli.Flag{
			toggle("next", "claim the first ready thread"),
			newOption("wait", aDuration(), "with --next: wait up to D until a thread is ready"),
			newOption("for", aDuration(), "how long (default: claimFor in the configuration, else 1h)"),
		},
		run: runClaim,
	}
}

func runClaim(c *call) (Data, error) {
	in := app.ClaimRequest{Next: c.on("next")}
	switch {
	case !in.Next:
		c.targetThread()
	case c.operand(0) != "":
		c.fault("--next", "", "--next chooses the thread: leave ID out")
	}
	checkHolder(c, func(name string) string { return c.ownLine("--actor", name) })
	if in.Wait, _ = time.ParseDuration(c.text("wait")); c.has("wait") && !in.Next {
		c.fault("--wait", c.text("wait"), "--wait goes with --next")
	}
	in.For, _ = time.ParseDuration(c.text("for")) // checked with the line
	if in.Next {
		return runUseCase(c, app.Claim, in, claimed)
	}
	return forThreads(c, func(op *app.Call, id string) (*app.ClaimResult, error) {
		in := in
		in.Thread = id
		return app.Claim(op, in)
	}, claimed)
}

func claimed(d *app.ClaimResult) Data { return claimText{d} }

// checkHolder refuses an agent that has only the login name, because all agents of
// that user would count as one holder. next is the line to run with a name.
func checkHolder(c *call, next func(name string) string) {
	if c.who.as != thread.Agent || !c.who.unnamed {
		return
	}
	name := c.env.newID("agent-")
	c.faults = append(c.faults, fault{
		Field: "--actor", Problem: "--actor is missing: this agent has no session id, and no name could be derived for it",
		hint: "Give the same name in every call: export LESLIE_ACTOR=" + name, next: next(name),
	})
}

func renewCommand() *command {
	return &command{
		name: "renew", summary: "extend your claim on a thread", writes: true,
		hint:     hint{starting, "renew ID"},
		detail:   "An expired claim can be renewed unless somebody else has claimed the thread.",
		example:  "leslie renew thread-a1b2c3d4",
		operands: []operand{threadsOperand()},
		run: func(c *call) (Data, error) {
			return runHolder(c, app.Renew)
		},
	}
}

func releaseCommand() *command {
	return &command{
		name: "release", summary: "release your claim on a thread", writes: true,
		hint:     hint{ending, "release ID"},
		detail:   "A person can release anybody's claim.",
		example:  "leslie release thread-a1b2c3d4",
		operands: []operand{threadsOperand()},
		run: func(c *call) (Data, error) {
			return runHolder(c, app.Release)
		},
	}
}

// runHolder runs a command of the holder of a claim.
func runHolder(c *call, do func(*app.Call, app.HolderRequest) (*app.ClaimResult, error)) (Data, error) {
	first := c.targetThread()
	checkHolder(c, func(string) string { return "leslie status " + first })
	return forThreads(c, func(op *app.Call, id string) (*app.ClaimResult, error) { return do(op, app.HolderRequest{Thread: id}) }, claimed)
}
