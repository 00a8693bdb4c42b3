package historycmd

import (
	"slices"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app/history"
)

// undoText is what undo and redo did; verb says which of them.
type undoText struct {
	*history.UndoResult
	verb string
}

func (d undoText) Text(p *page.Page) {
	p.Line("%s: %s (%s)", d.verb, d.OperationID, d.Command)
	for _, r := range d.Records {
		p.Line("  %s %s", r.How, r.Record)
	}
	for _, f := range d.Files {
		if slices.Contains(d.Removed, f) {
			p.Line("  removed %s", f)
		} else {
			p.Line("  restored %s", f)
		}
	}
	for _, f := range d.Kept {
		p.Line("  kept %s (changed since)", f)
	}
	if d.Code != nil {
		what := map[string]string{history.Reset: "goes back to before", history.Reverted: "reverts",
			history.Gone: "no longer has", history.AlreadyReverted: "has a commit of somebody that reverts", history.LandedAgain: "is again at",
			history.Restored: "has its files again, at"}[d.Code.How]
		commit := d.Code.Commit[:min(12, len(d.Code.Commit))]
		if d.Code.Uncommitted {
			commit += ", and what was not committed"
		}
		p.Line("  code: %s %s %s", d.Code.Branch, what, commit)
		would := map[bool]string{true: "would make", false: "made"}[d.DryRun]
		for _, branch := range d.Code.Remade {
			p.Line("  %s %s again: no branch had its commits", would, branch)
		}
		for _, kept := range d.Code.Kept {
			p.Line("  %s keeps %s, which no branch has", kept.Ref, kept.Commit[:12])
		}
		for _, id := range d.Code.Restored {
			p.Line("  its worktree and its branch %s back: %s", map[bool]string{true: "come", false: "are"}[d.DryRun], id)
		}
		for _, line := range d.Code.Restore {
			p.Line("  its worktree was removed since; before it can land again: %s", line)
		}
		for _, id := range d.Code.Reopened {
			p.Line("  %s goes on", id)
		}
		for _, id := range d.Code.Ended {
			p.Line("  %s stays completed; to work on it again: leslie reopen %s", id, id)
		}
		for _, id := range d.Code.Stays {
			p.Line("  its worktree stays; to end it again: leslie land %s", id)
		}
		if d.Code.MergeAgain != "" {
			p.Line("  leslie redo will not bring it again, but this will: %s", d.Code.MergeAgain)
		}
	}
	if d.Newer != nil {
		p.Line("newer, and not yours: %s", d.Newer.Line())
	}
	if d.DryRun {
		p.Line("nothing was changed")
	}
}

// Undo is the command leslie undo.
func Undo() *cli.Command {
	return &cli.Command{
		Name: "undo", Summary: "undo one operation; later work stays", Writes: true, NotBatchable: true,
		Detail: "Without OP, undoes your own newest operation that is not undone: repeat it to step back. Later " +
			"changes stay; if one of them conflicts with the undo, nothing is undone (T110). To undo an undo, name " +
			"it, or use redo. An agent can undo only operations of agents, and no decisions.",
		Example:  "leslie undo op-a1b2c3d4",
		Operands: []cli.Operand{{Value: cli.ID("OP", cli.OtherIDs).Offering(cli.OperationIDs), Optional: true}},
		Flags:    []cli.Flag{cli.Toggle("dry-run", "show what would be undone without changing anything")},
		Run:      runUndo,
	}
}

func runUndo(c *cli.Call) (cli.Data, error) {
	in := history.UndoRequest{Operation: c.Operand(0), DryRun: c.On("dry-run")}
	verb := "undone"
	if in.DryRun {
		verb = "would undo"
	}
	return cli.RunUseCase(c, history.Undo, in, func(d *history.UndoResult) cli.Data { return undoText{d, verb} })
}

// Redo is the command leslie redo.
func Redo() *cli.Command {
	return &cli.Command{
		Name: "redo", Summary: "redo what you undid last", Writes: true, NotBatchable: true,
		Detail: "Undoes your own newest undo: repeat it to step forward. Anything else that you do after an undo " +
			"ends that (T112). If later changes conflict with it, or files that it would restore were changed, " +
			"nothing is redone (T110).",
		Example: "leslie redo",
		Flags:   []cli.Flag{cli.Toggle("dry-run", "show what would be redone without changing anything")},
		Run:     runRedo,
	}
}

func runRedo(c *cli.Call) (cli.Data, error) {
	in := history.RedoRequest{DryRun: c.On("dry-run")}
	verb := "redone"
	if in.DryRun {
		verb = "would redo"
	}
	return cli.RunUseCase(c, history.Redo, in, func(d *history.UndoResult) cli.Data { return undoText{d, verb} })
}
