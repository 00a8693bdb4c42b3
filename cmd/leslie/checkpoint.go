package main

import (
	"strconv"
	"time"

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
		detail:   "leslie rollback restores a checkpoint, leslie diff ID@CHECKPOINT compares it with the current files.",
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

type checkpointListText struct{ *app.ListCheckpointsResult }

func (d checkpointListText) Text(p *page) {
	var rows [][]string
	for _, ck := range d.Items.Items {
		name := ""
		switch {
		case ck.Name != nil:
			name = *ck.Name
		case ck.Automatic:
			name = "(before a rollback)"
		}
		rows = append(rows, []string{string(ck.CheckpointID), ck.CreatedAt.Format(time.RFC3339), ck.CreatedBy.Actor, strconv.Itoa(ck.Files), cut(name, 60)})
	}
	p.table("CHECKPOINT CREATED BY FILES NAME", rows)
	p.rest(len(rows), d.Total)
	if d.Total == 0 {
		p.line("%s has no checkpoints", d.ThreadID)
	}
}

func checkpointListCommand() *command {
	return &command{
		name: "checkpoint list", summary: "list a thread's checkpoints, newest first",
		example:  "leslie checkpoint list thread-a1b2c3d4",
		operands: []operand{threadOperand()}, flags: []cli.Flag{limitFlag()}, run: runCheckpointList,
	}
}

func runCheckpointList(c *call) (Data, error) {
	in := app.ListCheckpointsRequest{Thread: c.targetThread(), Limit: c.count("limit", app.DefaultLimit)}
	return runUseCase(c, app.ListCheckpoints, in, func(d *app.ListCheckpointsResult) Data { return checkpointListText{d} })
}
