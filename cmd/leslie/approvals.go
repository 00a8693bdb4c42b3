package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file shows grants: what waits for a person, what was decided, and what of
// a thread has changed since it asked.

// approvalData is a grant as every command answers it.
type approvalData struct {
	ApprovalID thread.ApprovalID  `json:"approvalId"`
	ThreadID   thread.ThreadID    `json:"threadId"`
	Kind       thread.GrantKind   `json:"kind"`
	Scope      []string           `json:"scope"`
	Reason     string             `json:"reason"`
	Status     thread.GrantStatus `json:"status"`
	Deadline   *time.Time         `json:"deadline"`
	Late       bool               `json:"late"` // the deadline has passed; a person may still decide
	Fallback   *thread.Fallback   `json:"fallback"`
	Until      *time.Time         `json:"until"`
	MergeID    *thread.MergeID    `json:"mergeId"`
	CreatedAt  time.Time          `json:"createdAt"`
	CreatedBy  actorData          `json:"createdBy"`
	DecidedAt  *time.Time         `json:"decidedAt"`
	DecidedBy  *actorData         `json:"decidedBy"`
	Verdict    string             `json:"verdict,omitempty"`
	Revision   thread.Revision    `json:"revision"`
}

// approvalOf is a grant as it stands now.
func approvalOf(g thread.Approval, now time.Time) approvalData {
	g = g.EffectiveAt(now)
	d := approvalData{
		ApprovalID: g.ID, ThreadID: g.ThreadID, Kind: g.Kind, Scope: g.Scope, Reason: g.Reason, Status: g.Status,
		Deadline: g.Deadline, Late: g.Status == thread.GrantOpen && g.Late(now), Fallback: orNull(g.Fallback), Until: g.Until,
		MergeID: orNull(g.MergeID), CreatedAt: g.Created.At, CreatedBy: actorData{As: g.Created.As, Actor: g.Created.Actor},
		Verdict: g.Verdict, Revision: g.Revision,
	}
	if g.Decided != nil {
		d.DecidedAt, d.DecidedBy = &g.Decided.At, &actorData{As: g.Decided.As, Actor: g.Decided.Actor}
	}
	return d
}

// line is the grant in one line of text.
func (d approvalData) line(p *page) {
	p.line("approval %s  %s  %s  %s  %s", d.ApprovalID, d.ThreadID, string(d.Kind), string(d.Status), joined(d.Scope))
	d.facts(p)
	if d.DecidedBy != nil {
		p.line("  decided: by %s (%s), %s", d.DecidedBy.Actor, string(d.DecidedBy.As), d.DecidedAt.Format(time.RFC3339))
	}
	p.field("  verdict", d.Verdict)
}

// facts are what is known of the grant beyond who and what.
func (d approvalData) facts(p *page) {
	p.field("  reason", d.Reason)
	if d.Deadline != nil {
		late := ""
		if d.Late {
			late = " (passed)"
		}
		p.line("  deadline: %s%s, then %s", d.Deadline.Format(time.RFC3339), late, string(*d.Fallback))
	}
	if d.Until != nil {
		p.field("  until", d.Until.Format(time.RFC3339))
	}
	if d.MergeID != nil {
		p.field("  merge", string(*d.MergeID))
	}
}

// approvalList is what waits for a person.
type approvalList struct {
	items[approvalData]
	// Suspended are the threads that the mistake limit stopped: a person looks at
	// them, too.
	Suspended []suspendedData `json:"suspended"`
	all       bool
}

type suspendedData struct {
	ThreadID thread.ThreadID `json:"threadId"`
	thread.Mistakes
}

func (d *approvalList) Text(p *page) {
	for _, a := range d.Items {
		a.line(p)
	}
	p.rest(len(d.Items), d.Total)
	for _, t := range d.Suspended {
		p.line("thread %s  suspended by the mistake limit: %d failed commands in a row by %s, last %s", t.ThreadID, t.Count, t.Actor, t.LastCode)
	}
	switch {
	case len(d.Items)+len(d.Suspended) > 0:
	case d.all:
		p.line("nothing was ever asked for")
	default:
		p.line("nothing waits for a person")
	}
}

func approvalsCommand() *command {
	return &command{
		name: "approvals", summary: "list what waits for a person's decision",
		teach:   lesson{asking, "approvals"},
		detail:  "--all: also what was decided, delegations, and what archived threads asked for; of more than --limit the newest.",
		example: "leslie approvals",
		flags: []cli.Flag{
			toggle("all", "also what was decided, and delegations"),
			limitFlag(),
		},
		run: runApprovals,
	}
}

func runApprovals(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	d := &approvalList{all: c.on("all")}
	var grants []thread.Approval
	_, err := c.view(func(s *thread.State) (err error) {
		grants, d.Suspended = s.OpenRequests(""), suspendedOf(s)
		if d.all {
			grants, err = s.AllApprovals()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	all := make([]approvalData, 0, len(grants))
	for _, g := range grants {
		all = append(all, approvalOf(g, c.now()))
	}
	limit := c.count("limit", defaultLimit)
	if d.all && limit > 0 && len(all) > limit { // what was decided last is what is looked for
		d.items = items[approvalData]{Items: all[len(all)-limit:], Total: len(all), Truncated: true}
		return d, nil
	}
	d.items = firstItems(all, limit)
	return d, nil
}

func suspendedOf(s *thread.State) []suspendedData {
	out := []suspendedData{}
	for _, t := range s.Stopped() {
		out = append(out, suspendedData{t.ID, *t.Mistakes})
	}
	return out
}

// approvalsOf are the grants of a thread, wherever its records lie.
func approvalsOf(s *thread.State, t thread.Thread) ([]thread.Approval, error) {
	if t.Status == thread.Archived {
		return s.ArchivedApprovals(t.ID)
	}
	return s.ApprovalsOf(t.ID), nil
}

// changedSince are the paths at which a request is no longer about what it was
// about: of the thread's artifacts, or of what the merge would do. Errors: T509
// where what was asked about cannot be read any more, and those of a plan.
func (c *call) changedSince(st *store.Store, g thread.Approval) ([]string, error) {
	switch {
	case g.MergeID != "":
		return c.planChanged(st, g)
	case g.Digest == "":
		return nil, nil
	}
	m, err := st.Manifest(g.Digest)
	if err != nil {
		return nil, err
	}
	var paths []string
	err = c.settled(st, func() error {
		paths, err = st.Compare(c.ctx, g.ThreadID, m, scope.Set{})
		return err
	}, g.ThreadID)
	return paths, err
}

// warnChanged is W402 where something has changed since a request.
func (c *call) warnChanged(st *store.Store, g thread.Approval) error {
	paths, err := c.changedSince(st, g)
	if err == nil {
		c.warnPaths(g.ID, paths)
	}
	return err
}

func (c *call) warnPaths(id thread.ApprovalID, paths []string) {
	if len(paths) > 0 {
		c.warnings.Add(warnings.ArtifactsChanged.NewOfPaths(paths, nil, fact.Of("approvalId", id)))
	}
}
