package main

import "leslie/internal/app"

type undoText struct{ *app.UndoResult }

func (d undoText) Text(p *page) {
	p.line("undone: %s (%s)", d.OperationID, d.Command)
	for _, r := range d.Records {
		p.line("  %s %s", r.How, r.Record)
	}
	for _, f := range d.Files {
		p.line("  restored %s", f)
	}
	for _, f := range d.Kept {
		p.line("  kept %s (changed since)", f)
	}
}

func undoCommand() *command {
	return &command{
		name: "undo", summary: "undo one operation; later work stays", writes: true, notBatchable: true,
		hint: hint{goingBack, "undo"},
		detail: "Without OP, undoes your own last operation. Later changes stay; if one of them conflicts with the undo, " +
			"nothing is undone (T110). An undo can be undone unless it restored files. " +
			"An agent can undo only operations of agents, and no decisions.",
		example:  "leslie undo op-a1b2c3d4",
		operands: []operand{{value: anID("OP", otherIDs), optional: true}}, run: runUndo,
	}
}

func runUndo(c *call) (Data, error) {
	in := app.UndoRequest{Operation: c.operand(0)}
	return runUseCase(c, app.Undo, in, func(d *app.UndoResult) Data { return undoText{d} })
}
