package main

import (
	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/thread"
)

type codeRemoveText struct{ *app.CodeRemoveResult }

func (d codeRemoveText) Text(p *page) {
	switch {
	case d.State == nil:
		p.line("%s no longer owns its worktree, which leslie did not make and leaves where it is", d.ThreadID)
	case *d.State == thread.CodeLost:
		p.line("code of %s  lost: its folder is not there, and nothing could be kept", d.ThreadID)
	default:
		p.line("code of %s  removed", d.ThreadID)
	}
	p.field("worktree", d.Worktree)
	branch := d.Branch
	if !d.BranchKept {
		branch += " (deleted: its commits are elsewhere)"
	}
	p.field("branch", branch)
	if d.Rescue != nil {
		p.field("kept in", d.Rescue.Ref)
	}
}

func codeRemoveCommand() *command {
	return &command{
		name: "code remove", summary: "remove a thread's worktree; what is not committed is kept", writes: true, notBatchable: true,
		detail: "The branch stays, unless leslie made it and it has landed. leslie code restore brings everything back. A worktree that " +
			"leslie did not make stays where it is; the thread only no longer owns it.",
		example:  "leslie code remove thread-a1b2c3d4",
		operands: []operand{threadOperand()}, run: runCodeRemove,
	}
}

func runCodeRemove(c *call) (Data, error) {
	return runUseCase(c, app.CodeRemove, app.CodeRemoveRequest{Thread: c.targetThread()}, func(d *app.CodeRemoveResult) Data { return codeRemoveText{d} })
}

type codeRestoreText struct{ *app.CodeRestoreResult }

func (d codeRestoreText) Text(p *page) {
	if !d.Changed {
		p.line("nothing changed")
	}
	p.line("code of %s  %s", d.ThreadID, d.State)
	p.field("worktree", d.Worktree)
	p.field("branch", d.Branch)
	p.field("with the work of", d.Rescued)
}

func codeRestoreCommand() *command {
	return &command{
		name: "code restore", summary: "bring a thread's worktree back, with what was not committed", writes: true, notBatchable: true,
		example: "leslie code restore thread-a1b2c3d4", operands: []operand{threadOperand()}, run: runCodeRestore,
	}
}

func runCodeRestore(c *call) (Data, error) {
	return runUseCase(c, app.CodeRestore, app.CodeRestoreRequest{Thread: c.targetThread()}, func(d *app.CodeRestoreResult) Data { return codeRestoreText{d} })
}

type codePruneText struct{ *app.CodePruneResult }

func (d codePruneText) Text(p *page) {
	verb := "removed"
	if d.DryRun {
		verb = "would remove"
	}
	for _, r := range d.Removed {
		p.line("%s %s  %s", verb, r.ThreadID, r.Worktree)
	}
	for _, l := range d.Left {
		p.line("left %s  %s", l.ThreadID, l.Reason)
	}
	if len(d.Removed)+len(d.Left) == 0 {
		p.line("no thread has a worktree")
	}
}

func codePruneCommand() *command {
	return &command{
		name: "code prune", summary: "remove the worktrees of ended threads whose code has landed", writes: true, unrecorded: true,
		detail:  "Only where nothing is left uncommitted. The others stay, with the reason.",
		example: "leslie code prune --dry-run",
		flags:   []cli.Flag{toggle("dry-run", "show what would be removed without changing anything")},
		run:     runCodePrune,
	}
}

func runCodePrune(c *call) (Data, error) {
	return runUseCase(c, app.CodePrune, app.CodePruneRequest{DryRun: c.on("dry-run")}, func(d *app.CodePruneResult) Data { return codePruneText{d} })
}
