package historycmd

import (
	"cmp"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app/history"
)

type rollbackText struct{ *history.RollbackResult }

func (d rollbackText) Text(p *page.Page) {
	if len(d.Files) == 0 && d.Code == nil {
		p.Line("nothing to do: %s already matches checkpoint %s", d.ThreadID, d.To)
		return
	}
	if d.DryRun {
		p.Line("would restore %s to checkpoint %s", d.ThreadID, d.To)
	} else {
		p.Line("%s restored to checkpoint %s", d.ThreadID, d.To)
	}
	for _, f := range d.Files {
		p.Line("  %s  %s", f.How, f.Path)
	}
	if d.CheckpointID != nil {
		p.Line("the previous files are saved as checkpoint %s", *d.CheckpointID)
	}
	if d.DryRun {
		if d.Code != nil {
			p.Line("  code: %s would be at %s, with the files of then", d.Code.Branch, d.Code.Commit[:12])
		}
		p.Line("nothing was changed")
		return
	}
	if d.Code != nil {
		p.Line("  code: %s is at %s, with the files of then; what was there is kept in %s", d.Code.Branch,
			d.Code.Commit[:12], d.Code.Ref)
	}
}

// Rollback is the command leslie rollback.
func Rollback() *cli.Command {
	return &cli.Command{
		Name: "rollback", Summary: "restore a thread's artifacts from a checkpoint, or with its code from a turn's end",
		Writes: true, NotBatchable: true,
		Detail: "The current files are saved as a checkpoint first, so nothing is lost: undo the rollback, or roll " +
			"back to that checkpoint. leslie run keeps the newest 20 turns (leslie checkpoint list ID --kept): " +
			"--turn restores the worktree's files and its branch, too.",
		Example: "leslie rollback write-docs --to ckpt-e5f6g7h8",
		Operands: []cli.Operand{cli.ThreadOperand(),
			{Value: cli.Text("CKPT|NAME").Offering(cli.CheckpointNames), Optional: true}},
		Flags: []cli.Flag{
			cli.NewFlag("to", cli.Text("CKPT|NAME").Offering(cli.CheckpointNames),
				"the checkpoint: its id, a prefix of its id, or its name"),
			cli.NewFlag("turn", cli.NonNegative("N"), "the end of a turn of the thread's runs"),
			cli.Toggle("dry-run", "show what would be restored without changing anything"),
		},
		Run: runRollback,
	}
}

func runRollback(c *cli.Call) (cli.Data, error) {
	in := history.RollbackRequest{Thread: c.TargetThread(), To: cmp.Or(c.Operand(1), c.Text("to")),
		Turn: c.Count("turn", 0), DryRun: c.On("dry-run")}
	if c.Operand(1) != "" && c.Has("to") {
		c.Fault("--to", c.Text("to"), "--to cannot be used with the operand CKPT|NAME")
	}
	c.CheckRequest(in.Faults, nil)
	return cli.RunUseCase(c, history.Rollback, in, func(d *history.RollbackResult) cli.Data { return rollbackText{d} })
}
