package main

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/store"
	"leslie/thread"
)

// operationData is one operation as history and observe answer it.
type operationData struct {
	Seq         thread.Revision    `json:"seq"`
	OperationID thread.OperationID `json:"operationId"`
	Time        time.Time          `json:"time"`
	As          thread.ActorKind   `json:"as"`
	Actor       string             `json:"actor"`
	Command     string             `json:"command"`
	ThreadID    *thread.ThreadID   `json:"threadId"`
	Params      json.RawMessage    `json:"params,omitempty"`
}

func operationOf(op thread.Operation) operationData {
	return operationData{
		Seq: op.Seq, OperationID: op.ID, Time: op.Time, As: op.As, Actor: op.Actor, Command: op.Command,
		ThreadID: orNull(op.ThreadID), Params: op.Params,
	}
}

// Text is the operation as one line of a stream.
func (d operationData) Text(p *page) {
	about := "-"
	if d.ThreadID != nil {
		about = string(*d.ThreadID)
	}
	p.line("%d  %s  %s  %s %s  %s  %s", int64(d.Seq), d.Time.Format(time.RFC3339), string(d.OperationID), string(d.As), d.Actor, d.Command, about)
}

type historyData struct{ items[operationData] }

func (d *historyData) Text(p *page) {
	var rows [][]string
	for _, op := range d.Items {
		id := ""
		if op.ThreadID != nil {
			id = string(*op.ThreadID)
		}
		rows = append(rows, []string{strconv.FormatInt(int64(op.Seq), 10), string(op.OperationID), op.Time.Format(time.RFC3339), string(op.As), op.Actor, op.Command, id})
	}
	p.table("SEQ OPERATION TIME AS ACTOR COMMAND THREAD", rows)
	p.rest(len(d.Items), d.Total)
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
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	q := store.HistoryQuery{Limit: c.count("limit", defaultLimit), Since: thread.Revision(c.count("since", 0))}
	if c.has("before") {
		q.Before = max(thread.Revision(c.count("before", 0)), 1) // nothing comes before the first
	}
	// The environment's thread is whom the call speaks for, not a filter.
	if arg := c.text("thread"); arg != "" {
		_, err := c.view(func(s *thread.State) error {
			t, err := s.Thread(arg)
			q.Thread = t.ID
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	h, err := st.History(c.ctx, q)
	if err != nil {
		return nil, err
	}
	c.warnings.Add(h.Warnings...)
	c.revision = &h.Revision
	d := &historyData{items[operationData]{Items: []operationData{}, Total: h.Total, Truncated: len(h.Operations) < h.Total}}
	for _, op := range h.Operations {
		d.Items = append(d.Items, operationOf(op))
	}
	return d, nil
}
