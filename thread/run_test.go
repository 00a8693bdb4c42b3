package thread_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

func number(n int64) *int64 { return &n }

func TestARunGoesOnUntilItEndsAndTheNextOneKnowsWhatWasUsed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("ship")
	w.threads("it")
	who := thread.Stamp{Time: noon, As: thread.User, Actor: "kim"}
	begin := func(id, agent string) thread.Run {
		t.Helper()
		it, err := w.BeginRun("it", thread.NewRun{ID: thread.RunID(id), Agent: agent, Dir: "/p"}, who)
		require.NoError(t, err)
		require.Equal(t, "run:it", it.Claim.Holder)
		require.Equal(t, thread.Agent, it.Claim.As)
		return *it.LastRun()
	}
	end := func(id string, stop thread.RunEnd) thread.Thread {
		t.Helper()
		it, err := w.EndRun("it", thread.RunID(id), who, func(r *thread.Run) {
			r.Stop, r.Turns, r.SessionID = stop, r.Turns+1, "s"
			r.Used = r.Used.Plus(thread.Use{Input: number(5), Cost: []thread.Cost{{Amount: 1, Currency: "USD"}}})
		})
		require.NoError(t, err)
		require.Nil(t, it.Claim)
		return it
	}
	begin("one", "a")
	assert.Equal(t, thread.RunParked, end("one", thread.RunWaits).LastRun().Phase)
	again := begin("two", "a")
	assert.EqualValues(t, "one", again.ID, "a parked run goes on")
	assert.Equal(t, 2, again.Attempts)
	assert.Empty(t, again.Stop)
	assert.Nil(t, again.EndedAt)
	end("one", thread.RunDone)
	next := begin("three", "a")
	assert.EqualValues(t, "three", next.ID)
	assert.Equal(t, "s", next.SessionID, "the agent's session goes on")
	used := thread.Use{Input: number(10), Cost: []thread.Cost{{Amount: 2, Currency: "USD"}}}
	assert.Equal(t, &thread.RunTotals{Runs: 1, Turns: 2, Used: used, Agents: []thread.AgentTotals{{Agent: "a", Runs: 1, Turns: 2, Used: used}}}, next.Before)
	other := begin("four", "b")
	assert.Empty(t, other.SessionID, "another agent has no session")
	it := end("four", thread.RunDone)
	assert.Equal(t, 3, thread.RunsOf(it).Runs)
	assert.EqualValues(t, 15, *thread.RunsOf(it).Used.Input)
	_, err := w.ChangeRun("it", "one", who, func(*thread.Run) {})
	assert.True(t, codes.Has(err, codes.InvalidArgument), "%v", err)
}

func TestARunThatGoesOnWithAnotherAgentCountsForBoth(t *testing.T) {
	t.Parallel()
	used := func(input int64, cost float64) thread.Use {
		return thread.Use{Input: number(input), Cost: []thread.Cost{{Amount: cost, Currency: "USD"}}}
	}
	turn := func(r *thread.Run, input int64, cost float64) {
		r.Turns, r.Used = r.Turns+1, r.Used.Plus(used(input, cost))
	}
	run := thread.Run{ID: "run-1", Agent: "b", SessionID: "s", Phase: thread.RunRunning}
	turn(&run, 5, 1)
	turn(&run, 5, 1)
	run.ReplaceAgent("a")
	assert.Equal(t, "a", run.Agent)
	assert.Empty(t, run.SessionID)
	turn(&run, 7, 0.5)
	run.ReplaceAgent("b")
	turn(&run, 1, 0.25)
	totals := thread.RunsOf(thread.Thread{Run: []thread.Run{run}})
	assert.Equal(t, &thread.RunTotals{Runs: 1, Turns: 4, Used: used(18, 2.75), Agents: []thread.AgentTotals{
		{Agent: "a", Runs: 1, Turns: 1, Used: used(7, 0.5)},
		{Agent: "b", Runs: 1, Turns: 3, Used: used(11, 2.25)},
	}}, totals)
	next := thread.Run{ID: "run-2", Agent: "a", Phase: thread.RunRunning, Before: totals}
	turn(&next, 1, 1)
	sum := thread.RunsOf(thread.Thread{Run: []thread.Run{next}})
	assert.Equal(t, thread.AgentTotals{Agent: "a", Runs: 2, Turns: 2, Used: used(8, 1.5)}, sum.Agents[0])
	assert.Equal(t, 2, sum.Runs)
	wanted := thread.Run{Agent: "c", Phase: thread.RunWanted, Before: totals}
	assert.Equal(t, totals, thread.RunsOf(thread.Thread{Run: []thread.Run{wanted}}), "a wish is no run")
	assert.Nil(t, thread.RunsOf(thread.Thread{Run: []thread.Run{{Phase: thread.RunWanted}}}))
}

func TestOnlyAThreadOnWhichItsAgentCanWorkIsRun(t *testing.T) {
	t.Parallel()
	who := thread.Stamp{Time: noon, As: thread.User, Actor: "kim"}
	for name, tc := range map[string]struct {
		prepare func(w *fixture) error
		want    codes.Code
	}{
		"suspended":  {func(w *fixture) error { _, err := w.Lifecycle("it", thread.Suspend, "", who); return err }, codes.InvalidTransition},
		"ended":      {func(w *fixture) error { _, err := w.Lifecycle("it", thread.Done, "", who); return err }, codes.NotWritable},
		"a person's": {func(w *fixture) error { _, err := w.HandOff("it", thread.ByHuman, "", who); return err }, codes.InvalidTransition},
		"waiting": {func(w *fixture) error {
			_, _, err := w.Request(thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"x"}}, who)
			return err
		}, codes.InvalidTransition},
		"claimed": {func(w *fixture) error { _, err := w.Claim("it", time.Hour, w.stamp(thread.Agent)); return err }, codes.Claimed},
		"limited": {func(w *fixture) error { _, err := w.SuspendFor("it", thread.Mistakes{Count: 5}, who); return err }, codes.MistakeLimit},
	} {
		w := newFixture(t)
		w.objective("ship")
		w.threads("it")
		require.NoError(t, tc.prepare(w), name)
		_, err := w.BeginRun("it", thread.NewRun{ID: "run-1", Agent: "a"}, who)
		assert.True(t, codes.Has(err, tc.want), "%s: %v", name, err)
	}
}

func TestAPersonLetsTheAgentOfAThreadGoOnThatTheyHold(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("ship")
	w.threads("it")
	person, agent := w.stamp(thread.User), w.stamp(thread.Agent)
	_, err := w.Claim("it", time.Hour, person)
	require.NoError(t, err)
	it, err := w.BeginRun("it", thread.NewRun{ID: "run-1", Agent: "a"}, person)
	require.NoError(t, err)
	assert.Equal(t, thread.RunHolder("it"), it.Claim.Holder)
	require.NotNil(t, it.HandedOver(w.now()))
	assert.Equal(t, person.Actor, it.HandedOver(w.now()).From)

	w.threads("other")
	_, err = w.Claim("other", time.Hour, agent)
	require.NoError(t, err)
	_, err = w.BeginRun("other", thread.NewRun{ID: "run-2", Agent: "a"}, agent)
	require.True(t, codes.Has(err, codes.Claimed), "an agent that holds it is at work itself")
	assert.Contains(t, codes.Of(err).Hint(), "You hold it yourself: leslie release other")
}

func TestAnApprovedCallIsMadeOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("ship")
	w.threads("it")
	who := thread.Stamp{Time: noon, As: thread.User, Actor: "kim"}
	ask := func(id, digest string) thread.Approval {
		g, _, err := w.Request(thread.NewGrant{ID: thread.ApprovalID(id), Thread: "it", Scope: []string{"tool"}, Tool: &thread.ToolCall{Digest: digest}}, who)
		require.NoError(t, err)
		return g
	}
	ask("appr-1", "x")
	assert.EqualValues(t, "appr-2", ask("appr-2", "y").ID)
	assert.EqualValues(t, "appr-1", ask("appr-3", "x").ID, "the same call is asked about once")
	assert.False(t, w.UseTool("it", "x", who), "nobody has allowed it")
	_, _, err := w.DecideGrant("appr-1", thread.Approve, "", who)
	require.NoError(t, err)
	assert.False(t, w.UseTool("it", "y", who))
	assert.True(t, w.UseTool("it", "x", who))
	assert.False(t, w.UseTool("it", "x", who))
}

func TestARunHasItsClaimAgainAfterTheMachineSlept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("ship")
	w.threads("it")
	who := thread.Stamp{Time: noon, As: thread.User, Actor: "kim"}
	it, err := w.BeginRun("it", thread.NewRun{ID: "one", Agent: "a", Dir: "/p"}, who)
	require.NoError(t, err)
	began := it.Claim.At
	claim := func() *thread.Claim {
		t.Helper()
		it, err := w.Thread("it")
		require.NoError(t, err)
		return it.Claim
	}
	who.Time = noon.Add(2 * thread.RunClaim)
	w.ProlongRun("it", who)
	assert.Equal(t, who.Time.Add(thread.RunClaim), claim().Until)
	assert.Equal(t, thread.RunHolder("it"), claim().Holder)
	assert.Equal(t, thread.Agent, claim().As)
	assert.Equal(t, began, claim().At)
	_, err = w.Release("it", "", who)
	require.NoError(t, err)
	w.ProlongRun("it", who)
	assert.Nil(t, claim(), "who releases it takes it away")
	who.Actor = "other"
	_, err = w.Claim("it", time.Hour, who)
	require.NoError(t, err)
	who.Time = who.Time.Add(2 * time.Hour)
	w.ProlongRun("it", who)
	assert.Equal(t, "other", claim().Holder)
}

// In a project on several machines a run belongs to one of them while its claim lasts. Then
// another may take the thread over, with a run of its own, and the first process finds out.
func TestARunBelongsToItsMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("ship")
	w.threads("it")
	at := func(when time.Time) thread.Stamp { return thread.Stamp{Time: when, As: thread.User, Actor: "kim"} }
	begin := func(id, machine string, when time.Time) (thread.Thread, error) {
		return w.BeginRun("it", thread.NewRun{ID: thread.RunID(id), Agent: "a", Dir: "/p", Machine: machine}, at(when))
	}
	_, err := begin("one", "laptop", noon)
	require.NoError(t, err)
	_, err = w.ChangeRun("it", "one", at(noon), func(r *thread.Run) { r.Phase, r.SessionID = thread.RunRunning, "s" })
	require.NoError(t, err)
	_, err = begin("two", "tower", noon.Add(time.Minute))
	assert.True(t, codes.Has(err, codes.Claimed), "%v", err)
	it, err := begin("two", "laptop", noon.Add(2*time.Minute))
	require.NoError(t, err, "its own machine goes on with it: the process was killed")
	assert.EqualValues(t, "one", it.LastRun().ID)
	assert.Equal(t, "s", it.LastRun().SessionID)

	late := noon.Add(2 * thread.RunClaim)
	it, err = begin("three", "tower", late)
	require.NoError(t, err, "the machine is gone")
	assert.EqualValues(t, "three", it.LastRun().ID)
	assert.Equal(t, "tower", it.LastRun().Machine)
	assert.Empty(t, it.LastRun().SessionID, "the session is on the other machine")
	assert.Equal(t, 1, it.LastRun().Before.Runs)
	_, err = w.ChangeRun("it", "one", at(late), func(*thread.Run) {})
	assert.True(t, codes.Has(err, codes.InvalidArgument), "the process on the laptop finds out: %v", err)
}

func TestARunIsWrittenAsItIs(t *testing.T) {
	t.Parallel()
	was := thread.Thread{Run: []thread.Run{{Agent: "a", Reason: "2 < 3 && done", Unknown: `,"newer":1`}}}
	data, err := thread.Encode(was)
	require.NoError(t, err)
	assert.Contains(t, string(data), `"reason":"2 < 3 && done"`)
	var is thread.Thread
	require.NoError(t, thread.Decode(data, &is))
	assert.Equal(t, was, is)
}

// What a run records is known by what the rules say of it, also in a batch; in journals from
// before that, by the command.
func TestAnOperationOfARunSaysSoAndIsNotUndone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("ship")
	w.threads("it")
	who := thread.Stamp{Time: noon, As: thread.User, Actor: "kim"}
	assert.False(t, w.Operation().OfRun)
	line := w.Fork()
	_, err := line.BeginRun("it", thread.NewRun{ID: "one", Agent: "a", Dir: "/p"}, who)
	require.NoError(t, err)
	assert.True(t, line.Operation().OfRun)
	assert.True(t, line.Fork().Operation().OfRun, "the next line of a batch")
	for _, op := range []thread.Operation{{Command: "batch", OfRun: true}, {Command: "run"}, {Command: "run turn"}} {
		_, err := w.Invert(op, who)
		require.True(t, codes.Has(err, codes.UndoConflict), "%v", err)
		assert.Equal(t, "it records what happened in a run", codes.Of(err).Facts().Text("reason"))
	}
}
