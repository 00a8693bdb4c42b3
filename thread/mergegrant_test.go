package thread_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

// requiring returns a pending merge of a into main that a person has to approve.
func requiring(t *testing.T) (*fixture, thread.Merge) {
	t.Helper()
	w := withThreads(t, "main", "a")
	m, err := w.BeginMerge(thread.Merge{ID: "merge-1", Target: "main", Sources: []thread.ThreadID{"a"}, RequireApproval: true}, w.stamp(thread.Agent))
	require.NoError(t, err)
	w.commit()
	return w, m
}

// askedFor opens the request about a plan of a merge, or finds it.
func (w *fixture) askedFor(m thread.Merge, id, plan string) (g thread.Approval, old *thread.Approval) {
	w.t.Helper()
	g, old, err := w.AskMerge(m, thread.NewGrant{ID: thread.ApprovalID(id), Plan: thread.BlobID(plan)}, w.stamp(thread.Agent))
	require.NoError(w.t, err)
	w.commit()
	return g, old
}

func (w *fixture) mayMerge(m thread.Merge, plan string) error {
	return w.MayMerge(m, thread.BlobID(plan), thread.DefaultPolicy(), w.now())
}

func TestAMergeThatRequiresNoApprovalMayBeApplied(t *testing.T) {
	t.Parallel()
	w, m := requiring(t)
	m.RequireApproval = false
	assert.NoError(t, w.mayMerge(m, "p1"))
}

func TestAMergeWaitsForTheApprovalOfItsPlan(t *testing.T) {
	t.Parallel()
	w, m := requiring(t)
	e := failed(t, w.mayMerge(m, "p1"), codes.PermissionDenied, map[string]any{"capability": "approve_merge", "mergeId": m.ID, "threadId": m.Target})
	_, asked := e.Facts().Get("approvalId")
	assert.False(t, asked, "nobody was asked yet")

	g, old := w.askedFor(m, "appr-1", "p1")
	assert.Nil(t, old)
	assert.Equal(t, []string{"approve_merge"}, g.Scope)
	assert.Equal(t, thread.WaitingHuman, w.statusOf("main"))
	assert.Equal(t, thread.Active, w.statusOf("a"), "the target waits, not the source")
	e = failed(t, w.mayMerge(m, "p1"), codes.PermissionDenied, map[string]any{"approvalId": g.ID})
	assert.Contains(t, e.Hint(), "leslie approve appr-1")
	assert.Equal(t, []string{"leslie merge status merge-1"}, e.Next())

	_, err := w.Can("main", "approve_merge", thread.DefaultPolicy(), w.now())
	e = failed(t, err, codes.PermissionDenied, nil)
	assert.Equal(t, []string{"leslie transfer main --direction request_approval --scope approve_merge"}, e.Next(), "the capability itself was not asked for")

	again, old := w.askedFor(m, "appr-2", "p1")
	assert.Equal(t, g, again, "asked once is enough")
	assert.Nil(t, old)

	w.decided("appr-1", thread.Approve, "")
	assert.NoError(t, w.mayMerge(m, "p1"))
	assert.Equal(t, thread.Active, w.statusOf("main"))
	found, _ := w.askedFor(m, "appr-3", "p1")
	assert.Equal(t, thread.GrantApproved, found.Status, "whoever asks again finds the decision")
}

// An approval covers only the plan that was shown.
func TestAnApprovalIsForOnePlanOfOneMerge(t *testing.T) {
	t.Parallel()
	w, m := requiring(t)
	w.askedFor(m, "appr-1", "p1")
	w.decided("appr-1", thread.Approve, "")
	failed(t, w.mayMerge(m, "p2"), codes.PermissionDenied, map[string]any{"mergeId": m.ID})
	assert.Empty(t, w.can("main", "approve_merge", w.now()), "it gives the target nothing")
	other := m
	other.ID = "merge-2"
	failed(t, w.mayMerge(other, "p1"), codes.PermissionDenied, nil)

	g, old := w.askedFor(m, "appr-2", "p2")
	require.NotNil(t, old)
	assert.Equal(t, thread.ApprovalID("appr-1"), old.ID)
	assert.Equal(t, thread.GrantOpen, g.Status)
	first, err := w.Approval("appr-1")
	require.NoError(t, err)
	assert.Equal(t, thread.GrantWithdrawn, first.Status)
	assert.Contains(t, first.Verdict, "has changed")
	failed(t, w.mayMerge(m, "p1"), codes.PermissionDenied, nil)
	assert.Equal(t, thread.WaitingHuman, w.statusOf("main"))

	_, old = w.askedFor(m, "appr-3", "p3")
	require.NotNil(t, old)
	assert.Equal(t, thread.ApprovalID("appr-2"), old.ID, "an open one as well")
	assert.Len(t, w.OpenRequests("main"), 1)
}

func TestADeniedMergeIsNotRequestedAgain(t *testing.T) {
	t.Parallel()
	w, m := requiring(t)
	w.askedFor(m, "appr-1", "p1")
	w.decided("appr-1", thread.Deny, "wrong way round")
	e := failed(t, w.mayMerge(m, "p1"), codes.ApprovalDenied, map[string]any{"actor": "ann", "reason": "wrong way round", "mergeId": m.ID})
	assert.Equal(t, []string{"leslie merge status merge-1"}, e.Next())
	same, _ := w.askedFor(m, "appr-2", "p1")
	assert.Equal(t, thread.GrantDenied, same.Status)

	g, old := w.askedFor(m, "appr-3", "p2")
	assert.Equal(t, thread.GrantOpen, g.Status, "another plan is another question")
	assert.Equal(t, thread.GrantDenied, old.Status)
	first, err := w.Approval("appr-1")
	require.NoError(t, err)
	assert.Equal(t, thread.GrantDenied, first.Status, "what was decided stays decided")
}

func TestARevokedApprovalIsRequestedAgain(t *testing.T) {
	t.Parallel()
	w, m := requiring(t)
	w.askedFor(m, "appr-1", "p1")
	w.decided("appr-1", thread.Approve, "")
	w.decided("appr-1", thread.Revoke, "")
	failed(t, w.mayMerge(m, "p1"), codes.PermissionDenied, nil)
	g, old := w.askedFor(m, "appr-2", "p1")
	assert.Equal(t, thread.ApprovalID("appr-2"), g.ID)
	assert.Nil(t, old)
}

func TestWhoeverMayApproveMergesNeedsNoRequest(t *testing.T) {
	t.Parallel()
	w, m := requiring(t)
	auto := thread.DefaultPolicy()
	auto[thread.ApproveMerge] = thread.Auto
	assert.NoError(t, w.MayMerge(m, "p1", auto, w.now()))
	_, _, err := w.Delegate(thread.NewGrant{ID: "appr-1", Thread: "main", Scope: []string{thread.ApproveMerge}, Timeout: time.Hour}, thread.DefaultPolicy(), w.stamp(thread.User))
	require.NoError(t, err)
	w.commit()
	assert.NoError(t, w.mayMerge(m, "p1"))
	assert.NoError(t, w.mayMerge(m, "p2"))
	failed(t, w.MayMerge(m, "p1", thread.DefaultPolicy(), w.now().Add(2*time.Hour)), codes.PermissionDenied, nil)
}

func TestAMergeIntoASuspendedThreadCannotRequestApproval(t *testing.T) {
	t.Parallel()
	w, m := requiring(t)
	w.moved("main", thread.Suspend)
	_, _, err := w.AskMerge(m, thread.NewGrant{ID: "appr-1", Plan: "p1"}, w.stamp(thread.Agent))
	failed(t, err, codes.InvalidTransition, map[string]any{"threadId": m.Target, "current": thread.Suspended})
	assert.Empty(t, w.Changes())
}

func TestTheEndOfAMergeWithdrawsItsRequest(t *testing.T) {
	t.Parallel()
	w, m := requiring(t)
	w.askedFor(m, "appr-1", "p1")
	w.asked("appr-2", "main", "deploy")
	_, err := w.EndMerge("merge-1", "the merge was aborted", w.stamp(thread.Agent))
	require.NoError(t, err)
	w.commit()
	g, err := w.Approval("appr-1")
	require.NoError(t, err)
	assert.Equal(t, thread.GrantWithdrawn, g.Status)
	assert.Equal(t, "the merge was aborted", g.Verdict)
	assert.Equal(t, thread.WaitingHuman, w.statusOf("main"), "it asked for something else as well")
	w.decided("appr-2", thread.Deny, "")
	assert.Equal(t, thread.Active, w.statusOf("main"))
	_ = m
}

// A stale record of an ended merge cannot open a request.
func TestAnEndedMergeCannotRequestApproval(t *testing.T) {
	t.Parallel()
	w, m := requiring(t)
	_, err := w.EndMerge("merge-1", "the merge was applied", w.stamp(thread.Agent))
	require.NoError(t, err)
	w.commit()
	_, _, err = w.AskMerge(m, thread.NewGrant{ID: "appr-1", Plan: "p1"}, w.stamp(thread.Agent))
	failed(t, err, codes.MergeNotFound, nil)
	assert.Empty(t, w.Changes())
}

func TestADecidedRequestOutlivesItsMerge(t *testing.T) {
	t.Parallel()
	w, m := requiring(t)
	w.askedFor(m, "appr-1", "p1")
	w.decided("appr-1", thread.Approve, "")
	_, err := w.EndMerge("merge-1", "the merge was applied", w.stamp(thread.Agent))
	require.NoError(t, err)
	w.commit()
	g, err := w.Approval("appr-1")
	require.NoError(t, err)
	assert.Equal(t, thread.GrantApproved, g.Status)
	assert.Equal(t, thread.User, g.Decided.As)
}

func TestOnlyAPersonResolvesConflictsReservedForPeople(t *testing.T) {
	t.Parallel()
	strict := thread.DefaultPolicy()
	strict[thread.ResolveConflict] = thread.RequireHuman
	mine, agents := thread.Decision{Take: "ours", How: "user"}, thread.Decision{Take: "theirs", How: "agent"}
	decide := func(w *fixture, d thread.Decision, as thread.ActorKind) error {
		_, err := w.Decide("merge-1", setting("c1", d), nil, strict, w.stamp(as))
		return err
	}
	w := withThreads(t, "main", "a")
	w.begun("merge-1", "main", thread.Interactive, "a")
	e := failed(t, decide(w, agents, thread.Agent), codes.PermissionDenied, map[string]any{"capability": "resolve_conflict", "threadId": thread.ThreadID("main"), "mergeId": thread.MergeID("merge-1")})
	assert.Equal(t, []string{"leslie transfer main --direction request_approval --scope resolve_conflict"}, e.Next())
	failed(t, decide(w, agents, thread.User), codes.PermissionDenied, nil) // an agent that a person's call asked
	assert.Empty(t, w.Changes())
	require.NoError(t, decide(w, mine, thread.User))
	w.commit()

	_, err := w.Decide("merge-1", func(have map[string]thread.Decision) (map[string]thread.Decision, error) { return have, nil },
		map[string]string{"plan.md": "it may not"}, strict, w.stamp(thread.Agent))
	require.NoError(t, err, "to say why something stays open settles nothing")
	w.commit()

	_, _, err = w.Delegate(thread.NewGrant{ID: "appr-1", Thread: "main", Scope: []string{thread.ResolveConflict}}, strict, w.stamp(thread.User))
	require.NoError(t, err)
	w.commit()
	require.NoError(t, decide(w, agents, thread.Agent))
	w.commit()

	w.decided("appr-1", thread.Revoke, "")
	_, err = w.Decide("merge-1", setting("c2", mine), nil, strict, w.stamp(thread.User))
	require.NoError(t, err, "what was decided while it was allowed stays decided")
	failed(t, decide(w, thread.Decision{Take: "both", How: "agent"}, thread.Agent), codes.PermissionDenied, nil)
}
