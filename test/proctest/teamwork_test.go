package proctest

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// member is an agent in a project.
type member struct {
	*project
	actor string
}

func (p *project) agent(actor string) member {
	own := *p
	own.flags = []string{"--as", "agent", "--actor", actor}
	return member{&own, actor}
}

// of is the member as it speaks for a thread.
func (m member) of(thread string) member {
	own := *m.project
	own.env = []string{"LESLIE_THREAD=" + thread}
	return member{&own, m.actor}
}

// claimAll claims ready threads until none is left.
func (m member) claimAll() (ids []string, err error) {
	for {
		var claimed struct{ ThreadID *string }
		a, err := m.try("claim", "--next")
		if err != nil || a.Error != nil {
			return ids, err
		}
		a.into(m.t, &claimed)
		if claimed.ThreadID == nil {
			return ids, nil
		}
		ids = append(ids, *claimed.ThreadID)
	}
}

// A lead and two workers plan a release: messages come at the worst moment, somebody
// completes a thread that another holds, five threads merge with conflicts, an intent is
// repaired, and a completed thread is reopened and merged again.
func TestALeadAndTwoWorkersPlanARelease(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	lead := p.agent("lead").of("plan")
	parts := []string{"api", "docs", "notes", "site", "tests"}
	p.agent("lead").ok("spawn", "--id", "plan", "--intent", "Plan the relese", "--claim")
	p.write("plan", map[string]string{"steps.txt": "begin\nend\n"})
	for _, id := range parts {
		lead.ok("spawn", "--id", id, "--parent", "plan", "--inherit", "full", "--intent", "Write the "+id)
	}

	owner := shareOut(t, p, parts)
	for _, id := range parts {
		p.write(id, map[string]string{"steps.txt": "begin\nwrite the " + id + "\nend\n", id + ".txt": id + "\n"})
	}
	docs := owner["docs"].of("docs")
	other := p.agent("worker-3")

	// Somebody else completes the thread under its holder's nose; the lead may.
	denied := other.fails("T108", 11, "done", "docs")
	assert.Equal(t, docs.actor, denied.Error.Details["holder"])
	assert.True(t, lead.ok("update", "docs", "--tag", "+late").warned("W106"))

	// A message comes while the worker waits, and another before it completes its thread.
	waiting := docs.start("wait", "plan", "--timeout", "100s")
	lead.ok("inject", "docs", "--type", "feedback", "--content", "Mention Windows")
	woken, err := waiting.end()
	require.NoError(t, err)
	assert.True(t, woken.warned("W105"), "%s", woken.Data)
	docs.fails("T113", 11, "done", "docs")
	assert.Contains(t, string(docs.ok("context").Data), "Mention Windows")
	lead.ok("inject", "docs", "--type", "constraint", "--content", "No pictures")
	docs.fails("T113", 11, "done", "docs")
	assert.Contains(t, string(docs.ok("context").Data), "No pictures")
	for _, id := range parts { // the others have changed the same inherited lines, and it is told
		owner[id].of(id).ok("context")
		owner[id].of(id).ok("done", id)
	}

	lead.ok("update", "plan", "--intent", "Plan the release")
	mergeAll(t, lead, parts)
	steps := string(p.read("threads/plan/steps.txt"))
	for _, id := range parts {
		assert.Contains(t, steps, "write the "+id+"\n")
		assert.Equal(t, id+"\n", string(p.read("threads/plan/"+id+".txt")))
	}

	// The docs are not finished after all.
	docs.ok("reopen", "docs")
	assert.True(t, lead.ok("merge", "--sources", "docs", "--target", "plan", "--dry-run").warned("W108"))
	p.write("docs", map[string]string{"docs.txt": "docs\nWindows\n"})
	docs.ok("done", "docs")
	lead.ok("merge", "--sources", "docs", "--target", "plan")
	assert.Equal(t, "docs\nWindows\n", string(p.read("threads/plan/docs.txt")))
	assert.Equal(t, steps, string(p.read("threads/plan/steps.txt")), "merging again takes nothing back")
	lead.ok("done", "plan")
	p.requireHealthy()
}

// shareOut lets two workers claim all parts at the same time and returns who has which.
func shareOut(t *testing.T, p *project, parts []string) map[string]member {
	t.Helper()
	var all sync.WaitGroup
	workers := []member{p.agent("worker-1"), p.agent("worker-2")}
	got := make([][]string, len(workers))
	for i, w := range workers {
		all.Go(func() {
			var err error
			got[i], err = w.claimAll()
			assert.NoError(t, err)
		})
	}
	all.Wait()
	owner := map[string]member{}
	for i, w := range workers {
		for _, id := range got[i] {
			owner[id] = w
		}
	}
	claimed := slices.Sorted(slices.Values(slices.Concat(got...)))
	require.Equal(t, parts, claimed, "each part has one holder")
	return owner
}

// mergeAll merges the parts into the lead's thread, keeping both sides of every conflict
// in which all sides only added lines.
func mergeAll(t *testing.T, lead member, parts []string) {
	t.Helper()
	a, err := lead.try("merge", "--sources", strings.Join(parts, ","), "--target", "plan")
	require.NoError(t, err)
	require.NotNil(t, a.Error, "%s", a.Data)
	require.Equal(t, "T301", a.Error.Code)
	id, _ := a.Error.Details["mergeId"].(string)
	var resolved struct{ Unresolved int }
	lead.ok("merge", "resolve", id, "--additions", "both").into(t, &resolved)
	require.Zero(t, resolved.Unresolved)
	lead.ok("merge", "continue", id)
}
