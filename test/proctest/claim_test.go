package proctest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Agents claim threads independently: each thread is claimed once, and none is left.
func TestEightAgentsClaimAHundredThreadsOnceEach(t *testing.T) {
	t.Parallel()
	const agents = 8
	threads := orInShort(100, 30)
	p := newProject(t)
	for i := range threads {
		p.ok("spawn", "--id", fmt.Sprintf("t-%03d", i), "--intent", "One of many")
	}
	p.ok("spawn", "--id", "person", "--intent", "Not for agents", "--executor", "human")

	var all sync.WaitGroup
	var mu sync.Mutex
	taken := map[string][]string{} // by thread: who took it
	for i := range agents {
		all.Go(func() {
			actor := fmt.Sprintf("agent-%d", i)
			for range 2 * threads {
				id, err := p.claimNext(actor)
				if !assert.NoError(t, err) || id == "" {
					return
				}
				mu.Lock()
				taken[id] = append(taken[id], actor)
				mu.Unlock()
			}
		})
	}
	all.Wait()

	require.Len(t, taken, threads, "none is left")
	busy := map[string]int{}
	for id, by := range taken {
		require.Len(t, by, 1, "%s was taken more than once", id)
		busy[by[0]]++
	}
	assert.Greater(t, len(busy), agents/2, "they took turns: %v", busy)
	var ready struct{ Total int }
	p.ok("list", "--ready").into(t, &ready)
	assert.Equal(t, 1, ready.Total, "what is for a person is left to one")
	for id, by := range taken {
		var status struct{ Claim struct{ Holder string } }
		p.ok("status", id).into(t, &status)
		assert.Equal(t, by[0], status.Claim.Holder, "the record says who")
	}
	assert.Len(t, p.journal(), 2+2*threads, "one operation a claim, none for a refusal")
	p.requireHealthy()
}

// Workers that only wait for the next thread finish a chain and what is beside it, one
// claim a thread, and learn that nothing is left.
func TestWaitingWorkersFinishAChainOfThreads(t *testing.T) {
	t.Parallel()
	const workers, length = 4, 6
	p := newProject(t)
	for i := range length {
		argv := []string{"spawn", "--id", fmt.Sprintf("link-%d", i), "--intent", "One after the other"}
		if i > 0 {
			argv = append(argv, "--depends-on", fmt.Sprintf("link-%d", i-1))
		}
		p.ok(argv...)
		p.ok("spawn", "--id", fmt.Sprintf("beside-%d", i), "--intent", "At any time")
	}
	var all sync.WaitGroup
	reasons := make([]string, workers)
	for i := range workers {
		all.Go(func() {
			actor := []string{"--as", "agent", "--actor", fmt.Sprintf("agent-%d", i)}
			for range 2*length + 1 {
				a, err := p.succeed(append([]string{"claim", "--next", "--wait", "5m"}, actor...)...)
				var data struct{ ThreadID, Reason string }
				if !assert.NoError(t, err) || !assert.NoError(t, json.Unmarshal(a.Data, &data)) {
					return
				}
				if reasons[i] = data.Reason; data.ThreadID == "" {
					return
				}
				if _, err := p.succeed(append([]string{"done", data.ThreadID}, actor...)...); !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	all.Wait()
	for _, reason := range reasons {
		assert.Equal(t, "objective_completed", reason)
	}
	assert.Len(t, p.journal(), 1+2*length*3, "a spawn, a claim and a done for each thread")
	p.requireHealthy()
}

// claimNext returns the thread that an agent gets, or "".
func (p *project) claimNext(actor string) (string, error) {
	a, err := p.succeed("claim", "--next", "--as", "agent", "--actor", actor)
	if err != nil {
		return "", err
	}
	var data struct {
		ThreadID *string `json:"threadId"`
		Holder   *string `json:"holder"`
		Changed  bool    `json:"changed"`
	}
	if err := json.Unmarshal(a.Data, &data); err != nil {
		return "", err
	}
	switch {
	case data.ThreadID == nil && data.Holder == nil && !data.Changed:
		return "", nil
	case data.ThreadID == nil || data.Holder == nil || *data.Holder != actor || !data.Changed:
		return "", fmt.Errorf("%s: %s", a.line, a.Data)
	}
	return *data.ThreadID, nil
}
