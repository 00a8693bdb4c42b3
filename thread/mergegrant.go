package thread

import (
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file handles merges that a person has to approve. The request is a grant like
// any other, in the same queue, but it covers one plan of one merge: it gives the
// target nothing else, and nothing once the merge would do something different.

// MergeApproval returns the newest request about a merge that was not withdrawn.
func (s *State) MergeApproval(m Merge) (newest Approval, ok bool) {
	for _, g := range s.ApprovalsOf(m.Target) {
		if g.MergeID == m.ID && g.Status != GrantWithdrawn && (!ok || g.Revision >= newest.Revision) {
			newest, ok = g, true
		}
	}
	return newest, ok
}

// Approved is the capability with which a merge needs nobody's approval.
func (m Merge) Approved() string {
	if m.Onto != "" {
		return Land
	}
	return ApproveMerge
}

// MayMerge checks whether a merge may be applied as planned: it needs no approval,
// or the policy or a grant gives its target the capability, or a person approved
// this plan. Errors: T404 if a person denied this plan, otherwise T402, with
// approvalId if a request about this plan is open.
func (s *State) MayMerge(m Merge, plan BlobID, p Policy, now time.Time) error {
	if !m.RequireApproval {
		return nil
	}
	_, denied := s.Can(string(m.Target), m.Approved(), p, now)
	if denied == nil || !codes.Has(denied, codes.PermissionDenied) {
		return denied
	}
	g, ok := s.MergeApproval(m)
	if !ok || g.Plan != plan {
		return unapproved(m)
	}
	switch g.Status {
	case GrantApproved:
		return nil
	case GrantDenied:
		return g.Refusal().With(fact.Of("mergeId", m.ID)).WithNext("leslie merge status " + string(m.ID))
	}
	return unapproved(m).With(fact.Of("approvalId", g.ID)).
		WithHint("A person decides: ask one to run leslie approve " + string(g.ID) + ", then run " + m.GoesOn())
}

// RequireApproval says whether the pending landing of a thread needs an approval: not where a person applies it.
func (s *State) RequireApproval(id ThreadID, required bool) {
	if m, waits := s.PendingLanding(id); waits {
		m.RequireApproval = required
		s.Merges.Put(m)
	}
}

func unapproved(m Merge) *codes.Error {
	return codes.PermissionDenied.New(fact.Of("capability", m.Approved()), fact.Of("threadId", m.Target), fact.Of("mergeId", m.ID)).
		WithHint("A person decides: request approval with " + m.GoesOn()).
		WithNext("leslie merge status " + string(m.ID))
}

// AskMerge opens a request about a plan of a merge and withdraws the one about
// another plan, which it returns as old. If there already is a request about this
// plan, AskMerge returns it, whether or not it is decided. Errors: T303 for a merge
// that is no longer pending, and those of Request.
func (s *State) AskMerge(m Merge, in NewGrant, stamp Stamp) (g Approval, old *Approval, err error) {
	if _, err := s.Merge(string(m.ID)); err != nil {
		return Approval{}, nil, err
	}
	if was, ok := s.MergeApproval(m); ok {
		if was.Plan == in.Plan {
			return was, nil, nil
		}
		old = &was
	}
	in.Thread, in.MergeID, in.Scope = string(m.Target), m.ID, []string{m.Approved()}
	if g, _, err = s.Request(in, stamp); err != nil {
		return Approval{}, nil, err
	}
	if old != nil && old.Status != GrantDenied {
		s.closeGrant(*old, GrantWithdrawn, "what the merge would do has changed", Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor})
	}
	return g, old, nil
}
