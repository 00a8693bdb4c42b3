package thread_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

// asked opens a request of a thread; in has further parameters.
func (w *fixture) asked(id, by string, scope ...string) thread.Approval {
	w.t.Helper()
	return w.askedWith(thread.NewGrant{ID: thread.ApprovalID(id), Thread: by, Scope: scope})
}

func (w *fixture) askedWith(in thread.NewGrant) thread.Approval {
	w.t.Helper()
	g, _, err := w.Request(in, w.stamp(thread.User))
	require.NoError(w.t, err)
	w.commit()
	return g
}

func TestTheSameRequestIsTheOneThatIsOpen(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	wanted := thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"deploy", "code_edit"}, Timeout: time.Hour, Fallback: thread.Skip}
	first := w.askedWith(wanted)
	cases := []struct {
		name   string
		change func(*thread.NewGrant, *thread.Stamp)
		same   bool
	}{
		{"the same", func(*thread.NewGrant, *thread.Stamp) {}, true},
		{"in another order", func(in *thread.NewGrant, _ *thread.Stamp) { in.Scope = []string{"code_edit", "deploy"} }, true},
		{"for another reason", func(in *thread.NewGrant, _ *thread.Stamp) { in.Reason = "again" }, true},
		{"by another person", func(_ *thread.NewGrant, s *thread.Stamp) { s.Actor = "bob" }, true},
		{"by an agent", func(_ *thread.NewGrant, s *thread.Stamp) { s.As = thread.Agent }, false},
		{"with another fallback", func(in *thread.NewGrant, _ *thread.Stamp) { in.Fallback = thread.Block }, false},
		{"for less", func(in *thread.NewGrant, _ *thread.Stamp) { in.Scope = []string{"deploy"} }, false},
		{"past its deadline", func(_ *thread.NewGrant, s *thread.Stamp) { s.Time = s.Time.Add(time.Hour) }, false},
		{"of a merge", func(in *thread.NewGrant, _ *thread.Stamp) { in.MergeID = "merge-1" }, false},
	}
	for _, c := range cases {
		s, in, stamp := w.Fork(), wanted, w.stamp(thread.User)
		in.ID = "appr-2"
		c.change(&in, &stamp)
		g, th, err := s.Request(in, stamp)
		require.NoError(t, err, c.name)
		assert.Equal(t, thread.WaitingHuman, th.Status, c.name)
		if c.same {
			assert.Equal(t, first, g, c.name)
			assert.Empty(t, s.Changes(), c.name)
		} else {
			assert.Equal(t, thread.ApprovalID("appr-2"), g.ID, c.name)
		}
	}
}

// decided records a person's decision.
func (w *fixture) decided(id string, d thread.GrantDecision, reason string) (thread.Approval, thread.Thread) {
	w.t.Helper()
	g, th, err := w.DecideGrant(id, d, reason, w.stamp(thread.User))
	require.NoError(w.t, err)
	w.commit()
	return g, th
}

// now returns the time of the next operation.
func (w *fixture) now() time.Time { return w.stamp(thread.User).Time }

// can returns why a thread has a capability, "" if it does not.
func (w *fixture) can(id, capability string, at time.Time) string {
	w.t.Helper()
	why, err := w.Can(id, capability, thread.DefaultPolicy(), at)
	if err != nil {
		failed(w.t, err, codes.PermissionDenied, map[string]any{"capability": capability})
		return ""
	}
	return why.By
}

func TestTheDefaultPolicyIsThePublishedOne(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	auto := []string{"read", "search", "analyze", "test_run", "resolve_conflict"}
	human := []string{"code_edit", "delete_file", "execute_command", "approve_merge", "deploy", "land"}
	assert.ElementsMatch(t, slices.Concat(auto, human), thread.DefaultPolicy().Capabilities())
	for _, id := range []string{"", "it"} {
		for _, name := range auto {
			assert.Equal(t, "policy", w.can(id, name, noon), "%s of %q", name, id)
		}
		for _, name := range append(human, "unheard_of") {
			assert.Empty(t, w.can(id, name, noon), "%s of %q", name, id)
		}
	}
	_, err := w.Can("nobody", "read", thread.DefaultPolicy(), noon)
	failed(t, err, codes.ThreadNotFound, nil)
	assert.Empty(t, w.Changes())
}

func TestAThreadWaitsWhileARequestOfItIsOpen(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	stamp := w.stamp(thread.Agent)
	g, th, err := w.Request(thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"deploy", "code_edit", "deploy"}, Reason: "ship", Digest: "d1", Timeout: time.Hour, Fallback: thread.Skip}, stamp)
	require.NoError(t, err)
	deadline := stamp.Time.Add(time.Hour)
	assert.Equal(t, thread.Approval{
		ID: "appr-1", ThreadID: "it", Kind: thread.Request, Scope: []string{"code_edit", "deploy"}, Reason: "ship", Status: thread.GrantOpen,
		Deadline: &deadline, Fallback: thread.Skip, Digest: "d1", Created: thread.Attribution{At: stamp.Time, As: thread.Agent, Actor: "ann"}, Revision: w.Revision + 1,
	}, g)
	assert.Equal(t, thread.WaitingHuman, th.Status)
	assert.Equal(t, "ship", th.Reason)
	w.commit()
	assert.Empty(t, w.can("it", "deploy", w.now()), "to ask gives nothing")

	second := w.asked("appr-2", "it", "delete_file")
	assert.Equal(t, thread.Block, second.Fallback, "unless said otherwise")
	assert.Nil(t, second.Deadline)

	_, th = w.decided("appr-2", thread.Deny, "keep it")
	assert.Equal(t, thread.WaitingHuman, th.Status, "the first one is open")
	g, th = w.decided("appr-1", thread.Approve, "")
	assert.Equal(t, thread.Active, th.Status)
	assert.Equal(t, thread.GrantApproved, g.Status)
	assert.Equal(t, thread.User, g.Decided.As)
	assert.Equal(t, "approval", w.can("it", "deploy", w.now()))
	assert.Equal(t, "approval", w.can("it", "code_edit", w.now()))
	assert.Empty(t, w.can("it", "delete_file", w.now()))
}

func TestOnlyALiveThreadThatIsNotSuspendedMayRequest(t *testing.T) {
	t.Parallel()
	want := map[thread.Status]codes.Code{
		thread.Suspended: codes.InvalidTransition, thread.Completed: codes.NotWritable, thread.Cancelled: codes.NotWritable, thread.Archived: codes.NotWritable,
	}
	for _, status := range thread.Statuses() {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			w := standing(t, status)
			_, _, err := w.Request(thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"deploy"}}, w.stamp(thread.Agent))
			if code, refused := want[status]; refused {
				failed(t, err, code, map[string]any{"threadId": thread.ThreadID("it")})
				assert.Empty(t, w.Changes())
				return
			}
			require.NoError(t, err)
		})
	}
	_, _, err := withThreads(t, "it").Request(thread.NewGrant{Thread: "nobody"}, thread.Stamp{})
	failed(t, err, codes.ThreadNotFound, nil)
}

// Only a person decides, for every decision and every grant.
func TestOnlyAPersonDecides(t *testing.T) {
	t.Parallel()
	for _, as := range []thread.ActorKind{thread.Agent, thread.System} {
		for _, d := range []thread.GrantDecision{thread.Approve, thread.Deny, thread.Revoke} {
			w := withThreads(t, "it")
			w.asked("appr-open", "it", "deploy")
			w.asked("appr-done", "it", "code_edit")
			w.decided("appr-done", thread.Approve, "")
			for _, id := range []string{"appr-open", "appr-done"} {
				_, _, err := w.DecideGrant(id, d, "", w.stamp(as))
				e := failed(t, err, codes.PermissionDenied, map[string]any{"approvalId": thread.ApprovalID(id), "threadId": thread.ThreadID("it")})
				assert.Regexp(t, "^A person decides", e.Hint())
				assert.Equal(t, []string{"leslie approvals"}, e.Next())
			}
			_, err := w.Lifecycle("it", thread.Resume, "", w.stamp(as))
			failed(t, err, codes.PermissionDenied, nil)
			assert.Empty(t, w.Changes(), "%s by %s", d, as)
		}
	}
}

func TestADecisionFromEveryStatus(t *testing.T) {
	t.Parallel()
	const refused = thread.GrantStatus("-")
	want := map[thread.GrantStatus]map[thread.GrantDecision]thread.GrantStatus{
		thread.GrantOpen:      {thread.Approve: thread.GrantApproved, thread.Deny: thread.GrantDenied, thread.Revoke: thread.GrantWithdrawn},
		thread.GrantApproved:  {thread.Approve: "", thread.Deny: refused, thread.Revoke: thread.GrantWithdrawn},
		thread.GrantDenied:    {thread.Approve: refused, thread.Deny: "", thread.Revoke: refused},
		thread.GrantSkipped:   {thread.Approve: refused, thread.Deny: refused, thread.Revoke: refused},
		thread.GrantWithdrawn: {thread.Approve: refused, thread.Deny: refused, thread.Revoke: ""},
	}
	for from, row := range want {
		for d, to := range row {
			t.Run(string(d)+" from "+string(from), func(t *testing.T) {
				t.Parallel()
				w := withThreads(t, "it")
				w.grantThatIs(from)
				was, err := w.Approval("appr-1")
				require.NoError(t, err)
				g, th, err := w.DecideGrant("appr-1", d, "because", w.stamp(thread.User))
				switch to {
				case refused:
					failed(t, err, codes.InvalidTransition, map[string]any{"approvalId": thread.ApprovalID("appr-1"), "current": from})
					assert.Empty(t, w.Changes())
				case "":
					require.NoError(t, err)
					assert.Equal(t, was, g, "the same decision again changes nothing, the reason neither")
					assert.Empty(t, w.Changes())
				default:
					require.NoError(t, err)
					assert.Equal(t, to, g.Status)
					assert.Equal(t, "because", g.Verdict)
					assert.Equal(t, thread.Active, th.Status)
					assert.Equal(t, w.Revision+1, g.Revision)
				}
			})
		}
	}
}

// grantThatIs creates appr-1 of the thread it, with this status.
func (w *fixture) grantThatIs(status thread.GrantStatus) {
	w.t.Helper()
	w.askedWith(thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"deploy"}, Timeout: time.Second, Fallback: thread.Skip})
	switch status {
	case thread.GrantApproved:
		w.decided("appr-1", thread.Approve, "")
	case thread.GrantDenied:
		w.decided("appr-1", thread.Deny, "")
	case thread.GrantWithdrawn:
		w.decided("appr-1", thread.Revoke, "")
	case thread.GrantSkipped:
		w.Expire(w.stamp(thread.System))
		w.commit()
	}
	g, err := w.Approval("appr-1")
	require.NoError(w.t, err)
	require.Equal(w.t, status, g.Status)
}

func TestAMissingGrantCannotBeDecided(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	w.asked("appr-abcd1111", "it", "deploy")
	w.asked("appr-abcd2222", "it", "code_edit")
	_, _, err := w.DecideGrant("appr-abcd1112", thread.Approve, "", w.stamp(thread.User))
	failed(t, err, codes.ApprovalNotFound, map[string]any{"approvalId": "appr-abcd1112", "nearest": "appr-abcd1111"})
	_, _, err = w.DecideGrant("appr-abcd", thread.Approve, "", w.stamp(thread.User))
	e := failed(t, err, codes.AmbiguousID, map[string]any{"count": 2})
	assert.Equal(t, []string{"leslie approvals --all"}, e.Next())
	g, _ := w.decided("appr-abcd2", thread.Approve, "")
	assert.Equal(t, thread.ApprovalID("appr-abcd2222"), g.ID, "the beginning of an id is enough")
}

func TestResumingOrCancellingWithdrawsOpenRequests(t *testing.T) {
	t.Parallel()
	for _, action := range []thread.Action{thread.Resume, thread.Cancel} {
		w := withThreads(t, "it", "other")
		w.asked("appr-1", "it", "deploy")
		w.asked("appr-2", "it", "code_edit")
		w.asked("appr-3", "other", "deploy")
		w.moved("it", action)
		for id, want := range map[string]thread.GrantStatus{"appr-1": thread.GrantWithdrawn, "appr-2": thread.GrantWithdrawn, "appr-3": thread.GrantOpen} {
			g, err := w.Approval(id)
			require.NoError(t, err)
			assert.Equal(t, want, g.Status, "%s after %s", id, action)
		}
		assert.Equal(t, thread.WaitingHuman, w.statusOf("other"))
	}
}

func TestAPersonDelegates(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it", "other")
	stamp := w.stamp(thread.User)
	g, th, err := w.Delegate(thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"deploy", "code_edit"}, Reason: "today", Timeout: time.Hour}, thread.DefaultPolicy(), stamp)
	require.NoError(t, err)
	w.commit()
	until := stamp.Time.Add(time.Hour)
	assert.Equal(t, thread.Delegation, g.Kind)
	assert.Equal(t, thread.GrantApproved, g.Status)
	assert.Equal(t, &until, g.Until)
	assert.Nil(t, g.Deadline)
	assert.Equal(t, thread.Active, th.Status, "it waits for nobody")
	assert.Equal(t, []string{"code_edit", "deploy"}, g.Scope)

	why, err := w.Can("it", "deploy", thread.DefaultPolicy(), until.Add(-time.Millisecond))
	require.NoError(t, err)
	assert.Equal(t, thread.Permission{By: "delegation", Grant: "appr-1", Until: &until}, why)
	assert.Empty(t, w.can("it", "deploy", until), "it has run out, and nobody needed to say so")
	assert.Empty(t, w.can("it", "delete_file", stamp.Time), "nothing but what was given")
	assert.Empty(t, w.can("other", "deploy", stamp.Time), "to nobody else")
	assert.Equal(t, thread.GrantWithdrawn, g.EffectiveAt(until).Status)
	assert.Equal(t, thread.GrantApproved, g.EffectiveAt(until.Add(-1)).Status)

	late := thread.Stamp{Time: until, As: thread.User, Actor: "ann"}
	_, _, err = w.DecideGrant("appr-1", thread.Approve, "", late)
	failed(t, err, codes.InvalidTransition, map[string]any{"current": thread.GrantWithdrawn})
	_, _, err = w.DecideGrant("appr-1", thread.Revoke, "", late)
	require.NoError(t, err)
	assert.Empty(t, w.Changes(), "it is over already")
}

func TestTheGrantThatEndsLastIsReported(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	give := func(id string, timeout time.Duration) {
		_, _, err := w.Delegate(thread.NewGrant{ID: thread.ApprovalID(id), Thread: "it", Scope: []string{"deploy"}, Timeout: timeout}, thread.DefaultPolicy(), w.stamp(thread.User))
		require.NoError(t, err)
		w.commit()
	}
	longest := func() thread.ApprovalID {
		why, err := w.Can("it", "deploy", thread.DefaultPolicy(), w.now())
		require.NoError(t, err)
		return why.Grant
	}
	give("appr-b", time.Hour)
	give("appr-c", 2*time.Hour)
	give("appr-a", 90*time.Minute)
	assert.Equal(t, thread.ApprovalID("appr-c"), longest())
	give("appr-d", 0)
	assert.Equal(t, thread.ApprovalID("appr-d"), longest(), "one without an end")
	w.decided("appr-d", thread.Revoke, "")
	assert.Equal(t, thread.ApprovalID("appr-c"), longest(), "what was taken back counts for nothing")
}

// An agent passes on only what every thread has, and only while every thread has it.
func TestAnAgentCannotDelegateWhatAPersonHasToGrant(t *testing.T) {
	t.Parallel()
	for _, as := range []thread.ActorKind{thread.Agent, thread.System} {
		w := withThreads(t, "it")
		_, _, err := w.Delegate(thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"read", "deploy"}}, thread.DefaultPolicy(), w.stamp(as))
		e := failed(t, err, codes.PermissionDenied, map[string]any{"capability": "deploy", "threadId": thread.ThreadID("it")})
		assert.Equal(t, []string{"leslie transfer it --direction request_approval --scope deploy"}, e.Next())
		assert.Empty(t, w.Changes())

		_, _, err = w.Delegate(thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"resolve_conflict"}}, thread.DefaultPolicy(), w.stamp(as))
		require.NoError(t, err)
		w.commit()
		strict := thread.DefaultPolicy()
		strict["resolve_conflict"] = thread.RequireHuman
		_, err = w.Can("it", "resolve_conflict", strict, w.now())
		failed(t, err, codes.PermissionDenied, nil)
	}
}

func TestGrantsEndWithTheirThread(t *testing.T) {
	t.Parallel()
	for _, action := range []thread.Action{thread.Done, thread.Cancel} {
		w := withThreads(t, "it")
		w.asked("appr-1", "it", "deploy")
		w.decided("appr-1", thread.Approve, "")
		require.Equal(t, "approval", w.can("it", "deploy", w.now()))
		w.moved("it", action)
		_, err := w.Can("it", "deploy", thread.DefaultPolicy(), w.now())
		e := failed(t, err, codes.PermissionDenied, nil)
		assert.Contains(t, e.Hint(), "ended with it")
		assert.Equal(t, []string{"leslie status it"}, e.Next(), "it cannot ask any more")
		assert.Equal(t, "policy", w.can("it", "read", w.now()))
		_, _, err = w.DecideGrant("appr-1", thread.Revoke, "", w.stamp(thread.User))
		failed(t, err, codes.NotWritable, map[string]any{"threadId": thread.ThreadID("it")})
		assert.Empty(t, w.Changes())
	}
}

func TestGrantsOfAnArchivedThreadStayReadable(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it", "other")
	w.asked("appr-2", "it", "deploy")
	w.decided("appr-2", thread.Approve, "fine")
	w.asked("appr-1", "other", "deploy")
	w.moved("it", thread.Done, thread.Archive)

	assert.Empty(t, w.ApprovalsOf("it"))
	g, err := w.Approval("appr-2")
	require.NoError(t, err)
	assert.Equal(t, "fine", g.Verdict)
	assert.Empty(t, w.can("it", "deploy", w.now()))
	for _, d := range []thread.GrantDecision{thread.Revoke, thread.Deny} {
		_, _, err := w.DecideGrant("appr-2", d, "", w.stamp(thread.User))
		require.Error(t, err, "%s", d)
		assert.Empty(t, w.Changes(), "a record of the archive is not written again")
	}
	_, _, err = w.DecideGrant("appr-2", thread.Approve, "", w.stamp(thread.User))
	require.NoError(t, err, "it is approved already")
	assert.Empty(t, w.Changes())

	archived, err := w.ArchivedApprovals("it")
	require.NoError(t, err)
	assert.Equal(t, []thread.ApprovalID{"appr-2"}, approvalIDs(archived))
	none, err := w.ArchivedApprovals("other")
	require.NoError(t, err)
	assert.Empty(t, none)
	all, err := w.AllApprovals()
	require.NoError(t, err)
	assert.Equal(t, []thread.ApprovalID{"appr-2", "appr-1"}, approvalIDs(all), "the oldest first")
	w.archive.err = errUnreadable
	_, err = w.AllApprovals()
	assert.ErrorIs(t, err, errUnreadable)
}

func approvalIDs(grants []thread.Approval) (out []thread.ApprovalID) {
	for _, g := range grants {
		out = append(out, g.ID)
	}
	return out
}

func TestADenialSaysHowToRequestTheCapability(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	next := func() (hint string, next []string) {
		_, err := w.Can("it", "deploy", thread.DefaultPolicy(), w.now())
		e := failed(t, err, codes.PermissionDenied, map[string]any{"capability": "deploy", "threadId": thread.ThreadID("it")})
		return e.Hint(), e.Next()
	}
	_, lines := next()
	assert.Equal(t, []string{"leslie transfer it --direction request_approval --scope deploy"}, lines)
	w.asked("appr-1", "it", "deploy")
	hint, lines := next()
	assert.Contains(t, hint, "a person decides")
	assert.Equal(t, []string{"leslie approvals"}, lines, "once it was asked for, asking again helps nobody")
	w.decided("appr-1", thread.Deny, "")
	w.moved("it", thread.Suspend)
	_, lines = next()
	assert.Equal(t, []string{"leslie status it"}, lines, "one that is set aside cannot ask")
}

// At the deadline itself, the deadline has passed.
func TestAPassedDeadlineAppliesTheFallback(t *testing.T) {
	t.Parallel()
	cases := []struct {
		fallback thread.Fallback
		to       thread.GrantStatus
		status   thread.Status
		can      string
	}{
		{thread.Block, thread.GrantOpen, thread.WaitingHuman, ""},
		{thread.Skip, thread.GrantSkipped, thread.Active, ""},
		{thread.AutoApprove, thread.GrantApproved, thread.Active, "approval"},
	}
	for _, c := range cases {
		t.Run(string(c.fallback), func(t *testing.T) {
			t.Parallel()
			w := withThreads(t, "it")
			g := w.askedWith(thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"deploy"}, Timeout: 30 * time.Second, Fallback: c.fallback})
			at := *g.Deadline
			early := thread.Stamp{Time: at.Add(-time.Millisecond), As: thread.System, Actor: "leslie"}
			assert.False(t, w.Overdue(early.Time))
			assert.False(t, g.Late(early.Time))
			assert.Empty(t, w.Expire(early))
			assert.Empty(t, w.Changes(), "it is not time yet")

			assert.True(t, g.Late(at))
			assert.Equal(t, c.fallback != thread.Block, w.Overdue(at))
			for _, looked := range []time.Duration{0, time.Hour} { // whoever looks, and whenever, sees the same
				s := w.Fork()
				s.Expire(thread.Stamp{Time: at.Add(looked), As: thread.System, Actor: "leslie"})
				got, err := s.Approval("appr-1")
				require.NoError(t, err)
				assert.Equal(t, c.to, got.Status)
				th, err := s.Thread("it")
				require.NoError(t, err)
				assert.Equal(t, c.status, th.Status)
				if c.fallback != thread.Block {
					assert.Equal(t, &thread.Attribution{At: at, As: thread.System, Actor: "leslie"}, got.Decided)
					assert.Equal(t, at, th.Updated)
				}
				assert.Equal(t, c.fallback != thread.Block, got.DecidedByDeadline())
			}
			assert.Equal(t, map[bool]thread.ThreadID{true: "it", false: ""}[c.fallback != thread.Block], w.Expire(thread.Stamp{Time: at, As: thread.System, Actor: "leslie"}))
			w.commit()
			assert.Equal(t, c.can, w.can("it", "deploy", at))
			assert.False(t, w.Overdue(at.Add(time.Hour)), "once is enough")
			if c.fallback == thread.Block {
				_, th := w.decided("appr-1", thread.Approve, "late, but fine")
				assert.Equal(t, thread.Active, th.Status, "a person may still decide")
			}
		})
	}
}

func TestADeadlineAffectsOnlyItsOwnRequest(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it", "other")
	w.askedWith(thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"deploy"}, Timeout: time.Second, Fallback: thread.Skip})
	w.asked("appr-2", "it", "code_edit")
	w.askedWith(thread.NewGrant{ID: "appr-3", Thread: "other", Scope: []string{"deploy"}, Timeout: 24 * time.Hour, Fallback: thread.AutoApprove})
	w.Expire(w.stamp(thread.System))
	w.commit()
	assert.Equal(t, thread.WaitingHuman, w.statusOf("it"), "another request of it is open")
	assert.Equal(t, thread.WaitingHuman, w.statusOf("other"))
	_, th := w.decided("appr-2", thread.Deny, "")
	assert.Equal(t, thread.Active, th.Status)
}

func TestAnAgentMayNotRequestApprovalByDeadline(t *testing.T) {
	t.Parallel()
	in := thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"deploy", "code_edit"}, Timeout: time.Hour, Fallback: thread.AutoApprove}
	for _, as := range []thread.ActorKind{thread.Agent, thread.System} {
		w := withThreads(t, "it")
		_, _, err := w.Request(in, w.stamp(as))
		e := failed(t, err, codes.PermissionDenied, map[string]any{"threadId": thread.ThreadID("it")})
		assert.Contains(t, e.Hint(), "approvals.agentAutoApprove")
		assert.Equal(t, []string{"leslie transfer it --direction request_approval --scope deploy,code_edit"}, e.Next(), "the same question without it")
		assert.Empty(t, w.Changes())
		allowed := in
		allowed.AgentAutoApprove = true
		_, _, err = w.Request(allowed, w.stamp(as))
		require.NoError(t, err, "where a person's own configuration allows it")
	}
	w := withThreads(t, "it")
	_, _, err := w.Request(in, w.stamp(thread.User))
	require.NoError(t, err, "a person may write it")
}

func TestAHandoffToAgentsEndsTheClaimOfWhoeverHadIt(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	for _, as := range []thread.ActorKind{thread.User, thread.Agent} {
		_, err := w.Claim("it", time.Hour, w.stamp(as))
		require.NoError(t, err)
		th, err := w.HandOff("it", thread.ByAgent, "", w.stamp(as))
		require.NoError(t, err)
		assert.Nil(t, th.Claim, as)
		w.commit()
	}
}

func TestAHandoffChangesTheExecutor(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	th, _ := w.Threads.Get("it")
	th.Claim = &thread.Claim{Holder: "bot", As: thread.Agent, At: noon, Until: noon.Add(time.Hour), For: time.Hour}
	w.Threads.Put(th)
	w.commit()

	same, err := w.HandOff("it", thread.ByAgent, "why", w.stamp(thread.Agent))
	require.NoError(t, err)
	assert.Empty(t, w.Changes(), "it is the agent's already")
	assert.NotNil(t, same.Claim)

	stamp := w.stamp(thread.Agent)
	th, err = w.HandOff("it", thread.ByHuman, "needs taste", stamp)
	require.NoError(t, err)
	assert.Equal(t, thread.ByHuman, th.Executor)
	assert.Nil(t, th.Claim, "whoever worked on it does so no more")
	assert.Equal(t, "needs taste", th.Reason)
	assert.Equal(t, stamp.Time, th.Updated)
	assert.Equal(t, thread.Active, th.Status)
	_, err = standing(t, thread.Completed).HandOff("it", thread.ByHuman, "", stamp)
	failed(t, err, codes.NotWritable, nil)
}

func TestARefusalSaysByWhomAndWhy(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	w.asked("appr-1", "it", "deploy", "code_edit")
	w.asked("appr-2", "it", "deploy")
	w.asked("appr-3", "it", "code_edit")
	denied, _ := w.decided("appr-1", thread.Deny, "not on a Friday")
	e := failed(t, denied.Refusal(), codes.ApprovalDenied, map[string]any{
		"capability": "code_edit, deploy", "actor": "ann", "reason": "not on a Friday", "approvalId": thread.ApprovalID("appr-1"), "threadId": thread.ThreadID("it"),
	})
	assert.Contains(t, e.Error(), "code_edit, deploy was denied by ann: not on a Friday")
	mute, _ := w.decided("appr-2", thread.Deny, "")
	assert.Contains(t, mute.Refusal().Error(), "deploy was denied by ann. ", "nothing is made up")
	withdrawn, _ := w.decided("appr-3", thread.Revoke, "")
	assert.Contains(t, withdrawn.Refusal().Error(), "it was withdrawn")
}
