package proctest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// waited is the answer of a wait.
type waited struct {
	Met      bool  `json:"met"`
	Revision int64 `json:"revision"`
	Threads  []struct {
		ThreadID string   `json:"threadId"`
		Status   string   `json:"status"`
		Wakeable bool     `json:"wakeable"`
		Met      bool     `json:"met"`
		Children []string `json:"children"`
	} `json:"threads"`
}

// over waits for a wait that must end because its condition is met.
func over(t *testing.T, s *started) waited {
	t.Helper()
	a, err := s.end()
	require.NoError(t, err)
	require.Equal(t, 0, a.status, "%s: %v", a.line, a.Error)
	var w waited
	a.into(t, &w)
	require.True(t, w.Met)
	return w
}

func TestWaitersEndWhenAnotherProcessChangesTheirThreads(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for _, id := range []string{"parent", "asking", "single"} {
		p.ok("spawn", "--intent", "Work", "--id", id)
	}
	for _, id := range []string{"c1", "c2"} {
		p.ok("spawn", "--intent", "Help", "--id", id, "--parent", "parent")
	}
	p.ok("suspend", "parent")
	var asked struct {
		ApprovalID string `json:"approvalId"`
	}
	p.ok("transfer", "asking", "--direction", "request_approval", "--scope", "deploy").into(t, &asked)

	var done []*started
	for range 5 {
		done = append(done, p.start("wait", "single", "c1"))
	}
	anything := p.start("wait", "single", "--until", "any", "--since", "8")
	children := p.start("wait", "parent", "--until", "children")
	wakeable := p.start("wait", "parent")
	decision := p.start("wait", "asking", "--until", "decision")

	p.ok("done", "single")
	assert.Equal(t, "completed", over(t, anything).Threads[0].Status)
	p.ok("approve", asked.ApprovalID)
	assert.Equal(t, "active", over(t, decision).Threads[0].Status)
	p.ok("cancel", "c1")
	for _, s := range done {
		assert.Len(t, over(t, s).Threads, 2)
	}
	p.ok("done", "c2")
	assert.Empty(t, over(t, children).Threads[0].Children)
	got := over(t, wakeable).Threads[0]
	assert.True(t, got.Wakeable)
	assert.Equal(t, "suspended", got.Status)
	p.requireHealthy()
}

// Two agents that know only each other's thread take turns.
func TestTwoAgentsTakeTurnsByWaiting(t *testing.T) {
	t.Parallel()
	const rounds = 10
	p := newProject(t)
	p.ok("spawn", "--intent", "Serve", "--id", "ping")
	p.ok("spawn", "--intent", "Return", "--id", "pong")
	play := func(mine, theirs string, since int64) {
		for n := range rounds {
			a, err := p.succeed("wait", theirs, "--until", "any", "--since", strconv.FormatInt(since, 10), "--timeout", "5m")
			if !assert.NoError(t, err) {
				return
			}
			since = *a.Revision
			if _, err := p.succeed("update", mine, "--title", fmt.Sprintf("%s %d", mine, n)); !assert.NoError(t, err) {
				return
			}
		}
	}
	var game sync.WaitGroup
	game.Go(func() { play("ping", "pong", 3) })
	game.Go(func() { play("pong", "ping", 3) })
	p.ok("update", "ping", "--tag", "+served")
	game.Wait()
	p.requireHealthy()
}

func TestAWaitThatTimedOutCanBeRepeated(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.ok("spawn", "--intent", "Work", "--id", "slow")
	was := p.files(".")
	a := p.fails("T109", 11, "wait", "slow", "--until", "any", "--timeout", "30ms")
	now := p.files(".")
	delete(now, "logs/leslie.log")
	assert.Empty(t, harness.Differing(was, now), "a waiter leaves no trace")
	p.ok(strings.Fields(a.Error.Next[0])[1:]...)

	p.ok("done", "slow") // between the two waits
	again := strings.Replace(a.Error.Next[1], "30ms", "5m", 1)
	w := over(t, p.start(strings.Fields(again)[1:]...))
	assert.Equal(t, "completed", w.Threads[0].Status)
}

// A wait sleeps: its cost does not grow with its duration.
func TestWaitingCostsNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.ok("spawn", "--intent", "Work", "--id", "slow")
	s := p.start("wait", "slow", "--timeout", "3s")
	a, err := s.end()
	require.NoError(t, err)
	requireFailure(t, a, "T109", 11)
	took := s.ProcessState.UserTime() + s.ProcessState.SystemTime()
	assert.Less(t, took, time.Second, "three seconds were waited for")
}
