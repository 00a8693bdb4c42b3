package main

import (
	"github.com/urfave/cli/v2"

	"leslie/internal/app"
)

type rollbackText struct{ *app.RollbackResult }

func (d rollbackText) Text(p *page) {
	if d.CheckpointID == nil && d.Code == nil {
		p.line("nothing to do: %s already matches checkpoint %s", d.ThreadID, d.To)
		return
	}
	p.line("%s restored to checkpoint %s", d.ThreadID, d.To)
	for _, f := range d.Files {
		p.line("  %s  %s", f.How, f.Path)
	}
	if d.CheckpointID != nil {
		p.line("the previous files are saved as checkpoint %s", *d.CheckpointID)
	}
	if d.Code != nil {
		p.line("  code: %s is at %s, with the files of then; what was there is kept in %s", d.Code.Branch, d.Code.Commit[:12], d.Code.Ref)
	}
}

func rollbackCommand() *command {
	return &command{
		name: "rollback", summary: "restore a thread's artifacts from a checkpoint, or with its code from a turn's end", writes: true, notBatchable: true,
		hint: hint{goingBack, "rollback ID --to NAME"},
		detail: "The current files are saved as a checkpoint first, so nothing is lost: undo the rollback, or roll back to that checkpoint. " +
			"leslie run keeps the newest 20 turns (leslie checkpoint list ID --kept): --turn restores the worktree's files and its branch, too.",
		example:  "leslie rollback thread-a1b2c3d4 --to ckpt-e5f6g7h8",
		operands: []operand{threadOperand()},
		flags: []cli.Flag{
			newOption("to", anyText("CKPT|NAME"), "the checkpoint: its id, a prefix of its id, or its name"),
			newOption("turn", aCount("N"), "the end of a turn of the thread's runs"),
		},
		run: runRollback,
	}
}

func runRollback(c *call) (Data, error) {
	in := app.RollbackRequest{Thread: c.targetThread(), To: c.text("to"), Turn: c.count("turn", 0)}
	c.checkRequest(in.Faults, nil)
	return runUseCase(c, app.Rollback, in, func(d *app.RollbackResult) Data { return rollbackText{d} })
}
