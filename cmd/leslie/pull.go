package main

import (
	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/thread"
)

func pullCommand() *command {
	return &command{
		name: "pull", summary: "merge a thread's parent, or a dependency, into it", writes: true, notBatchable: true,
		hint: hint{bringing, "pull ID"},
		detail: "Brings a thread up to date with what it builds on: the same as merge --sources PARENT --target ID. Without --from it is the " +
			"parent, or the only dependency of a thread without one. A thread that inherited some of its parent's artifacts pulls changes of " +
			"these; --scope '**' brings all.",
		example:  "leslie pull thread-a1b2c3d4",
		operands: []operand{threadOperand()},
		flags:    append([]cli.Flag{newOption("from", anID("ID", threadIDs), "the thread to bring the changes from (default: the parent)")}, mergeFlags()...),
		run:      runPull,
	}
}

func runPull(c *call) (Data, error) {
	in := app.PullRequest{
		Thread: c.targetThread(), From: c.text("from"), Scope: c.parts("scope"), Strategy: thread.Strategy(c.text("conflict-strategy")),
		RequireApproval: c.on("require-approval"), DryRun: c.on("dry-run"), MergeMeans: mergeMeans(c),
	}
	if in.From != "" && in.From == in.Thread {
		c.fault("--from", in.From, "names the thread itself")
	}
	return runMerging(c, app.Pull, in)
}
