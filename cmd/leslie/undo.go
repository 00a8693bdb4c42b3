package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
)

// undoText is what undo and redo did; verb says which of them.
type undoText struct {
	*app.UndoResult
	verb string
}

func (d undoText) Text(p *page) {
	p.line("%s: %s (%s)", d.verb, d.OperationID, d.Command)
	for _, r := range d.Records {
		p.line("  %s %s", r.How, r.Record)
	}
	for _, f := range d.Files {
		if slices.Contains(d.Removed, f) {
			p.line("  removed %s", f)
		} else {
			p.line("  restored %s", f)
		}
	}
	for _, f := range d.Kept {
		p.line("  kept %s (changed since)", f)
	}
	if d.Code != nil {
		what := map[string]string{app.CodeReset: "goes back to before", app.CodeReverted: "reverts", app.CodeGone: "no longer has", app.CodeRestored: "has its files again, at"}[d.Code.How]
		p.line("  code: %s %s %s", d.Code.Branch, what, d.Code.Commit[:12])
	}
	if d.DryRun {
		p.line("nothing was changed")
	}
}

func undoCommand() *command {
	return &command{
		name: "undo", summary: "undo one operation; later work stays", writes: true, notBatchable: true,
		hint: hint{goingBack, "undo"},
		detail: "Without OP, undoes your own newest operation that is not undone: repeat it to step back. Later changes stay; if one of them " +
			"conflicts with the undo, nothing is undone (T110). To undo an undo, name it, or use redo. " +
			"An agent can undo only operations of agents, and no decisions.",
		example:  "leslie undo op-a1b2c3d4",
		operands: []operand{{value: anID("OP", otherIDs), optional: true}},
		flags:    []cli.Flag{toggle("dry-run", "show what would be undone without changing anything")},
		run:      runUndo,
	}
}

func runUndo(c *call) (Data, error) {
	in := app.UndoRequest{Operation: c.operand(0), DryRun: c.on("dry-run")}
	verb := "undone"
	if in.DryRun {
		verb = "would undo"
	}
	return runUseCase(c, app.Undo, in, func(d *app.UndoResult) Data { return undoText{d, verb} })
}

func redoCommand() *command {
	return &command{
		name: "redo", summary: "redo what you undid last", writes: true, notBatchable: true,
		hint: hint{goingBack, "redo"},
		detail: "Undoes your own newest undo: repeat it to step forward. Anything else that you do after an undo ends that (T112). " +
			"If later changes conflict with it, or files that it would restore were changed, nothing is redone (T110).",
		example: "leslie redo",
		flags:   []cli.Flag{toggle("dry-run", "show what would be redone without changing anything")},
		run:     runRedo,
	}
}

func runRedo(c *call) (Data, error) {
	in := app.RedoRequest{DryRun: c.on("dry-run")}
	verb := "redone"
	if in.DryRun {
		verb = "would redo"
	}
	return runUseCase(c, app.Redo, in, func(d *app.UndoResult) Data { return undoText{d, verb} })
}
