package main

import (
	"github.com/urfave/cli/v2"

	"leslie/internal/app"
)

// This file lists grants: open requests and decided ones, and what has changed in a
// thread since its request.

// approvalsText has what waits for a person.
type approvalsText struct {
	*app.ListApprovalsResult
	all bool
}

func (d approvalsText) Text(p *page) {
	for _, a := range d.Items.Items {
		approvalText(p, a)
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

func approvalsCommand() *command {
	return &command{
		name: "approvals", summary: "list the requests that wait for a person's decision",
		hint:    hint{asking, "approvals"},
		detail:  "--all includes decided requests, delegations and requests of archived threads. If there are more than --limit, the newest are shown.",
		example: "leslie approvals",
		flags: []cli.Flag{
			toggle("all", "include decided requests and delegations"),
			limitFlag(),
		},
		run: runApprovals,
	}
}

func runApprovals(c *call) (Data, error) {
	in := app.ListApprovalsRequest{All: c.on("all"), Limit: c.count("limit", app.DefaultLimit)}
	return runUseCase(c, app.ListApprovals, in, func(d *app.ListApprovalsResult) Data { return approvalsText{d, in.All} })
}
