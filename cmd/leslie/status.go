package main

import (
	"strconv"
	"time"

	"leslie/internal/app"
	"leslie/internal/screen"
	"leslie/thread"
)

type summaryText struct {
	*app.SummaryResult
	agent bool // the caller is an agent, for whom most of it does not wait
}

func (d summaryText) Text(p *page) {
	p.field("root", d.Root)
	p.field("revision", int64(d.Revision))
	p.field("objectives", strconv.Itoa(d.Objectives[thread.ObjectiveActive])+" active, "+strconv.Itoa(d.Objectives[thread.ObjectiveCompleted])+" completed")
	p.wrapped("threads: " + countsText(d.Threads))
	p.field("references", d.References)
	if len(d.Pending) > 0 {
		p.line("pending: %s of a process that died; the next writing command carries them out", many(len(d.Pending), "file change"))
	}
	waitingText(p, d.SummaryResult, d.agent)
}

// waitingText lists what waits for somebody.
func waitingText(p *page, d *app.SummaryResult, agent bool) {
	if len(d.Waiting) == 0 {
		return
	}
	if agent {
		p.line("waiting:")
	} else {
		p.line("waiting for you:")
	}
	tableOf(p, d.Waiting, []column[app.WaitingItem]{
		{cell: func(w app.WaitingItem) screen.Cell { return screen.Waiting("  " + string(w.Kind)) }},
		{cell: text(func(w app.WaitingItem) string { return w.ID })},
		{Column: screen.Column{Shrinks: true}, cell: text(waitingWords), most: 60},
		{Column: screen.Column{Below: true}, cell: text(func(w app.WaitingItem) string { return w.Next })},
	})
	for _, kind := range app.WaitingKinds() {
		if more := d.WaitingMore[kind]; more > 0 {
			p.line("  %s  %d more", string(kind), more)
		}
	}
}

type statusText struct{ *app.ThreadStatusResult }

func (d statusText) Text(p *page) {
	threadText(p, d.ThreadRecord)
	if d.Mistakes != nil {
		p.line("suspended by the mistake limit: %d failed commands in a row by %s, last %s; a person has to resume it", d.Mistakes.Count, d.Mistakes.Actor, d.Mistakes.LastCode)
	}
	if d.Wakeable {
		p.line("wakeable: every child is terminated; leslie resume %s continues it", d.ThreadID)
	}
	if d.Claim != nil {
		p.line("claimed by %s until %s", d.Claim.Holder, d.Claim.Until.Format(time.RFC3339))
	}
	if d.Run != nil {
		p.field("run", d.Run.Agent+", "+runEnding(*d.Run)+behind(", ", totalsText(d.Runs)))
	}
	for _, a := range d.Approvals {
		approvalText(p, a)
	}
	for _, i := range d.Injections {
		injectionText(p, i)
	}
	for _, ck := range d.Checkpoints {
		why := ""
		if ck.Automatic {
			why = ", before a rollback"
		}
		p.line("checkpoint %s  %s  %s%s", ck.CheckpointID, ck.CreatedAt.Format(time.RFC3339), many(ck.Files, "file"), why)
		p.field("  name", ck.Name)
	}
	p.field("children", joined(d.Relations.Children))
	p.field("depended on by", joined(d.Relations.DependedOnBy))
	for _, ref := range d.References {
		state := ""
		if !ref.TargetResolved {
			state = ", unresolved"
		} else if len(ref.Stale) > 0 {
			state = ", changed since: " + joined(ref.Stale)
		}
		p.line("reference %s -> %s  %s, %s%s", ref.RefID, ref.Target, ref.Binding, many(ref.Files, "file"), state)
	}
	for _, ref := range d.ReferencedBy {
		p.line("referenced by %s  %s, %s", ref.From, ref.RefID, ref.Binding)
	}
	for _, m := range d.Merges {
		p.line("merge %s of %s into %s %s", m.MergeID, joined(m.Sources), m.Target, pendingText(m))
	}
	p.field("artifacts", d.Artifacts.Total)
	for _, a := range d.Artifacts.Items {
		size := ""
		if a.Size != nil {
			size = "  " + many(int(*a.Size), "byte")
		}
		p.line("  %s%s", a.Path, size)
	}
	if d.Artifacts.Truncated {
		p.line("  (%d of %d shown; leslie artifacts %s --limit 0 shows all)", len(d.Artifacts.Items), d.Artifacts.Total, d.ThreadID)
	}
}

func statusCommand() *command {
	return &command{
		name: "status", summary: "show a thread, or without an id a summary of the store and what waits for you",
		hint:     hint{watching, "status ID"},
		example:  "leslie status thread-a1b2c3d4",
		operands: []operand{{value: anID("ID", threadIDs), optional: true}}, namesThread: true, run: runStatus,
	}
}

func runStatus(c *call) (Data, error) {
	if id := c.operand(0); id != "" {
		return runUseCase(c, app.ThreadStatus, app.ThreadStatusRequest{Thread: id}, func(d *app.ThreadStatusResult) Data { return statusText{d} })
	}
	return runUseCase(c, app.Summary, app.SummaryRequest{}, func(d *app.SummaryResult) Data { return summaryText{d, c.who.as == thread.Agent} })
}
