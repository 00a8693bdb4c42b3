package main

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
	"leslie/thread"
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
	data, err := runUseCase(c, app.Checkpoint, in, func(d *app.CheckpointResult) Data { return checkpointText{d} })
	return data, c.meantSubcommand(err, "checkpoint", in.Thread)
}

type checkpointListText struct{ *app.ListCheckpointsResult }

func (d checkpointListText) Text(p *page) {
	name := func(ck app.CheckpointItem) string {
		switch {
		case ck.Name != nil:
			return *ck.Name
		case ck.Automatic:
			return "(before a rollback)"
		}
		return ""
	}
	turn := func(ck app.CheckpointItem) string {
		if ck.Turn == 0 {
			return ""
		}
		return strconv.Itoa(ck.Turn)
	}
	tableOf(p, d.Items.Items, []column[app.CheckpointItem]{
		{Column: screen.Column{Name: "CHECKPOINT"}, cell: text(func(ck app.CheckpointItem) thread.CheckpointID { return ck.CheckpointID })},
		{Column: screen.Column{Name: "CREATED", Goes: 2}, cell: func(ck app.CheckpointItem) screen.Cell { return p.when(&ck.CreatedAt) }},
		{Column: screen.Column{Name: "BY", Goes: 1, Shrinks: true}, cell: text(func(ck app.CheckpointItem) string { return ck.CreatedBy.Actor })},
		{Column: screen.Column{Name: "FILES"}, cell: text(func(ck app.CheckpointItem) string { return strconv.Itoa(ck.Files) })},
		{Column: screen.Column{Name: "NAME", Shrinks: true}, cell: text(name), most: 60},
		{Column: screen.Column{Name: "TURN"}, cell: text(turn), used: true},
		{Column: screen.Column{Name: "CODE"}, cell: text(func(ck app.CheckpointItem) string { return ck.Work[:min(12, len(ck.Work))] }), used: true},
	})
	p.rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.line("%s has no checkpoints", d.ThreadID)
	}
}

func checkpointListCommand() *command {
	return &command{
		name: "checkpoint list", summary: "list a thread's checkpoints, newest first",
		example:  "leslie checkpoint list thread-a1b2c3d4",
		operands: []operand{threadOperand()}, flags: []cli.Flag{toggle("kept", "those that leslie run keeps at the end of turns"), limitFlag(), timeFlag()}, run: runCheckpointList,
	}
}

func runCheckpointList(c *call) (Data, error) {
	in := app.ListCheckpointsRequest{Thread: c.targetThread(), Limit: c.count("limit", app.DefaultLimit), Turns: c.on("kept")}
	return runUseCase(c, app.ListCheckpoints, in, func(d *app.ListCheckpointsResult) Data { return checkpointListText{d} })
}
