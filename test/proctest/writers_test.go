package proctest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestThirtyTwoProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	const processes = 32
	each := orInShort(10, 3)
	p := newProjectOnDisk(t)
	var all sync.WaitGroup
	for i := range processes {
		all.Go(func() {
			for n := range each {
				id := fmt.Sprintf("t-%02d-%02d", i, n)
				a, err := p.succeed("spawn", "--id", id, "--intent", "Work on "+id)
				assert.NoError(t, err)
				assert.Empty(t, a.Warnings, "%s", id)
			}
		})
	}
	all.Wait()

	threads := p.threads()
	require.Len(t, threads, processes*each)
	for i := range processes {
		for n := range each {
			assert.Equal(t, "active", threads[fmt.Sprintf("t-%02d-%02d", i, n)])
		}
	}
	operations := p.journal()
	require.Len(t, operations, 1+processes*each, "one line an operation")
	p.requireHealthy()
}

// Every writer has its own threads, makes them reference a common one, and edits that one,
// too. Readers must not notice more than a newer revision.
func TestReadersSeeWholeStatesWhileWritersWork(t *testing.T) {
	t.Parallel()
	rounds := orInShort(3, 1)
	p := newProject(t)
	p.ok("spawn", "--id", "common", "--intent", "Be read and edited by all")
	p.write("common", map[string]string{"plan.md": "a plan\n", "design/api.md": "an API\n"})

	var writers, readers sync.WaitGroup
	var over atomic.Bool
	for i := range 8 {
		writers.Go(func() { writeMixed(t, p, fmt.Sprintf("w%d", i), rounds) })
	}
	reads := [][]string{
		{"list", "--limit", "0", "--all"}, {"status"}, {"status", "common"}, {"reference", "list"},
		{"history"}, {"objective", "list"}, {"context", "common"}, {"doctor"},
	}
	var count atomic.Int64
	for i := range 3 {
		readers.Go(func() {
			var last int64
			for n := i; !over.Load(); n++ {
				a, err := p.succeed(reads[n%len(reads)]...)
				if !assert.NoError(t, err) {
					return
				}
				assert.False(t, a.warned("W502"), "%s: %v", a.line, a.Warnings)
				if a.Revision != nil {
					assert.GreaterOrEqual(t, *a.Revision, last, "%s went back", a.line)
					last = *a.Revision
				}
				count.Add(1)
			}
		})
	}
	writers.Wait()
	over.Store(true)
	readers.Wait()

	assert.Greater(t, count.Load(), int64(8), "too few reads to say anything")
	threads := p.threads()
	for i := range 8 {
		for n := range rounds {
			assert.Equal(t, "archived", threads[fmt.Sprintf("w%d-%d-a", i, n)])
			assert.Equal(t, "cancelled", threads[fmt.Sprintf("w%d-%d-b", i, n)])
		}
	}
	assert.Equal(t, "active", threads["common"])
	p.requireHealthy()
}

// writeMixed is one writer's work: in each round it makes two threads and ends them.
func writeMixed(t *testing.T, p *project, name string, rounds int) {
	for n := range rounds {
		a, b := fmt.Sprintf("%s-%d-a", name, n), fmt.Sprintf("%s-%d-b", name, n)
		for _, line := range [][]string{
			{"spawn", "--id", a, "--intent", "First", "--parent", "common", "--inherit", "full"},
			{"spawn", "--id", b, "--intent", "Second", "--ref", a, "--depends-on", a},
			{"update", "common", "--tag", "+" + a},
			{"reference", "--from", a, "--target", "common", "--scope", "plan.md"},
			{"reference", "--from", b, "--target", "common", "--binding", "live"},
			{"suspend", a}, {"resume", a, "--reason", "again"},
			{"update", a, "--title", "Renamed"},
			{"done", a}, {"archive", a},
			{"lifecycle", b, "--action", "cancel"},
		} {
			if _, err := p.succeed(line...); !assert.NoError(t, err) {
				return
			}
		}
	}
}
