package merging

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file handles merges that a person has to approve. A request covers one plan: a
// blob lists what the merge would do, and its hash is what is approved. If the merge
// would do something else, it needs a new approval.

// Approver decides whether to apply a merge that needs a person's approval.
type Approver interface {
	// Approve decides an open request about the plan of a session. Errors: T904.
	Approve(ctx context.Context, g thread.Approval, s *Session) (Verdict, error)
}

// Verdict is the decision of an Approver. The zero value leaves the request open.
type Verdict struct {
	Decision thread.GrantDecision // thread.Approve, thread.Deny, or "" for later
	Reason   string
}

// PlannedFile is one path in the list of a plan.
type PlannedFile struct {
	Path       string        `json:"path"`
	Before     thread.BlobID `json:"before"` // "" for no file
	After      thread.BlobID `json:"after"`
	Executable bool          `json:"executable,omitempty"` // after
	Open       int           `json:"open,omitempty"`       // conflicts
}

// Verb says in one word what happens to the path.
func (f PlannedFile) Verb() string {
	switch {
	case f.Open > 0:
		return "conflict"
	case f.Before == "":
		return "add"
	case f.After == "":
		return "delete"
	}
	return "change"
}

// planList lists what the merge would do to its target, path by path.
func (p *Planning) planList() []PlannedFile {
	out := []PlannedFile{}
	for _, f := range p.plan.Files {
		if f.Idle() || isCode(f.Path) && p.planned.code.tree != "" { // see codePlan.changes
			continue
		}
		one := PlannedFile{Path: f.Path, Before: thread.BlobID(f.Before.Hash), Open: f.Open}
		if f.Open == 0 {
			one.After, one.Executable = thread.BlobID(f.After.Hash), f.After.Executable
		}
		out = append(out, one)
	}
	if p.planned.code != nil {
		out = append(out, p.planned.code.changes...)
	}
	return out
}

// ReadPlan reads the list that a request was about. Errors: T509.
func ReadPlan(files Files, id thread.BlobID) (list []PlannedFile, err error) {
	raw, err := files.Blob(id)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, codes.Internal.Wrap(err)
	}
	return list, nil
}

// Differing returns the paths for which a pending merge would now do something else
// than the request says; none for an applied merge. Errors: those of ReadPlan and
// Look.
func Differing(c Call, g thread.Approval) ([]string, error) {
	was, err := ReadPlan(c.Files, g.Plan)
	if err != nil {
		return nil, err
	}
	s, err := Look(c, string(g.MergeID))
	if codes.Has(err, codes.MergeNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return differing(was, s.planList()), nil
}

// differing returns the paths for which two plans differ.
func differing(was, now []PlannedFile) []string {
	left := map[string]PlannedFile{}
	for _, f := range was {
		left[f.Path] = f
	}
	var out []string
	for _, f := range now {
		if left[f.Path] != f {
			out = append(out, f.Path)
		}
		delete(left, f.Path)
	}
	for path := range left {
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

// consent is the approval of one plan.
type consent struct {
	*Session
	list   []PlannedFile
	raw    []byte
	digest thread.BlobID
	agreed thread.ApprovalID // the request that the Approver has approved
}

// consent returns once the merge may be applied as planned: immediately if nobody has
// to approve it, otherwise after a person has. If there is no request it opens one; it
// asks an Approver directly. Errors: T402 while the request is open, T404 if it was
// denied.
func (s *Session) consent() (*consent, error) {
	c := &consent{Session: s}
	if !needsApproval(s.Planning) || codeRecord(s.Planning).Landed { // which was allowed
		return c, nil
	}
	c.list = s.planList()
	raw, err := fact.JSON(c.list)
	if err != nil {
		return nil, err
	}
	c.raw, c.digest = raw, blobOf(raw)
	if err := c.look(); !codes.Has(err, codes.PermissionDenied) {
		return c, err
	}
	g, denied, err := c.request()
	switch {
	case err != nil || g.Status == thread.GrantApproved:
		return c, err
	case g.Status == thread.GrantOpen && s.call.Approver != nil:
		return c, c.ask(g)
	}
	return c, denied
}

// look checks whether the merge may be applied in the current State.
func (c *consent) look() error {
	return c.call.View(func(st *thread.State) error { return c.given(st, c.call.Now()) })
}

// given is State.MayMerge for the plan; a plan without changes needs no approval.
func (c *consent) given(st *thread.State, at time.Time) error {
	c.approval = ApprovalOf(st, c.record)
	if c.idle() || codeRecord(c.Planning).Landed {
		return nil
	}
	m := c.record
	m.RequireApproval = needsApproval(c.Planning)
	err := st.MayMerge(m, c.digest, c.call.Policy, at)
	if e := codes.Of(err); c.moves != "" && codes.Has(err, codes.PermissionDenied) {
		return e.With(fact.Of("branch", c.inputs.code.branch), fact.Of("worktree", c.moves)).
			WithHint("It moves " + c.inputs.code.branch + ", which is checked out in " + c.moves + ". " + e.Hint())
	}
	return err
}

// needsApproval reports whether a person has to approve the merge before it is applied:
// somebody said so, or it moves a branch that a worktree has checked out which is not the
// target's.
func needsApproval(p *Planning) bool { return p.record.RequireApproval || p.moves != "" }

// request opens the request about the plan, together with the merge if that is not
// recorded yet, or finds the existing one. W402 names what has changed since an
// earlier request. denied is the reason why the merge may not be applied now; it is
// computed with the request, because nothing may fail after the commit.
func (c *consent) request() (g thread.Approval, denied, err error) {
	var old *thread.Approval
	prepare := func(stage *store.Stage) error {
		_, err := stage.Put(c.raw)
		return err
	}
	ask := func(st *thread.State, stamp thread.Stamp) error {
		id := thread.ApprovalID(c.call.NewID(thread.PrefixApproval, taken(&st.Approvals)))
		in := thread.NewGrant{ID: id, Plan: c.digest, Reason: "merge of " + joined(c.record.Sources) + " into " + c.record.Into() + ", changing " + fact.Plural(len(c.list), "file")}
		if c.moves != "" {
			in.Reason += "; the branch " + c.inputs.code.branch + ", which is checked out in " + c.moves + ", moves"
		}
		if g, old, err = st.AskMerge(c.record, in, stamp); err == nil {
			denied = c.given(st, stamp.Time)
		}
		return err
	}
	if c.recorded {
		err = c.call.Update(c.record.Target, prepare, ask)
	} else {
		err = c.recordPending(prepare, ask)
	}
	c.approval = &Approval{g.ID, g.Status}
	if err != nil || old == nil {
		return g, denied, err
	}
	if was, err := ReadPlan(c.call.Files, old.Plan); err == nil {
		if paths := differing(was, c.list); len(paths) > 0 {
			c.call.Warn(warnings.ArtifactsChanged.NewOfPaths(paths, nil, fact.Of("approvalId", old.ID)))
		}
	}
	return g, denied, nil
}

// ask asks the Approver. An approval is recorded with the merge itself, in one
// operation.
func (c *consent) ask(g thread.Approval) error {
	verdict, err := c.call.Approver.Approve(c.call.Context, g, c.Session)
	if err != nil {
		return err
	}
	switch verdict.Decision {
	case thread.Approve:
		c.agreed = g.ID
		return nil
	case thread.Deny:
		if err := c.call.Update(c.record.Target, nil, func(st *thread.State, stamp thread.Stamp) error {
			_, _, err := st.DecideGrant(string(g.ID), thread.Deny, verdict.Reason, stamp)
			return err
		}); err != nil {
			return err
		}
	}
	return leftBy(c.look())
}
