package decidecmd

import (
	"fmt"
	"slices"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/decisions"
	"leslie/internal/screen"
	"leslie/thread"
)

// This file lists grants: open requests and decided ones, and what has changed in a
// thread since its request.

// approvalsText has what waits for a person.
type approvalsText struct {
	*decisions.ListApprovalsResult
	all bool
}

func (d approvalsText) Text(p *page.Page) {
	if p.Width > 0 {
		d.table(p)
	} else {
		for _, a := range d.Items.Items {
			page.ApprovalText(p, a)
		}
	}
	p.Rest(len(d.Items.Items), d.Total)
	for _, t := range d.Suspended {
		p.Line("thread %s  suspended by the mistake limit: %d failed commands in a row by %s, last %s", t.ThreadID,
			t.Count, t.Actor, t.LastCode)
	}
	if open := slices.IndexFunc(d.Items.Items, func(a app.ApprovalRecord) bool { return a.Status == thread.GrantOpen }); open >= 0 {
		id := d.Items.Items[open].ApprovalID
		p.Wrapped(fmt.Sprintf("a person decides: leslie approve %s, or leslie deny %s", id, id))
	}
	switch {
	case len(d.Items.Items)+len(d.Suspended) > 0:
	case d.all:
		p.Line("no approvals yet")
	default:
		p.Line("no open requests")
	}
}

// table is the list for a person at a terminal.
func (d approvalsText) table(p *page.Page) {
	deadline := func(a app.ApprovalRecord) screen.Cell {
		cell := p.When(a.Deadline)
		if a.Deadline != nil && a.Status == thread.GrantOpen {
			cell.Text += ", then " + string(*a.Fallback)
		}
		return cell
	}
	status := func(a app.ApprovalRecord) screen.Cell {
		if !d.all {
			return screen.Cell{}
		}
		return screen.GrantCell(a.Status)
	}
	page.TableOf(p, d.Items.Items, []page.Column[app.ApprovalRecord]{
		{Column: screen.Column{Name: "APPROVAL"},
			Cell: page.Text(func(a app.ApprovalRecord) thread.ApprovalID { return a.ApprovalID })},
		{Column: screen.Column{Name: "THREAD"},
			Cell: page.Text(func(a app.ApprovalRecord) thread.ThreadID { return a.ThreadID })},
		{Column: screen.Column{Name: "STATUS"}, Cell: status, HideIfEmpty: true},
		{Column: screen.Column{Name: "SCOPE", Shrinks: true},
			Cell: page.Text(func(a app.ApprovalRecord) string { return app.Joined(a.Scope) })},
		{Column: screen.Column{Name: "MERGE", DropOrder: 1},
			Cell: page.Text(func(a app.ApprovalRecord) thread.MergeID { return app.OrZero(a.MergeID) }), HideIfEmpty: true},
		{Column: screen.Column{Name: "ASKED", DropOrder: 2},
			Cell: func(a app.ApprovalRecord) screen.Cell { return p.When(&a.CreatedAt) }},
		{Column: screen.Column{Name: "DEADLINE", DropOrder: 4}, Cell: deadline, HideIfEmpty: true},
		{Column: screen.Column{Name: "UNTIL", DropOrder: 3},
			Cell: func(a app.ApprovalRecord) screen.Cell { return p.When(a.Until) }, HideIfEmpty: true},
		{Column: screen.Column{Name: "REASON", Shrinks: true},
			Cell: page.Text(func(a app.ApprovalRecord) string { return a.Reason }), HideIfEmpty: true},
	})
}

// Approvals is the command leslie approvals.
func Approvals() *cli.Command {
	return &cli.Command{
		Name: "approvals", Summary: "list the requests that wait for a person's decision",
		Detail: "--all includes decided requests, delegations and requests of archived threads. If there are more " +
			"than --limit, the newest are shown.",
		Example:  "leslie approvals",
		Operands: []cli.Operand{cli.ListedThreads()},
		Flags: append(cli.RecordFlags("requests"), cli.Toggle("all", "include decided requests and delegations"),
			cli.LimitFlag(), cli.TimeFlag()),
		Run: runApprovals,
	}
}

func runApprovals(c *cli.Call) (cli.Data, error) {
	in := decisions.ListApprovalsRequest{All: c.On("all"), Limit: c.Count("limit", app.DefaultLimit), RecordFilter: c.RecordFilter()}
	return cli.RunUseCase(c, decisions.ListApprovals, in,
		func(d *decisions.ListApprovalsResult) cli.Data { return approvalsText{d, in.All} })
}
