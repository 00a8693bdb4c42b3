package mergecmd

import (
	"leslie/cmd/leslie/internal/cli"
	"leslie/internal/app/merges"
	"leslie/thread"
)

// Pull is the command leslie pull.
func Pull() *cli.Command {
	return &cli.Command{
		Name: "pull", Summary: "merge a thread's parent, or a dependency, into it", Writes: true, NotBatchable: true,
		Detail: "Brings a thread up to date with what it builds on: the same as merge --sources PARENT --target ID. " +
			"Without --from it is the parent, or the only dependency of a thread without one. A thread that " +
			"inherited some of its parent's artifacts pulls changes of these; --scope '**' brings all. Code that " +
			"both own is brought, too, whatever the scope. A thread with code and neither, or --from BRANCH, gets " +
			"what the branch has from which its code began; where both changed the same lines, git merge in its " +
			"worktree goes on (T806).",
		Example:  "leslie pull write-docs",
		Operands: []cli.Operand{cli.ThreadOperand()},
		Flags: append([]cli.Flag{cli.NewFlag("from", cli.ID("ID", cli.ThreadIDs),
			"the thread, or its branch, to bring changes from (default: the parent)")}, mergeFlags()...),
		Run: runPull,
	}
}

func runPull(c *cli.Call) (cli.Data, error) {
	in := merges.PullRequest{
		Thread: c.TargetThread(), From: c.Text("from"), Scope: c.Parts("scope"),
		Strategy:        thread.Strategy(c.Text("conflict-strategy")),
		RequireApproval: c.On("require-approval"), DryRun: c.On("dry-run"),
		Only: c.Text("only"), Squash: c.On("squash"), Queue: c.On("queue"), Uncommitted: c.Text("uncommitted"),
		Resolvers: mergeMeans(c),
	}
	if in.From != "" && in.From == in.Thread {
		c.Fault("--from", in.From, "names the thread itself")
	}
	c.CheckRequest(in.Faults, map[string]string{"Strategy": "--conflict-strategy", "Timeout": "--agent-timeout"})
	return runMerging(c, merges.Pull, in)
}
