package app

import (
	"leslie/codes"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file records a person's decisions about grants: one, or all open ones.

// DecideRequest is a person's decision about a grant.
type DecideRequest struct {
	Approval string
	Decision thread.GrantDecision
	Reason   string
	// OfMerge: the grant must be for a merge, which the caller is going to apply.
	OfMerge bool
	// Confirm is called before a request is approved whose subject has changed; false
	// leaves it open. nil approves, with W402.
	Confirm func(of ApprovalRecord, changed []string) (bool, error)
}

// Faults returns what is wrong with the request.
func (in DecideRequest) Faults(name Names) []Fault {
	k := newChecks(name)
	k.needed("Approval", in.Approval)
	oneOf(k, "Decision", in.Decision, thread.Approve, thread.Deny, thread.Revoke)
	return k.faults
}

// DecideResult is a grant after a decision.
type DecideResult struct {
	ApprovalRecord
	ThreadStatus thread.Status `json:"threadStatus"`
	Change
}

// Decide records a person's decision about a grant. Errors: T903, T403, T105, T402 for
// anyone but a person (an agent may take back its own request), T102 if it was decided differently, T107 if the thread is
// terminated, T509 if the subject of the request cannot be read, those of Confirm and
// those of a write.
func Decide(c *Call, in DecideRequest) (*DecideResult, error) {
	if err := refused(in.Faults(nil)); err != nil {
		return nil, err
	}
	if first, ok, err := answered[DecideResult](c); ok || err != nil {
		return first, err
	}
	g, err := decidable(c, in.Approval, in.Decision)
	if err == nil && in.OfMerge && g.MergeID == "" {
		err = codes.InvalidArgument.New(fact.Of("reason", string(g.ID)+" is not a request to apply a merge"))
	}
	if err != nil {
		return nil, err
	}
	if in.Decision == thread.Approve && g.Status == thread.GrantOpen {
		changed, err := changedSince(c, g)
		if err != nil {
			return nil, err
		}
		approve := true
		switch {
		case len(changed) == 0:
		case in.Confirm == nil:
			warnChanged(c, g.ID, changed)
		default:
			approve, err = in.Confirm(approvalOf(g, c.now()), changed)
		}
		if err != nil {
			return nil, err
		}
		if !approve {
			d := &DecideResult{ApprovalRecord: approvalOf(g, c.now()), ThreadStatus: thread.WaitingHuman}
			return d, c.keepUnchanged(d)
		}
	}
	return decideGrant(c, g.ID, in.Decision, in.Reason)
}

// decidable returns the current grant if the decision is allowed.
func decidable(c *Call, arg string, d thread.GrantDecision) (g thread.Approval, err error) {
	_, err = c.view(func(s *thread.State) error {
		if g, err = s.Approval(arg); err != nil {
			return err
		}
		_, _, err = s.DecideGrant(arg, d, "", speaking(c, s, c.operation()))
		return err
	})
	return g, err
}

// decideGrant records a decision, with the time of the decision, not of the question.
func decideGrant(c *Call, id thread.ApprovalID, d thread.GrantDecision, reason string) (*DecideResult, error) {
	if c.draft == nil {
		c.stamp = nil
	}
	return write(c, func(s *thread.State, stamp thread.Stamp) (*DecideResult, thread.ThreadID, error) {
		g, t, err := s.DecideGrant(string(id), d, reason, speaking(c, s, stamp))
		if err != nil {
			return nil, "", err
		}
		return &DecideResult{ApprovalRecord: approvalOf(g, stamp.Time), ThreadStatus: t.Status}, g.ThreadID, nil
	})
}

// changedSince returns the paths at which the subject of a request has changed: the
// thread's artifacts, or what the merge would do. Errors: T509 if the original can no
// longer be read, and those of a plan.
func changedSince(c *Call, g thread.Approval) ([]string, error) {
	if g.MergeID != "" {
		return MergeChanged(c, g)
	}
	return changedArtifacts(c, g)
}

// Review is a request as shown to the person who decides.
type Review struct {
	ApprovalRecord
	Number, Of int                   // its place among those that waited
	Title      string                // of the thread
	Plan       []merging.PlannedFile // of a merge: what it would do
	Changed    []string              // paths with which it is no longer about what it was about
	Rules      []string              // of a tool's call: what ReviewVerdict.Always would add; none if it cannot
}

// ReviewVerdict is a reviewer's decision.
type ReviewVerdict struct {
	Decision thread.GrantDecision // "": left for later
	Reason   string
	Always   bool // an approved call is allowed from now on, too: see ApproveAlways
	Quit     bool // the rest is left too
}

// Reviewer decides open requests, one after the other.
type Reviewer interface {
	// Review decides one request.
	Review(Review) (ReviewVerdict, error)
	// Gone reports that somebody else has decided a request in the meantime.
	Gone(thread.ApprovalID)
}

// ReviewRequest reviews all open requests.
type ReviewRequest struct {
	Reviewer Reviewer
}

// ReviewResult has the results of a review.
type ReviewResult struct {
	Decided []ApprovalRecord `json:"decided"`
	Open    int              `json:"open"`
	Change
}

// ReviewAll asks the reviewer about each open request. It records each decision at
// once, so that nothing is lost if the review is interrupted. Errors: those of the
// reviewer and of Decide; decisions made before stay recorded.
func ReviewAll(c *Call, in ReviewRequest) (*ReviewResult, error) {
	if in.Reviewer == nil {
		return nil, refused([]Fault{{Field: "Reviewer", Problem: "Reviewer is missing"}})
	}
	d := &ReviewResult{Decided: []ApprovalRecord{}}
	open, err := openRequests(c)
	if err != nil {
		return nil, err
	}
	for i, id := range open {
		decided, quit, err := reviewOne(c, in.Reviewer, id, i+1, len(open))
		if decided != nil {
			d.Decided = append(d.Decided, decided.ApprovalRecord)
		}
		if err != nil {
			return nil, err
		}
		if quit {
			break
		}
	}
	left, err := openRequests(c)
	d.Open = len(left)
	d.SetChanged(len(d.Decided) > 0)
	return d, err
}

func openRequests(c *Call) (ids []thread.ApprovalID, err error) {
	_, err = c.view(func(s *thread.State) error {
		ids = nil
		for _, g := range s.OpenRequests("") {
			ids = append(ids, g.ID)
		}
		return nil
	})
	return ids, err
}

// reviewOne asks about one request. decided is nil if it is left for later, or was
// decided in the meantime.
func reviewOne(c *Call, by Reviewer, id thread.ApprovalID, n, of int) (decided *DecideResult, quit bool, err error) {
	g, err := decidable(c, string(id), thread.Approve)
	if err != nil || g.Status != thread.GrantOpen {
		return nil, false, unlessGone(by, id, err)
	}
	shown, err := review(c, g)
	if err != nil {
		return nil, true, err
	}
	shown.Number, shown.Of = n, of
	v, err := by.Review(shown)
	if err != nil || v.Decision == "" {
		return nil, v.Quit, err
	}
	if v.Always {
		var always *ApproveAlwaysResult
		if always, err = ApproveAlways(c, ApproveAlwaysRequest{Approval: string(id), Reason: v.Reason}); err == nil {
			decided = &always.DecideResult
		}
	} else {
		decided, err = decideGrant(c, id, v.Decision, v.Reason)
	}
	if err != nil {
		return nil, v.Quit, unlessGone(by, id, err)
	}
	return decided, v.Quit, nil
}

// unlessGone turns the error that somebody else decided first into a call of Gone.
func unlessGone(by Reviewer, id thread.ApprovalID, err error) error {
	if err != nil && !codes.Has(err, codes.InvalidTransition) && !codes.Has(err, codes.ApprovalNotFound) && !codes.Has(err, codes.NotWritable) {
		return err
	}
	by.Gone(id)
	return nil
}

func review(c *Call, g thread.Approval) (r Review, err error) {
	r.ApprovalRecord = approvalOf(g, c.now())
	if _, err := c.view(func(s *thread.State) error {
		t, err := s.Thread(string(g.ThreadID))
		r.Title = t.Title
		return err
	}); err != nil {
		return r, err
	}
	if g.MergeID != "" {
		if r.Plan, err = MergePlan(c, g); err != nil {
			return r, err
		}
	}
	if g.Tool != nil {
		if rules, err := rulesFor(c, g); err == nil {
			r.Rules = texts(rules)
		}
	}
	r.Changed, err = changedSince(c, g)
	return r, err
}
