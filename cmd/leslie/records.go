package main

import (
	"time"

	"leslie/internal/app"
)

// This file is the text form of records that several commands show.

func threadText(p *page, d app.ThreadRecord) {
	p.line("thread %s  %s", d.ThreadID, d.Status)
	p.field("title", d.Title)
	if firstLine(d.Intent) != d.Title {
		p.lines("intent", cut(d.Intent, 2000))
	}
	p.field("reason", d.Reason)
	p.field("executor", string(d.Executor))
	p.field("objective", string(d.ObjectiveID))
	if d.ParentID != nil {
		p.field("parent", string(*d.ParentID)+" (inherits: "+string(d.Inherit)+")")
	}
	p.field("tags", joined(d.Tags))
	p.field("depends on", joined(d.DependsOn))
	p.field("branch", d.Branch)
	p.field("worktree", d.Worktree)
	if d.Code != nil {
		from := d.Code.Start
		if d.Code.Target != nil {
			from = *d.Code.Target
		}
		p.field("code", string(d.Code.State)+", from "+from)
	}
	acceptanceText(p, d.Code)
	p.field("path", p.place(d.Path))
	p.field("created", d.CreatedAt.Format(time.RFC3339)+" by "+d.CreatedBy.Actor+" ("+string(d.CreatedBy.As)+")")
	p.field("updated", d.UpdatedAt.Format(time.RFC3339))
	p.field("revision", int64(d.Revision))
}

// acceptanceText renders the checks that a thread's code has to pass.
func acceptanceText(p *page, code *app.CodeRecord) {
	if code == nil {
		return
	}
	p.field("accept", joined(code.Accept))
	for _, e := range code.Evidence {
		of := "what changed meanwhile"
		if e.Tree != "" {
			of = "tree " + cut(e.Tree, 13)
		}
		p.line("check %s  succeeded with %s, %s", e.Check, of, p.at(e.At))
	}
}

// approvalText renders a grant.
func approvalText(p *page, d app.ApprovalRecord) {
	p.line("approval %s  %s  %s  %s  %s", d.ApprovalID, d.ThreadID, d.Kind, d.Status, joined(d.Scope))
	approvalFacts(p, d)
	if d.DecidedBy != nil {
		p.line("  decided: by %s (%s), %s", d.DecidedBy.Actor, d.DecidedBy.As, p.at(*d.DecidedAt))
	}
	p.field("  verdict", d.Verdict)
}

// approvalFacts renders the details of a grant.
func approvalFacts(p *page, d app.ApprovalRecord) {
	p.field("  reason", d.Reason)
	if d.Deadline != nil {
		late := ""
		if d.Late {
			late = " (passed)"
		}
		p.line("  deadline: %s%s, then %s", p.at(*d.Deadline), late, *d.Fallback)
	}
	if d.Until != nil {
		p.field("  until", p.at(*d.Until))
	}
	p.field("  merge", d.MergeID)
}

// injectionText renders an injection; it has its content until it was seen.
func injectionText(p *page, d app.InjectionRecord) {
	seen := "not seen yet"
	if d.SeenAt != nil {
		seen = "seen"
	}
	p.line("injection %s  %s, %s, %s", d.InjectionID, d.Type, d.Urgency, seen)
	p.field("  content", cut(d.Content, maxTitle))
}
