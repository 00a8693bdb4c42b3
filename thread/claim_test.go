package thread_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

// by returns the stamp of an agent at a time after noon.
func (w *fixture) by(actor string, after time.Duration) thread.Stamp {
	stamp := w.stamp(thread.Agent)
	stamp.Actor, stamp.Time = actor, noon.Add(after)
	return stamp
}

// claimedBy claims the thread it for an hour and commits.
func (w *fixture) claimedBy(actor string, after time.Duration) thread.Thread {
	w.t.Helper()
	th, err := w.Claim("it", time.Hour, w.by(actor, after))
	require.NoError(w.t, err)
	w.commit()
	return th
}

func TestAThreadMayBeClaimedUntilItIsTerminated(t *testing.T) {
	t.Parallel()
	for _, status := range thread.Statuses() {
		w := standing(t, status)
		th, err := w.Claim("it", time.Hour, w.by("bob", 0))
		if status.Terminated() {
			failed(t, err, codes.NotWritable, map[string]any{"status": status})
			assert.Empty(t, w.Changes())
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, &thread.Claim{Holder: "bob", As: thread.Agent, At: noon, Until: noon.Add(time.Hour), For: time.Hour}, th.Claim)
		assert.Equal(t, status, th.Status)
	}
}

func TestAClaimExcludesOthersUntilItExpires(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	w.claimedBy("bob", 0)
	rules := map[string]func(thread.Stamp) error{
		"claim":   func(s thread.Stamp) error { _, err := w.Claim("it", time.Hour, s); return err },
		"renew":   func(s thread.Stamp) error { _, err := w.Renew("it", s); return err },
		"release": func(s thread.Stamp) error { _, err := w.Release("it", "", s); return err },
	}
	for name, rule := range rules {
		e := failed(t, rule(w.by("eve", 59*time.Minute)), codes.Claimed, map[string]any{
			"threadId": thread.ThreadID("it"), "holder": "bob", "until": noon.Add(time.Hour), "retryAfterMs": int64(60_000),
		})
		assert.Equal(t, "Thread 'it' is claimed by bob until 2026-02-09T13:00:00Z. The claim expires then unless its holder renews it.", e.Error(), name)
		assert.Equal(t, []string{"leslie list --ready"}, e.Next())
		assert.Empty(t, w.Changes(), name)
	}
	th, err := w.Claim("it", time.Minute, w.by("eve", time.Hour))
	require.NoError(t, err, "at its end it counts for nothing")
	assert.Equal(t, "eve", th.Claim.Holder)
	assert.Equal(t, noon.Add(61*time.Minute), th.Claim.Until)
	w.commit()
	failed(t, rules["renew"](w.by("bob", time.Hour)), codes.Claimed, map[string]any{"holder": "eve"})
}

func TestAnOwnClaimIsExtendedAndNeverShortened(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	w.claimedBy("bob", 0)
	th, err := w.Claim("it", time.Hour, w.by("bob", 30*time.Minute))
	require.NoError(t, err)
	assert.Equal(t, noon.Add(90*time.Minute), th.Claim.Until)
	assert.Equal(t, noon, th.Claim.At)
	w.commit()
	th, err = w.Claim("it", time.Minute, w.by("bob", 31*time.Minute))
	require.NoError(t, err)
	assert.Equal(t, noon.Add(90*time.Minute), th.Claim.Until)
	assert.Equal(t, time.Minute, th.Claim.For)
}

func TestAHolderCanRenewAnExpiredClaim(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	w.claimedBy("bob", 0)
	th, err := w.Renew("it", w.by("bob", 5*time.Hour))
	require.NoError(t, err)
	assert.Equal(t, noon.Add(6*time.Hour), th.Claim.Until)

	_, err = w.Renew("it", w.by("eve", 9*time.Hour))
	e := failed(t, err, codes.InvalidArgument, map[string]any{"threadId": thread.ThreadID("it")})
	assert.Equal(t, []string{"leslie claim it"}, e.Next())
	other := standing(t, thread.Active)
	_, err = other.Renew("it", other.by("bob", 0))
	failed(t, err, codes.InvalidArgument, nil)
	other.moved("it", thread.Done)
	_, err = other.Renew("it", other.by("bob", 0))
	failed(t, err, codes.NotWritable, nil)
}

func TestAClaimIsReleasedByItsHolderOrAPerson(t *testing.T) {
	t.Parallel()
	person := thread.Stamp{Time: noon, As: thread.User, Actor: "kim"}
	for name, stamp := range map[string]thread.Stamp{
		"its holder":                       {Time: noon, As: thread.Agent, Actor: "bob"},
		"its holder, after it has run out": {Time: noon.Add(9 * time.Hour), As: thread.Agent, Actor: "bob"},
		"a person":                         person,
	} {
		w := standing(t, thread.Active)
		w.claimedBy("bob", 0)
		th, err := w.Release("it", "", stamp)
		require.NoError(t, err, name)
		assert.Nil(t, th.Claim, name)
		assert.NotEmpty(t, w.Changes(), name)
	}
	for _, status := range thread.Statuses() {
		w := standing(t, status)
		_, err := w.Release("it", "", person)
		require.NoError(t, err, "%s", status)
		assert.Empty(t, w.Changes(), "nobody has claimed it")
	}
	w := standing(t, thread.Active)
	w.claimedBy("bob", 0)
	_, err := w.Release("it", "", w.by("eve", time.Hour))
	require.NoError(t, err)
	assert.Empty(t, w.Changes(), "another's that has run out counts for nothing")
}

func TestAClaimEndsWithItsThread(t *testing.T) {
	t.Parallel()
	for _, action := range []thread.Action{thread.Done, thread.Cancel} {
		w := standing(t, thread.Active)
		w.claimedBy("bob", 0)
		assert.Nil(t, w.moved("it", action).Claim, "%s", action)
	}
	w := standing(t, thread.Active)
	w.claimedBy("bob", 0)
	assert.NotNil(t, w.moved("it", thread.Suspend).Claim)
}

func TestAClaimPreventsNobodyFromWriting(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	w.claimedBy("bob", 0)
	_, err := w.Edit("it", thread.Edit{AddTags: []string{"x"}}, w.by("eve", 0))
	require.NoError(t, err)
	_, err = w.Lifecycle("it", thread.Done, "", w.by("eve", 0))
	require.NoError(t, err)
}

func TestWritingExtendsAClaimWithLessThanHalfLeft(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, actor string
		after, want time.Duration
	}{
		{"half is left", "bob", 30 * time.Minute, time.Hour},
		{"less is left", "bob", 31 * time.Minute, 91 * time.Minute},
		{"somebody else writes", "eve", 31 * time.Minute, time.Hour},
		{"it has run out", "bob", time.Hour, time.Hour},
	}
	for _, tt := range tests {
		w := standing(t, thread.Active)
		w.claimedBy("bob", 0)
		w.Prolong("it", w.by(tt.actor, tt.after))
		w.Prolong("nobody", w.by(tt.actor, tt.after))
		assert.Equal(t, noon.Add(tt.want), w.it().Claim.Until, tt.name)
		assert.Equal(t, tt.want != time.Hour, len(w.Changes()) > 0, tt.name)
	}
}

func TestTheNextThreadIsTheFirstThatIsReady(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("suspended", "first", "second", "waits")
	w.spawned(thread.NewThread{ID: "person", Executor: thread.ByHuman})
	w.moved("suspended", thread.Suspend)
	_, err := w.Edit("waits", thread.Edit{AddDepends: []string{"second"}}, w.stamp(thread.User))
	require.NoError(t, err)
	w.commit()

	agents, anybody := thread.ByAgent, thread.Executor("")
	next := func(actor string, executor thread.Executor, after time.Duration) string {
		th, ok, err := w.ClaimNext(time.Hour, executor, w.by(actor, after))
		require.NoError(t, err)
		assert.Equal(t, ok, len(w.Changes()) > 0)
		if ok {
			assert.Equal(t, actor, th.Claim.Holder)
		}
		w.commit()
		return string(th.ID)
	}
	assert.Equal(t, "first", next("bob", agents, 0))
	assert.Equal(t, "second", next("bob", agents, 0), "one's own is taken, too")
	assert.Empty(t, next("bob", agents, 0), "what is for people, suspended or waits is left")
	assert.Equal(t, "person", next("kim", anybody, 0))
	assert.Empty(t, next("kim", anybody, 0))
	assert.Equal(t, "first", next("eve", agents, time.Hour), "a claim that has run out is none")

	ready, err := w.List(thread.Filter{Ready: true, Now: noon.Add(59 * time.Minute)})
	require.NoError(t, err)
	assert.Empty(t, ready)
	ready, err = w.List(thread.Filter{Ready: true, Now: noon.Add(time.Hour)})
	require.NoError(t, err)
	assert.Equal(t, []thread.ThreadID{"second", "person"}, ids(ready))
}

func TestAPersonAndTheLeadTakeAThreadOverAndTheHolderIsTold(t *testing.T) {
	t.Parallel()
	lead := thread.Stamp{Time: noon, As: thread.Agent, Actor: "lead"}
	for name, tt := range map[string]struct {
		by      thread.Stamp
		refused bool
	}{
		"a person":             {thread.Stamp{Time: noon, As: thread.User, Actor: "kim"}, false},
		"the lead":             {lead, false},
		"another agent":        {thread.Stamp{Time: noon, As: thread.Agent, Actor: "eve"}, true},
		"a person in an agent": {thread.Stamp{Time: noon, As: thread.User, Actor: "eve", Doubted: true}, true},
		"the system":           {thread.Stamp{Time: noon, As: thread.System, Actor: "eve"}, true},
	} {
		w := withThreads(t, "above", "other")
		w.spawned(thread.NewThread{ID: "it", Title: "It", Intent: "it", Parent: "above", Executor: thread.ByAgent, Inherit: thread.InheritNone})
		_, err := w.Claim("above", time.Hour, lead)
		require.NoError(t, err)
		bob := thread.Stamp{Time: noon, As: thread.Agent, Actor: "bob"}
		_, err = w.Claim("it", time.Hour, bob)
		require.NoError(t, err)
		w.commit()
		th, from, err := w.TakeOver("it", "bob is gone", 2*time.Hour, tt.by)
		if tt.refused {
			failed(t, err, codes.Claimed, nil)
			assert.Empty(t, w.Changes(), name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, "bob", from.Holder, name)
		assert.Equal(t, tt.by.Actor, th.Claim.Holder, name)
		told, ended := th.Ending("bob", noon)
		require.True(t, ended, name)
		assert.Equal(t, "bob is gone", told.Context.Text("reason"), name)
		_, ended = th.Ending(tt.by.Actor, noon)
		assert.False(t, ended, name)
		assert.Equal(t, []thread.ThreadID{"it"}, ids(w.FormerlyHeldBy("bob")), name)

		// Its claim is somebody else's now, and what it tries says why.
		_, err = w.RespectClaim("it", bob)
		failed(t, err, codes.Claimed, map[string]any{"endReason": "bob is gone", "endedBy": tt.by.Actor})
		_, err = w.Renew("it", bob)
		failed(t, err, codes.Claimed, map[string]any{"endReason": "bob is gone"})

		// Once the new holder has ended the thread, nobody is told anything there any more.
		_, err = w.Lifecycle("it", thread.Done, "", tt.by)
		require.NoError(t, err, name)
		_, _, err = w.Inject(thread.NewInjection{ID: "inj-1", Thread: "it", Type: thread.InjectData, Urgency: thread.NextStep, Content: "x"}, lead)
		failed(t, err, codes.NotWritable, nil)
	}
}

func TestTakingOverWhatNobodyHoldsIsClaimingIt(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	th, from, err := w.TakeOver("it", "why", time.Hour, thread.Stamp{Time: noon, As: thread.Agent, Actor: "eve"})
	require.NoError(t, err)
	assert.Nil(t, from)
	assert.Equal(t, "eve", th.Claim.Holder)
	assert.Empty(t, th.Former)
}

func TestAPersonsReleaseOfAnothersClaimIsTold(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	w.claimedBy("bob", 0)
	th, err := w.Release("it", "take the other one", thread.Stamp{Time: noon, As: thread.User, Actor: "kim"})
	require.NoError(t, err)
	told, ended := th.Ending("bob", noon)
	require.True(t, ended)
	assert.Equal(t, "released", told.Context.Text("how"))
	assert.Equal(t, "take the other one", told.Context.Text("reason"))
}

func TestWhoseClaimEndedIsNotToldOnceAnotherHasCompletedTheThread(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	w.claimedBy("bob", 0)
	kim := thread.Stamp{Time: noon, As: thread.User, Actor: "kim"}
	_, _, err := w.TakeOver("it", "bob is gone", time.Hour, kim)
	require.NoError(t, err)
	kim.Time = noon.Add(time.Minute)
	done, err := w.Lifecycle("it", thread.Done, "", kim)
	require.NoError(t, err)
	_, told := done.Thread.Ending("bob", kim.Time)
	assert.False(t, told)
}

func TestAPersonsThreadStaysTheirsOnAnotherMachine(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]thread.Executor{"kim@desk-bbbbbbbb": thread.ByHuman, "w2@desk-bbbbbbbb": thread.ByAgent, "w2": thread.ByAgent} {
		w := withThreads(t, "above")
		w.spawned(thread.NewThread{ID: "it", Title: "It", Intent: "it", Executor: thread.ByHuman, Inherit: thread.InheritNone})
		th, err := w.HandTo("it", to, "", time.Hour, thread.Stamp{Time: noon, As: thread.User, Actor: "kim@laptop-aaaaaaaa"})
		require.NoError(t, err, to)
		assert.Equal(t, want, th.Executor, to)
		assert.Equal(t, to, th.Claim.Holder)
	}
}
