package main

import (
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
	"leslie/thread"
)

type operationText struct{ app.OperationRecord }

// Text is the operation as one line of a stream.
func (d operationText) Text(p *page) {
	about := "-"
	if d.ThreadID != nil {
		about = string(*d.ThreadID)
	}
	p.line("%d  %s  %s  %s %s  %s  %s", int64(d.Seq), d.Time.Format(time.RFC3339), string(d.OperationID), string(d.As), d.Actor, d.Command, about)
}

type historyText struct {
	*app.HistoryResult
	// marked: a person at a terminal reads it, and is told what is undone.
	marked bool
}

func (d historyText) Text(p *page) {
	tableOf(p, d.Items.Items, []column[app.OperationRecord]{
		{Column: screen.Column{Name: "SEQ"}, cell: text(func(op app.OperationRecord) string { return strconv.FormatInt(int64(op.Seq), 10) })},
		{Column: screen.Column{Name: "OPERATION"}, cell: text(func(op app.OperationRecord) thread.OperationID { return op.OperationID })},
		{Column: screen.Column{Name: "TIME"}, cell: func(op app.OperationRecord) screen.Cell { return p.when(&op.Time) }},
		{Column: screen.Column{Name: "AS", Goes: 1}, cell: text(func(op app.OperationRecord) thread.ActorKind { return op.As })},
		{Column: screen.Column{Name: "ACTOR", Goes: 2, Shrinks: true}, cell: text(func(op app.OperationRecord) string { return op.Actor })},
		{Column: screen.Column{Name: "COMMAND"}, cell: d.command},
		{Column: screen.Column{Name: "THREAD", Shrinks: true}, cell: text(func(op app.OperationRecord) thread.ThreadID { return orZero(op.ThreadID) })},
	})
	p.rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.line("no operations")
	}
	if d.marked && d.Undo != "" {
		p.line("leslie undo takes back %s", d.Undo)
	}
	if d.marked && d.Redo != "" {
		p.line("leslie redo brings back %s", d.Redo)
	}
}

// command is an operation's command. A person is told what it did to others; an operation
// that is undone stands back.
func (d historyText) command(op app.OperationRecord) screen.Cell {
	switch {
	case !d.marked:
	case op.UndoneBy != "":
		return screen.Faint(op.Command + " (undone)")
	case op.Redoes != "":
		return screen.Text(op.Command + " " + string(op.Redoes))
	case op.Undoes != "":
		return screen.Text(op.Command + " " + string(op.Undoes))
	}
	return screen.Text(op.Command)
}

func historyCommand() *command {
	return &command{
		name: "history", summary: "list operations, newest first",
		detail:  "Here --thread is a filter: only operations on that thread. To get the next page, pass the last seq of this page as --before.",
		example: "leslie history --limit 10",
		flags: []cli.Flag{
			limitFlag(), timeFlag(),
			newOption("since", aCount("REV"), "only operations after this revision"),
			newOption("before", aCount("REV"), "only operations before this revision"),
		},
		run: runHistory,
	}
}

func runHistory(c *call) (Data, error) {
	in := app.HistoryRequest{
		Thread: c.text("thread"), // LESLIE_THREAD is not a filter
		Since:  thread.Revision(c.count("since", 0)), Before: c.revisionOf("before"), Limit: c.count("limit", app.DefaultLimit),
	}
	return runUseCase(c, app.History, in, func(d *app.HistoryResult) Data { return historyText{d, personReads(c, c.env.stdoutTTY)} })
}
