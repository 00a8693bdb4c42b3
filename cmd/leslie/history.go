package main

import (
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
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

type historyText struct{ *app.HistoryResult }

func (d historyText) Text(p *page) {
	var rows [][]string
	for _, op := range d.Items.Items {
		id := ""
		if op.ThreadID != nil {
			id = string(*op.ThreadID)
		}
		rows = append(rows, []string{strconv.FormatInt(int64(op.Seq), 10), string(op.OperationID), op.Time.Format(time.RFC3339), string(op.As), op.Actor, op.Command, id})
	}
	p.table("SEQ OPERATION TIME AS ACTOR COMMAND THREAD", rows)
	p.rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.line("no operations")
	}
}

func historyCommand() *command {
	return &command{
		name: "history", summary: "list operations, newest first",
		detail:  "Here --thread is a filter: only operations on that thread. To get the next page, pass the last seq of this page as --before.",
		example: "leslie history --limit 10",
		flags: []cli.Flag{
			limitFlag(),
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
	return runUseCase(c, app.History, in, func(d *app.HistoryResult) Data { return historyText{d} })
}
