//go:build !windows

package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/runner"
	"leslie/thread"
)

// newRunBench is a project with the thread it, whose agent does what the intent says.
func newRunBench(t *testing.T, intent string, words ...string) *bench {
	t.Helper()
	b := newBench(t)
	b.now = time.Now
	b.env.NewID = func(prefix string) string { return prefix + strings.ToLower(rand.Text()[:8]) } // processes are found by them
	program, err := os.Executable()
	require.NoError(t, err)
	b.env.Home = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(b.env.Home, ".leslie"), 0o755))
	config, err := json.Marshal(map[string]any{"run": map[string]any{"agent": "fake", "agents": map[string]any{
		"fake": map[string]any{"command": []string{program}, "env": map[string]string{"FAKE_AGENT": "1", "FAKE_STATE": t.TempDir(), "FAKE": strings.Join(words, " ")}},
	}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(b.env.Home, ".leslie", "config.json"), config, 0o600))
	_, err = Spawn(b.call(), SpawnRequest{ID: "it", Title: "It", Intent: intent})
	require.NoError(t, err)
	return b
}

// run runs the thread; change may change the request.
func (b *bench) run(change func(*RunRequest)) (*RunResult, error) {
	in := RunRequest{Thread: "it", Context: func(d *ContextResult, _ string) (string, []thread.InjectionID) {
		shown := []thread.InjectionID{}
		text := d.Thread.Intent
		for _, i := range d.Thread.Unseen() {
			shown, text = append(shown, i.ID), i.Content+"\n"+text
		}
		return text, shown
	}, times: runTimes{restart: []time.Duration{time.Millisecond}, agent: runner.Times{Cancel: 5 * time.Second, End: 5 * time.Second}}}
	if change != nil {
		change(&in)
	}
	return Run(b.call(), in)
}

func TestAnAnswerThatComesLateCountsForTheNextEqualCall(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "ASK[[touch asked]]")
	d, err := b.run(func(in *RunRequest) { in.times.asking = time.Millisecond })
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.Equal(t, thread.RunWaits, d.Stop)
	assert.Equal(t, thread.WaitingHuman, d.ThreadStatus)
	open, err := ListApprovals(b.call(), ListApprovalsRequest{})
	require.NoError(t, err)
	require.Len(t, open.Items.Items, 1)
	assert.Contains(t, d.Reason, string(open.Items.Items[0].ApprovalID))
	_, err = Decide(b.call(), DecideRequest{Approval: string(open.Items.Items[0].ApprovalID), Decision: thread.Approve})
	require.NoError(t, err)
	require.NoError(t, b.forget())
	_, err = b.run(nil)
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.FileExists(t, filepath.Join(b.dir, "asked"))
	all, err := ListApprovals(b.call(), ListApprovalsRequest{All: true})
	require.NoError(t, err)
	require.Len(t, all.Items.Items, 1, "nobody was asked again")
	assert.NotNil(t, all.Items.Items[0].Until, "it was used")
}

func TestARunThatHasUsedItsLimitIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "USAGE[[70 30 0.5]] ASK[[touch asked]]")
	limited := func(in *RunRequest) { in.times.asking, in.MaxTokens = time.Millisecond, 100 }
	d, err := b.run(limited)
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	require.Equal(t, thread.RunWaits, d.Stop)
	open, err := ListApprovals(b.call(), ListApprovalsRequest{})
	require.NoError(t, err)
	_, err = Decide(b.call(), DecideRequest{Approval: string(open.Items.Items[0].ApprovalID), Decision: thread.Approve})
	require.NoError(t, err)
	again, err := b.run(limited)
	require.True(t, codes.Has(err, codes.RunBudget), "%v", err)
	assert.Equal(t, thread.RunBudget, again.Stop)
	assert.Equal(t, d.Turns, again.Turns)
	assert.Nil(t, b.claim())
}

// forget makes the fake agent do again what it has done.
func (b *bench) forget() error {
	user, err := readConfig(filepath.Join(b.env.Home, ".leslie", "config.json"), true)
	if err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(user.Run.Agents["fake"].Env["FAKE_STATE"], "*"))
	for _, name := range names {
		err = os.WriteFile(name, nil, 0o600)
	}
	return err
}

// claim is that of the thread.
func (b *bench) claim() (held *thread.Claim) {
	_, err := b.call().view(func(s *thread.State) error {
		t, err := s.Thread("it")
		held = t.Claim
		return err
	})
	require.NoError(b.t, err)
	return held
}

func TestAnAgentThatDiesIsStartedAgainAndThenGivenUp(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "CRASH[[once]] TALK[[1]]")
	d, err := b.run(nil)
	require.True(t, codes.Has(err, codes.RunUnfinished), "it went on: %v", err)
	assert.Equal(t, 2, d.Attempts)
	b = newRunBench(t, "CRASH[[]]", "noload")
	d, err = b.run(nil)
	require.True(t, codes.Has(err, codes.AgentConnection), "%v", err)
	assert.Equal(t, thread.RunFailed, d.Stop)
	assert.Equal(t, codes.AgentConnection, d.Code)
	assert.Nil(t, b.claim())
}

func TestAnAgentThatDiesAndMayUseNothingMoreIsParked(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "CRASH[[]]", "spent")
	d, err := b.run(nil)
	require.True(t, codes.Has(err, codes.AgentLimited), "%v", err)
	assert.Equal(t, thread.RunLimited, d.Stop)
	assert.Equal(t, 2, d.Attempts)
	assert.Nil(t, b.claim())
}

func TestAnAgentThatIsSilentIsGivenUp(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "HANG[[]]", "noload")
	d, err := b.run(func(in *RunRequest) { in.times.silent, in.times.tool = 50*time.Millisecond, 50*time.Millisecond })
	require.True(t, codes.Has(err, codes.AgentTimeout), "%v", err)
	assert.Equal(t, 2, d.Attempts)
}

// meanwhile calls do when the agent has begun its turn.
func meanwhile(in *RunRequest, do func()) {
	done := false
	in.Event = func(e RunEvent) {
		if e.Kind == "text" && !done {
			done = true
			go do()
		}
	}
}

func TestATurnThatGoesOnAfterItsThreadIsEnded(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "HANG[[]]")
	d, err := b.run(func(in *RunRequest) {
		in.times.finish = time.Millisecond
		meanwhile(in, func() {
			_, err := Lifecycle(b.call(), LifecycleRequest{Thread: "it", Action: thread.Done})
			assert.NoError(t, err)
		})
	})
	require.NoError(t, err)
	assert.Equal(t, thread.RunDone, d.Stop)
	assert.Equal(t, thread.Completed, d.ThreadStatus)
}

func TestARunThatIsStoppedWhenItsThreadIsDoneIsDone(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "HANG[[]]")
	stopped := make(chan struct{})
	d, err := b.run(func(in *RunRequest) {
		meanwhile(in, func() {
			defer close(stopped)
			_, err := Lifecycle(b.call(), LifecycleRequest{Thread: "it", Action: thread.Done})
			assert.NoError(t, err)
			_, err = RunStop(b.call(), RunStopRequest{Thread: "it"})
			assert.NoError(t, err)
		})
	})
	<-stopped
	require.NoError(t, err)
	assert.Equal(t, thread.RunDone, d.Stop)
	assert.Empty(t, d.Reason)
}

func TestARunEndsWhenSomebodyElseTakesItsThread(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "HANG[[]]")
	d, err := b.run(func(in *RunRequest) {
		meanwhile(in, func() {
			_, err := Release(b.call(), HolderRequest{Thread: "it"})
			assert.NoError(t, err)
			_, err = Claim(b.call(), ClaimRequest{Thread: "it"})
			assert.NoError(t, err)
		})
	})
	require.True(t, codes.Has(err, codes.Claimed), "%v", err)
	assert.Equal(t, thread.RunFailed, d.Stop)
	require.NotNil(t, b.claim(), "the other's claim stays")
	assert.Equal(t, "kim", b.claim().Holder)
}

func TestAnInterruptedRunEndsItsAgentAndGoesOnLater(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "HANG[[]] TALK[[1]]")
	ctx, cancel := context.WithCancel(context.Background())
	in := RunRequest{Thread: "it", Context: func(d *ContextResult, _ string) (string, []thread.InjectionID) { return d.Thread.Intent, nil }}
	meanwhile(&in, cancel)
	d, err := Run(b.Call(ctx, Caller{As: thread.User, Actor: "kim"}, Request{Command: "run"}), in)
	require.True(t, codes.Has(err, codes.Interrupted), "%v", err)
	assert.Equal(t, thread.RunInterrupted, d.Stop)
	again, err := b.run(nil)
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.Equal(t, d.SessionID, again.SessionID)
	assert.Equal(t, d.RunID, again.RunID, "it was parked")
}
