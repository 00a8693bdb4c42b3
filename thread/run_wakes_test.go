package thread_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

// running makes a thread whose agent runs, and returns the agent's stamp.
func (w *fixture) running() thread.Stamp {
	w.t.Helper()
	w.objective("ship")
	w.threads("it")
	agent := thread.Stamp{Time: noon, As: thread.Agent, Actor: "run:it"}
	_, err := w.BeginRun("it", thread.NewRun{ID: "run-1", Agent: "fake"}, agent)
	require.NoError(w.t, err)
	return agent
}

func TestAThreadThatItsAgentSuspendedWakesWhenWhatItWaitsForIsThere(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	agent := s.running()
	parks := func(by thread.Stamp) {
		t.Helper()
		_, err := s.Lifecycle("it", thread.Suspend, "waiting", by)
		require.NoError(t, err)
		_, err = s.EndRun("it", "run-1", agent, func(r *thread.Run) { r.Stop = thread.RunWaits })
		require.NoError(t, err)
	}
	wakes := func() bool {
		it, err := s.Thread("it")
		require.NoError(t, err)
		return s.Wakes(it)
	}
	_, err := s.Spawn(thread.NewThread{ID: "child", Parent: "it", Title: "C", Intent: "C", Executor: thread.ByAgent}, agent)
	require.NoError(t, err)
	parks(agent)
	assert.False(t, wakes(), "its child is not terminated")
	_, err = s.BeginRun("it", thread.NewRun{ID: "run-2", Agent: "fake"}, agent)
	require.Error(t, err)
	_, err = s.Lifecycle("child", thread.Done, "", agent)
	require.NoError(t, err)
	assert.True(t, wakes())
	it, err := s.BeginRun("it", thread.NewRun{ID: "run-2", Agent: "fake"}, agent)
	require.NoError(t, err)
	assert.Equal(t, thread.Active, it.Status)
	assert.Equal(t, thread.RunID("run-1"), it.LastRun().ID, "it goes on")
	assert.Empty(t, it.LastRun().Awaits)

	parks(agent)
	assert.False(t, wakes(), "nothing was missing when it was suspended: it waits for somebody")
	person := agent
	person.As, person.Actor = thread.User, "kim"
	_, _, err = s.Inject(thread.NewInjection{ID: "inj-1", Thread: "it", Type: thread.InjectData, Urgency: thread.NextStep, Content: "hello"}, person)
	require.NoError(t, err)
	assert.True(t, wakes(), "a message came")
	_, err = s.Lifecycle("it", thread.Suspend, "", person)
	require.NoError(t, err)
	assert.False(t, wakes(), "a person suspends it")
}

func TestAThreadWhoseRunEndedInVainRunsAgainOnlyWhenItChanged(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	agent := s.running()
	ready := func(now time.Time) int {
		t.Helper()
		page, err := s.First(thread.Filter{Ready: true, Runs: true, Now: now}, 0)
		require.NoError(t, err)
		return page.Total
	}
	it, err := s.EndRun("it", "run-1", agent, func(r *thread.Run) { r.Stop = thread.RunUnfinished })
	require.NoError(t, err)
	assert.False(t, it.RunsAgain())
	assert.Zero(t, ready(agent.Time))
	later := agent
	later.Time = later.Time.Add(time.Second)
	it, err = s.WantRun("it", "", later)
	require.NoError(t, err)
	assert.Equal(t, thread.RunWanted, it.LastRun().Phase)
	assert.Equal(t, "fake", it.LastRun().Agent, "the agent that it had")
	assert.Equal(t, 1, it.LastRun().Before.Runs)
	it, err = s.BeginRun("it", thread.NewRun{ID: "run-2", Agent: "fake"}, later)
	require.NoError(t, err)
	assert.Equal(t, thread.RunID("run-2"), it.LastRun().ID)
	assert.Equal(t, 1, it.LastRun().Before.Runs, "what was only wanted is no run")
	_, err = s.EndRun("it", "run-2", later, func(r *thread.Run) { r.Stop = thread.RunFailed })
	require.NoError(t, err)
	assert.Zero(t, ready(later.Time))
	later.Time = later.Time.Add(time.Second)
	_, _, err = s.Inject(thread.NewInjection{ID: "inj-1", Thread: "it", Type: thread.InjectData, Urgency: thread.NextStep, Content: "hello"}, later)
	require.NoError(t, err)
	assert.Equal(t, 1, ready(later.Time))
	_, err = s.BeginRun("it", thread.NewRun{ID: "run-3", Agent: "fake"}, later)
	require.NoError(t, err)
	_, err = s.EndRun("it", "run-3", later, func(r *thread.Run) { r.Stop = thread.RunBudget })
	require.NoError(t, err)
	later.Time = later.Time.Add(time.Second)
	_, _, err = s.Inject(thread.NewInjection{ID: "inj-2", Thread: "it", Type: thread.InjectData, Urgency: thread.NextStep, Content: "hello again"}, later)
	require.NoError(t, err)
	assert.Zero(t, ready(later.Time), "a limit that it has reached is lifted by nobody's message")
}
