package main

import (
	"github.com/urfave/cli/v2"

	"leslie/internal/app"
)

type checkpointText struct{ *app.CheckpointResult }

func (d checkpointText) Text(p *page) {
	p.line("checkpoint %s of %s  %s", d.CheckpointID, d.ThreadID, many(d.Files, "file"))
	p.field("name", d.Name)
}

func checkpointCommand() *command {
	return &command{
		name: "checkpoint", summary: "save a thread's artifacts so that rollback can restore them", writes: true,
		hint:     hint{goingBack, "checkpoint ID"},
		detail:   "leslie rollback restores a checkpoint. leslie status lists a thread's checkpoints.",
		example:  `leslie checkpoint thread-a1b2c3d4 --name "before the rewrite"`,
		operands: []operand{threadOperand()},
		flags:    []cli.Flag{newOption("name", anyText("N"), "a name, unique in this thread, at most 200 characters")},
		run:      runCheckpoint,
	}
}

func runCheckpoint(c *call) (Data, error) {
	in := app.CheckpointRequest{Thread: c.targetThread(), Name: c.text("name")}
	c.checkRequest(in.Faults, nil)
	return runUseCase(c, app.Checkpoint, in, func(d *app.CheckpointResult) Data { return checkpointText{d} })
}
