package threadcmd

import (
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/internal/screen"
	"leslie/thread"
)

// objectiveText is one objective.
type objectiveText struct{ app.ObjectiveRecord }

func (d objectiveText) Text(p *page.Page) {
	p.Line("objective %s  %s", d.ObjectiveID, d.Status)
	p.Field("title", d.Title)
	p.Field("created", d.CreatedAt.Format(time.RFC3339))
	switch {
	case d.Status == thread.ObjectiveCancelled:
		p.Field("cancelled", d.DoneAt.Format(time.RFC3339))
		p.Field("reason", d.Reason)
	case d.DoneAt != nil:
		p.Field("done", d.DoneAt.Format(time.RFC3339))
	}
	p.Field("threads", page.CountsText(d.Threads))
	if d.Runs != nil {
		p.Field("runs", page.TotalsText(d.Runs))
	}
}

type objectiveWrittenText struct{ *threads.ObjectiveResult }

func (d objectiveWrittenText) Text(p *page.Page) { objectiveText{d.ObjectiveRecord}.Text(p) }

func objectiveWritten(d *threads.ObjectiveResult) cli.Data { return objectiveWrittenText{d} }

type objectiveCreatedText struct{ *threads.ObjectiveResult }

func (d objectiveCreatedText) Text(p *page.Page) {
	objectiveText{d.ObjectiveRecord}.Text(p)
	p.Line("next: leslie spawn --objective %s TEXT  (--code gives it a branch and a worktree)", d.ObjectiveID)
}

// ObjectiveCreate is the command leslie objective create.
func ObjectiveCreate() *cli.Command {
	return &cli.Command{
		Name: "objective create", Summary: "create an objective: a goal that threads work for", Writes: true,
		Example:  `leslie objective create "Ship the parser"`,
		Operands: []cli.Operand{{Value: cli.Text("TITLE")}},
		Flags: []cli.Flag{cli.NewFlag("id", cli.ID("ID", cli.OtherIDs), "use this id instead of one from the title"),
			cli.FormerOperand("title")},
		Run: runObjectiveCreate,
	}
}

func runObjectiveCreate(c *cli.Call) (cli.Data, error) {
	in := threads.CreateObjectiveRequest{Title: c.Operand(0), ID: c.Text("id")}
	c.CheckRequest(in.Faults, map[string]string{"Title": "TITLE"})
	return cli.RunUseCase(c, threads.CreateObjective, in,
		func(d *threads.ObjectiveResult) cli.Data { return objectiveCreatedText{d} })
}

type objectiveListText struct{ *threads.ListObjectivesResult }

func (d objectiveListText) Text(p *page.Page) {
	page.TableOf(p, d.Items.Items, []page.Column[app.ObjectiveRecord]{
		{Column: screen.Column{Name: "OBJECTIVE"},
			Cell: page.Text(func(o app.ObjectiveRecord) thread.ObjectiveID { return o.ObjectiveID })},
		{Column: screen.Column{Name: "STATUS"},
			Cell: func(o app.ObjectiveRecord) screen.Cell { return screen.ObjectiveCell(o.Status) }},
		{Column: screen.Column{Name: "THREADS", DropOrder: 1, Shrinks: true},
			Cell: page.Text(func(o app.ObjectiveRecord) string { return page.CountsText(o.Threads) })},
		{Column: screen.Column{Name: "TITLE", Shrinks: true},
			Cell: page.Text(func(o app.ObjectiveRecord) string { return o.Title })},
	})
	p.Rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.Line("no objectives yet; create one with: leslie objective create TITLE")
	}
}

// ObjectiveList is the command leslie objective list.
func ObjectiveList() *cli.Command {
	return &cli.Command{
		Name: "objective list", Summary: "list the objectives", Example: "leslie objective list",
		Flags: []cli.Flag{cli.LimitFlag()}, Run: runObjectiveList,
	}
}

func runObjectiveList(c *cli.Call) (cli.Data, error) {
	in := threads.ListObjectivesRequest{Limit: c.Count("limit", app.DefaultLimit)}
	return cli.RunUseCase(c, threads.ListObjectives, in,
		func(d *threads.ListObjectivesResult) cli.Data { return objectiveListText{d} })
}

// ObjectiveStatus is the command leslie objective status.
func ObjectiveStatus() *cli.Command {
	return &cli.Command{
		Name: "objective status", Summary: "show one objective", Example: "leslie objective status ship",
		Operands: []cli.Operand{{Value: cli.ID("ID", cli.ObjectiveIDs), Meant: true}},
		Flags:    []cli.Flag{cli.FormerOperand("id")}, Run: runObjectiveStatus,
	}
}

func runObjectiveStatus(c *cli.Call) (cli.Data, error) {
	in := threads.ObjectiveRequest{Objective: c.MeantRecord(cli.ObjectiveIDs)}
	return cli.RunUseCase(c, threads.ShowObjective, in,
		func(d *app.ObjectiveRecord) cli.Data { return objectiveText{*d} })
}

// ObjectiveDone is the command leslie objective done.
func ObjectiveDone() *cli.Command {
	return &cli.Command{
		Name: "objective done", Summary: "mark an objective done", Writes: true,
		Detail:   "All its threads must be completed, cancelled or archived.",
		Example:  "leslie objective done ship",
		Operands: []cli.Operand{{Value: cli.ID("ID", cli.ObjectiveIDs), Meant: true}}, Run: runObjectiveDone,
	}
}

func runObjectiveDone(c *cli.Call) (cli.Data, error) {
	return cli.RunUseCase(c, threads.FinishObjective,
		threads.ObjectiveRequest{Objective: c.MeantRecord(cli.ObjectiveIDs)}, objectiveWritten)
}

type objectiveCancelledText struct {
	*threads.CancelObjectiveResult
}

func (d objectiveCancelledText) Text(p *page.Page) {
	objectiveText{d.ObjectiveRecord}.Text(p)
	p.Field("cancelled with it", app.Joined(d.Ended))
	for _, id := range d.Code {
		p.Field("its worktree stays", string(id)+" (leslie drop "+string(id)+")")
	}
}

// ObjectiveCancel is the command leslie objective cancel.
func ObjectiveCancel() *cli.Command {
	return &cli.Command{
		Name: "objective cancel", Summary: "give an objective up, with its threads", Writes: true,
		Detail:   "Cancels its threads that go on. Their worktrees stay; leslie drop removes them. undo takes all of it back.",
		Example:  "leslie objective cancel ship --reason \"not needed any more\"",
		Operands: []cli.Operand{{Value: cli.ID("ID", cli.ObjectiveIDs), Meant: true}},
		Flags:    []cli.Flag{cli.ReasonFlag()}, Run: runObjectiveCancel,
	}
}

func runObjectiveCancel(c *cli.Call) (cli.Data, error) {
	in := threads.CancelObjectiveRequest{Objective: c.MeantRecord(cli.ObjectiveIDs), Reason: c.Text("reason")}
	return cli.RunUseCase(c, threads.CancelObjective, in,
		func(d *threads.CancelObjectiveResult) cli.Data { return objectiveCancelledText{d} })
}
