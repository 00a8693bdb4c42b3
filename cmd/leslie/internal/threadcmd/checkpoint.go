package threadcmd

import (
	"strconv"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/threads"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/thread"
)

type checkpointText struct{ *artifacts.CheckpointResult }

func (d checkpointText) Text(p *page.Page) {
	p.Line("checkpoint %s of %s  %s", d.CheckpointID, d.ThreadID, fact.Plural(d.Files, "file"))
	p.Field("name", d.Name)
}

// Checkpoint is the command leslie checkpoint.
func Checkpoint() *cli.Command {
	return &cli.Command{
		Name: "checkpoint", Summary: "save a thread's artifacts so that rollback can restore them", Writes: true,
		Detail: "leslie rollback restores a checkpoint, leslie diff ID@CHECKPOINT compares it with the current " +
			"files.",
		Example:  `leslie checkpoint write-docs --name "before the rewrite"`,
		Operands: []cli.Operand{cli.ThreadOperand()},
		Flags: []cli.Flag{cli.NewFlag("name", cli.Text("N"),
			"a name, unique in this thread, at most 200 characters")},
		Run: runCheckpoint,
	}
}

func runCheckpoint(c *cli.Call) (cli.Data, error) {
	in := artifacts.CheckpointRequest{Thread: c.TargetThread(), Name: c.Text("name")}
	c.CheckRequest(in.Faults, nil)
	data, err := cli.RunUseCase(c, threads.Checkpoint, in,
		func(d *artifacts.CheckpointResult) cli.Data { return checkpointText{d} })
	return data, c.MeantSubcommand(err, "checkpoint", in.Thread)
}

type checkpointListText struct {
	*artifacts.ListCheckpointsResult
}

func (d checkpointListText) Text(p *page.Page) {
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
	page.TableOf(p, d.Items.Items, []page.Column[app.CheckpointItem]{
		{Column: screen.Column{Name: "CHECKPOINT"},
			Cell: page.Text(func(ck app.CheckpointItem) thread.CheckpointID { return ck.CheckpointID })},
		{Column: screen.Column{Name: "CREATED", DropOrder: 2},
			Cell: func(ck app.CheckpointItem) screen.Cell { return p.When(&ck.CreatedAt) }},
		{Column: screen.Column{Name: "BY", DropOrder: 1, Shrinks: true},
			Cell: page.Text(func(ck app.CheckpointItem) string { return ck.CreatedBy.Actor })},
		{Column: screen.Column{Name: "FILES"},
			Cell: page.Text(func(ck app.CheckpointItem) string { return strconv.Itoa(ck.Files) })},
		{Column: screen.Column{Name: "NAME", Shrinks: true}, Cell: page.Text(name), MaxChars: 60},
		{Column: screen.Column{Name: "TURN"}, Cell: page.Text(turn), HideIfEmpty: true},
		{Column: screen.Column{Name: "CODE"},
			Cell: page.Text(func(ck app.CheckpointItem) string { return ck.Work[:min(12, len(ck.Work))] }), HideIfEmpty: true},
	})
	p.Rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.Line("%s has no checkpoints", d.ThreadID)
	}
}

// CheckpointList is the command leslie checkpoint list.
func CheckpointList() *cli.Command {
	return &cli.Command{
		Name: "checkpoint list", Summary: "list a thread's checkpoints, newest first",
		Example:  "leslie checkpoint list write-docs",
		Operands: []cli.Operand{cli.ThreadOperand()},
		Flags: []cli.Flag{cli.Toggle("kept", "those that leslie run keeps at the end of turns"), cli.LimitFlag(),
			cli.TimeFlag()}, Run: runCheckpointList,
	}
}

func runCheckpointList(c *cli.Call) (cli.Data, error) {
	in := artifacts.ListCheckpointsRequest{Thread: c.TargetThread(), Limit: c.Count("limit", app.DefaultLimit),
		Turns: c.On("kept")}
	return cli.RunUseCase(c, artifacts.ListCheckpoints, in,
		func(d *artifacts.ListCheckpointsResult) cli.Data { return checkpointListText{d} })
}
