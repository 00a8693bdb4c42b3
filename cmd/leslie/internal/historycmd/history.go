package historycmd

import (
	"cmp"
	"strconv"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/history"
	"leslie/internal/screen"
	"leslie/thread"
)

// OperationText is the text form of an operation.
type OperationText struct{ app.OperationRecord }

// Text is the operation as one line of a stream.
func (d OperationText) Text(p *page.Page) {
	about := "-"
	if d.ThreadID != nil {
		about = string(*d.ThreadID)
	}
	p.Line("%d  %s  %s  %s %s  %s  %s", int64(d.Seq), d.Time.Format(time.RFC3339), string(d.OperationID), string(d.As),
		d.Actor, d.Command, about)
}

type historyText struct{ *history.ListResult }

func (d historyText) Text(p *page.Page) {
	page.TableOf(p, d.Items.Items, []page.Column[app.OperationRecord]{
		{Column: screen.Column{Name: "SEQ"},
			Cell: page.Text(func(op app.OperationRecord) string { return strconv.FormatInt(int64(op.Seq), 10) })},
		{Column: screen.Column{Name: "OPERATION"},
			Cell: page.Text(func(op app.OperationRecord) thread.OperationID { return op.OperationID })},
		{Column: screen.Column{Name: "TIME"},
			Cell: func(op app.OperationRecord) screen.Cell { return p.When(&op.Time) }},
		{Column: screen.Column{Name: "AS", DropOrder: 1},
			Cell: page.Text(func(op app.OperationRecord) thread.ActorKind { return op.As })},
		{Column: screen.Column{Name: "ACTOR", DropOrder: 2, Shrinks: true},
			Cell: page.Text(func(op app.OperationRecord) string { return op.Actor })},
		{Column: screen.Column{Name: "COMMAND"}, Cell: commandOf},
		{Column: screen.Column{Name: "THREAD", Shrinks: true},
			Cell: page.Text(func(op app.OperationRecord) thread.ThreadID { return app.OrZero(op.ThreadID) })},
	})
	p.Rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.Line("no operations")
	}
	for _, one := range d.Code {
		p.Line("code of %s: %s (leslie diff %s)", one.ThreadID, page.ChangesText(&one.CodeAmount), one.ThreadID)
	}
	switch {
	case d.UndoRefused != "":
		p.Line("leslie undo cannot take back %s: %s", d.Undo, d.UndoRefused)
	case d.Undo != "":
		p.Line("leslie undo takes back %s", d.Undo)
	}
	switch {
	case d.RedoRefused != "":
		p.Line("leslie redo cannot bring back %s: %s", d.Redo, d.RedoRefused)
	case d.Redo != "":
		p.Line("leslie redo brings back %s", d.Redo)
	}
}

// commandOf is an operation's command, with what it did to others; an operation that is undone stands
// back.
func commandOf(op app.OperationRecord) screen.Cell {
	did := op.Command
	if op.Landed != nil {
		did += " on " + op.Landed.Branch + " " + op.Landed.Commit[:min(12, len(op.Landed.Commit))]
	}
	switch {
	case op.UndoneBy != "":
		return screen.Faint(did + " (undone)")
	case op.GivenUp && op.Command != "merge abort":
		return screen.Faint(op.Command + " (given up)")
	case op.Merge != "":
		return screen.Text(op.Command + " (began " + string(op.Merge) + ")")
	case op.Redoes != "":
		return screen.Text(op.Command + " " + string(op.Redoes))
	case op.Undoes != "":
		return screen.Text(op.Command + " " + string(op.Undoes))
	}
	return screen.Text(did)
}

// History is the command leslie history.
func History() *cli.Command {
	return &cli.Command{
		Name: "history", Summary: "list operations, newest first",
		Detail: "With ID, or --thread, only operations on that thread. To get the next page, pass the last " +
			"seq of this page as --before.",
		Operands: []cli.Operand{{Value: cli.ID("ID", cli.ThreadIDs), Optional: true}},
		Example:  "leslie history --by w1 --since today",
		Flags: append(cli.ByFlags("only your operations", "only operations of this actor, with the code of their threads"),
			cli.LimitFlag(), cli.TimeFlag(), cli.SinceFlag("operations"),
			cli.NewFlag("before", cli.NonNegative("REV"), "only operations before this revision")),
		Run: runHistory,
	}
}

func runHistory(c *cli.Call) (cli.Data, error) {
	in := history.ListRequest{
		Thread:      cmp.Or(c.Operand(0), c.Text("thread")), // LESLIE_THREAD is not a filter
		ActorFilter: c.ActorFilter(), Before: c.RevisionOf("before"),
		Limit: c.Count("limit", app.DefaultLimit),
	}
	in.Since, in.From = c.ChangedSince()
	c.CheckRequest(in.Faults, nil)
	c.FiltersBy()
	return cli.RunUseCase(c, history.List, in, func(d *history.ListResult) cli.Data { return historyText{d} })
}
