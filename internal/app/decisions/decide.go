package decisions

import (
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/merges"
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
	Confirm func(of app.ApprovalRecord, changed []string) (bool, error)
}

// Faults returns what is wrong with the request.
func (in DecideRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	k.Needed("Approval", in.Approval)
	app.OneOf(k, "Decision", in.Decision, thread.Approve, thread.Deny, thread.Revoke)
	return k.Faults
}

// DecideResult is a grant after a decision.
type DecideResult struct {
	app.ApprovalRecord
	ThreadStatus thread.Status `json:"threadStatus"`
	app.Change
}

// Decide records a person's decision about a grant. Errors: T903, T403, T105, T402 for
// anyone but a person (an agent may take back its own request), T102 if it was decided differently, T107 if the thread is
// terminated, T509 if the subject of the request cannot be read, those of Confirm and
// those of a write.
func Decide(c *app.Call, in DecideRequest) (*DecideResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	if first, ok, err := app.Answered[DecideResult](c); ok || err != nil {
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
			approve, err = in.Confirm(app.ApprovalOf(g, c.Now()), changed)
		}
		if err != nil {
			return nil, err
		}
		if !approve {
			d := &DecideResult{ApprovalRecord: app.ApprovalOf(g, c.Now()), ThreadStatus: thread.WaitingHuman}
			return d, c.KeepUnchanged(d)
		}
	}
	return decideGrant(c, g.ID, in.Decision, in.Reason)
}

// decidable returns the current grant if the decision is allowed.
func decidable(c *app.Call, arg string, d thread.GrantDecision) (g thread.Approval, err error) {
	_, err = c.View(func(s *thread.State) error {
		if g, err = s.Approval(arg); err != nil {
			return err
		}
		_, _, err = s.DecideGrant(arg, d, "", c.Speaking(s, c.Stamp()))
		return err
	})
	return g, err
}

// decideGrant records a decision, with the time of the decision, not of the question.
func decideGrant(c *app.Call, id thread.ApprovalID, d thread.GrantDecision, reason string) (*DecideResult, error) {
	if !c.InBatch() {
		c.NewOperation()
	}
	return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*DecideResult, thread.ThreadID, error) {
		g, t, err := s.DecideGrant(string(id), d, reason, c.Speaking(s, stamp))
		if err != nil {
			return nil, "", err
		}
		return &DecideResult{ApprovalRecord: app.ApprovalOf(g, stamp.Time), ThreadStatus: t.Status}, g.ThreadID, nil
	})
}

// changedSince returns the paths at which the subject of a request has changed: the
// thread's artifacts, or what the merge would do. Errors: T509 if the original can no
// longer be read, and those of a plan.
func changedSince(c *app.Call, g thread.Approval) ([]string, error) {
	if g.MergeID != "" {
		return merges.ChangedSinceApproval(c, g)
	}
	return changedArtifacts(c, g)
}

// Review is a request as shown to the person who decides.
type Review struct {
	app.ApprovalRecord
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

// ReviewRequest reviews the open requests of a thread, or all of them.
type ReviewRequest struct {
	Thread   string // "": of all threads
	Reviewer Reviewer
}

// ReviewResult has the results of a review.
type ReviewResult struct {
	Decided []app.ApprovalRecord `json:"decided"`
	Open    int                  `json:"open"`
	app.Change
}

// ReviewAll asks the reviewer about each of these requests. It records each decision at
// once, so that nothing is lost if the review is interrupted. Errors: those of the
// reviewer and of Decide, T101 and T105 for the thread; decisions made before stay recorded.
func ReviewAll(c *app.Call, in ReviewRequest) (*ReviewResult, error) {
	if in.Reviewer == nil {
		return nil, app.FaultsError([]app.Fault{{Field: "Reviewer", Problem: "Reviewer is missing"}})
	}
	d := &ReviewResult{Decided: []app.ApprovalRecord{}}
	left, err := forOpen(c, in.Thread, (*thread.State).OpenRequests, func(g thread.Approval, n, of int) (quit bool, err error) {
		decided, quit, err := reviewOne(c, in.Reviewer, g.ID, n, of)
		if decided != nil {
			d.Decided = append(d.Decided, decided.ApprovalRecord)
		}
		return quit, err
	})
	if err != nil {
		return nil, err
	}
	d.Open = left
	d.SetChanged(len(d.Decided) > 0)
	return d, nil
}

// forOpen goes through what is open of a thread, or of all threads for "", one after the
// other, until a step quits or fails; n is its place among so many. left is how much is open
// then. Errors: those of a step and of a view, T101 and T105 for the thread.
func forOpen[R any](
	c *app.Call, thr string, open func(*thread.State, thread.ThreadID) []R, step func(one R, n, of int) (quit bool, err error),
) (left int, err error) {
	look := func() (all []R, err error) {
		_, err = c.View(func(s *thread.State) error {
			t := thread.Thread{}
			if thr != "" {
				if t, err = s.Thread(thr); err != nil {
					return err
				}
			}
			all = open(s, t.ID)
			return nil
		})
		return all, err
	}
	all, err := look()
	if err != nil {
		return 0, err
	}
	for i, one := range all {
		quit, err := step(one, i+1, len(all))
		if err != nil {
			return 0, err
		}
		if quit {
			break
		}
	}
	all, err = look()
	return len(all), err
}

// reviewOne asks about one request. decided is nil if it is left for later, or was
// decided in the meantime.
func reviewOne(c *app.Call, by Reviewer, id thread.ApprovalID, n, of int) (decided *DecideResult, quit bool, err error) {
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

func review(c *app.Call, g thread.Approval) (r Review, err error) {
	r.ApprovalRecord = app.ApprovalOf(g, c.Now())
	if _, err := c.View(func(s *thread.State) error {
		t, err := s.Thread(string(g.ThreadID))
		r.Title = t.Title
		return err
	}); err != nil {
		return r, err
	}
	if g.MergeID != "" {
		if r.Plan, err = merges.PlanOfApproval(c, g); err != nil {
			return r, err
		}
	}
	if g.Tool != nil {
		if rules, err := rulesFor(c, g); err == nil {
			r.Rules = app.RuleTexts(rules)
		}
	}
	r.Changed, err = changedSince(c, g)
	return r, err
}
