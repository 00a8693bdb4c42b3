package main

import (
	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
	"leslie/thread"
)

// This file lists grants: open requests and decided ones, and what has changed in a
// thread since its request.

// approvalsText has what waits for a person.
type approvalsText struct {
	*app.ListApprovalsResult
	all bool
}

func (d approvalsText) Text(p *page) {
	if p.width > 0 {
		d.table(p)
	} else {
		for _, a := range d.Items.Items {
			approvalText(p, a)
		}
	}
	p.rest(len(d.Items.Items), d.Total)
	for _, t := range d.Suspended {
		p.line("thread %s  suspended by the mistake limit: %d failed commands in a row by %s, last %s", t.ThreadID, t.Count, t.Actor, t.LastCode)
	}
	switch {
	case len(d.Items.Items)+len(d.Suspended) > 0:
	case d.all:
		p.line("no approvals yet")
	default:
		p.line("no open requests")
	}
}

// table is the list for a person at a terminal.
func (d approvalsText) table(p *page) {
	deadline := func(a app.ApprovalRecord) screen.Cell {
		cell := p.when(a.Deadline)
		if a.Deadline != nil && a.Status == thread.GrantOpen {
			cell.Text += ", then " + string(*a.Fallback)
		}
		return cell
	}
	status := func(a app.ApprovalRecord) screen.Cell {
		if !d.all {
			return screen.Cell{}
		}
		return screen.Grant(a.Status)
	}
	tableOf(p, d.Items.Items, []column[app.ApprovalRecord]{
		{Column: screen.Column{Name: "APPROVAL"}, cell: text(func(a app.ApprovalRecord) thread.ApprovalID { return a.ApprovalID })},
		{Column: screen.Column{Name: "THREAD"}, cell: text(func(a app.ApprovalRecord) thread.ThreadID { return a.ThreadID })},
		{Column: screen.Column{Name: "STATUS"}, cell: status, used: true},
		{Column: screen.Column{Name: "SCOPE", Shrinks: true}, cell: text(func(a app.ApprovalRecord) string { return joined(a.Scope) })},
		{Column: screen.Column{Name: "MERGE", Goes: 1}, cell: text(func(a app.ApprovalRecord) thread.MergeID { return orZero(a.MergeID) }), used: true},
		{Column: screen.Column{Name: "ASKED", Goes: 2}, cell: func(a app.ApprovalRecord) screen.Cell { return p.when(&a.CreatedAt) }},
		{Column: screen.Column{Name: "DEADLINE", Goes: 4}, cell: deadline, used: true},
		{Column: screen.Column{Name: "UNTIL", Goes: 3}, cell: func(a app.ApprovalRecord) screen.Cell { return p.when(a.Until) }, used: true},
		{Column: screen.Column{Name: "REASON", Shrinks: true}, cell: text(func(a app.ApprovalRecord) string { return a.Reason }), used: true},
	})
}

func approvalsCommand() *command {
	return &command{
		name: "approvals", summary: "list the requests that wait for a person's decision",
		hint:    hint{asking, "approvals"},
		detail:  "--all includes decided requests, delegations and requests of archived threads. If there are more than --limit, the newest are shown.",
		example: "leslie approvals",
		flags: []cli.Flag{
			toggle("all", "include decided requests and delegations"),
			limitFlag(), timeFlag(),
		},
		run: runApprovals,
	}
}

func runApprovals(c *call) (Data, error) {
	in := app.ListApprovalsRequest{All: c.on("all"), Limit: c.count("limit", app.DefaultLimit)}
	return runUseCase(c, app.ListApprovals, in, func(d *app.ListApprovalsResult) Data { return approvalsText{d, in.All} })
}
