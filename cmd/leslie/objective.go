package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
	"leslie/thread"
)

// objectiveText is one objective.
type objectiveText struct{ app.ObjectiveRecord }

func (d objectiveText) Text(p *page) {
	p.line("objective %s  %s", d.ObjectiveID, d.Status)
	p.field("title", d.Title)
	p.field("created", d.CreatedAt.Format(time.RFC3339))
	if d.DoneAt != nil {
		p.field("done", d.DoneAt.Format(time.RFC3339))
	}
	p.field("threads", countsText(d.Threads))
	if d.Runs != nil {
		p.field("runs", totalsText(d.Runs))
	}
}

type objectiveWrittenText struct{ *app.ObjectiveResult }

func (d objectiveWrittenText) Text(p *page) { objectiveText{d.ObjectiveRecord}.Text(p) }

func objectiveWritten(d *app.ObjectiveResult) Data { return objectiveWrittenText{d} }

func objectiveCreateCommand() *command {
	return &command{
		name: "objective create", summary: "create an objective: a goal that threads work for", writes: true,
		hint:     hint{starting, "objective create TITLE"},
		example:  `leslie objective create "Ship the parser"`,
		operands: []operand{{value: anyText("TITLE")}},
		flags:    []cli.Flag{newOption("id", anID("ID", otherIDs), "use this id instead of a random one"), formerOperand("title")},
		run:      runObjectiveCreate,
	}
}

func runObjectiveCreate(c *call) (Data, error) {
	in := app.CreateObjectiveRequest{Title: c.operand(0), ID: c.text("id")}
	c.checkRequest(in.Faults, map[string]string{"Title": "TITLE"})
	return runUseCase(c, app.CreateObjective, in, objectiveWritten)
}

type objectiveListText struct{ *app.ListObjectivesResult }

func (d objectiveListText) Text(p *page) {
	tableOf(p, d.Items.Items, []column[app.ObjectiveRecord]{
		{Column: screen.Column{Name: "OBJECTIVE"}, cell: text(func(o app.ObjectiveRecord) thread.ObjectiveID { return o.ObjectiveID })},
		{Column: screen.Column{Name: "STATUS"}, cell: func(o app.ObjectiveRecord) screen.Cell { return screen.Objective(o.Status) }},
		{Column: screen.Column{Name: "THREADS", Goes: 1, Shrinks: true}, cell: text(func(o app.ObjectiveRecord) string { return countsText(o.Threads) })},
		{Column: screen.Column{Name: "TITLE", Shrinks: true}, cell: text(func(o app.ObjectiveRecord) string { return o.Title })},
	})
	p.rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.line("no objectives yet; create one with: leslie objective create TITLE")
	}
}

func objectiveListCommand() *command {
	return &command{
		name: "objective list", summary: "list the objectives", example: "leslie objective list",
		flags: []cli.Flag{limitFlag()}, run: runObjectiveList,
	}
}

func runObjectiveList(c *call) (Data, error) {
	in := app.ListObjectivesRequest{Limit: c.count("limit", app.DefaultLimit)}
	return runUseCase(c, app.ListObjectives, in, func(d *app.ListObjectivesResult) Data { return objectiveListText{d} })
}

func objectiveStatusCommand() *command {
	return &command{
		name: "objective status", summary: "show one objective", example: "leslie objective status obj-a1b2c3d4",
		operands: []operand{{value: anID("ID", objectiveIDs), meant: true}}, flags: []cli.Flag{formerOperand("id")}, run: runObjectiveStatus,
	}
}

func runObjectiveStatus(c *call) (Data, error) {
	in := app.ObjectiveRequest{Objective: meantRecord(c, objectiveIDs)}
	return runUseCase(c, app.ShowObjective, in, func(d *app.ObjectiveRecord) Data { return objectiveText{*d} })
}

func objectiveDoneCommand() *command {
	return &command{
		name: "objective done", summary: "mark an objective done", writes: true,
		detail:   "All its threads must be completed, cancelled or archived.",
		example:  "leslie objective done obj-a1b2c3d4",
		operands: []operand{{value: anID("ID", objectiveIDs), meant: true}}, run: runObjectiveDone,
	}
}

func runObjectiveDone(c *call) (Data, error) {
	return runUseCase(c, app.FinishObjective, app.ObjectiveRequest{Objective: meantRecord(c, objectiveIDs)}, objectiveWritten)
}
