package views

import (
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/app/apptest"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/decisions"
	"leslie/internal/app/history"
	"leslie/internal/app/threads"
	"leslie/thread"
)

// Eight goroutines read one Project while another writes: each sees the store as it
// was before an operation or after it, and what it shows belongs together. Run with
// -race, which sees what they share.
func TestEightReadersBesideAWriter(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Write("main", "plan.md", "plan\n")
	_, err := artifacts.CreateReference(b.Person(), artifacts.CreateReferenceRequest{From: "part", Target: "main"})
	require.NoError(t, err)
	const rounds = 4
	done := make(chan struct{})
	var readers, reads sync.WaitGroup
	reads.Add(8) // each reads at least once before the writer ends
	for range 8 {
		readers.Go(func() {
			last := thread.Revision(0)
			for first := true; ; first = false {
				last = readAll(b, t, last)
				if first {
					reads.Done()
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range rounds {
		writeAll(b, t, "child"+strconv.Itoa(i))
	}
	reads.Wait()
	close(done)
	readers.Wait()
	all, err := threads.List(b.Person(), threads.ListRequest{All: true})
	require.NoError(t, err)
	assert.Equal(t, 2+rounds, all.Total)
}

// writeAll is what one round of the writer does with a new thread.
func writeAll(b *apptest.Project, t *testing.T, id string) {
	t.Helper()
	steps := []apptest.Asked{
		apptest.Ask(threads.Spawn, threads.SpawnRequest{ID: id, Intent: "Work", Parent: "main", Inherit: thread.InheritFull, Refs: []string{"part"}}),
		apptest.Ask(threads.Claim, threads.ClaimRequest{Thread: id}),
		apptest.Ask(threads.Inject, threads.InjectRequest{Thread: id, Type: thread.InjectData, Content: "x"}),
		apptest.Ask(artifacts.CreateReference, artifacts.CreateReferenceRequest{From: id, Target: "main"}),
		apptest.Ask(decisions.Transfer, decisions.TransferRequest{Thread: id, Direction: decisions.RequestApproval, Scope: []string{"deploy"}}),
		apptest.Ask(threads.Checkpoint, artifacts.CheckpointRequest{Thread: id}),
		apptest.Ask(threads.Lifecycle, threads.LifecycleRequest{Thread: id, Action: thread.Cancel}),
	}
	for _, step := range steps {
		c := b.Person()
		if !assert.NoError(t, step(c), id) {
			return
		}
		c.Finish(nil)
	}
}

// readAll reads what a person looks at; revisions never go back.
func readAll(b *apptest.Project, t *testing.T, last thread.Revision) thread.Revision {
	t.Helper()
	c := b.Person()
	all, err := threads.List(c, threads.ListRequest{All: true})
	if !assert.NoError(t, err) {
		return last
	}
	assert.GreaterOrEqual(t, *c.Revision(), last)
	last = *c.Revision()
	newest := string(all.Items.Items[0].ThreadID)
	for _, id := range []string{newest, "main"} {
		status, err := threads.Status(b.Person(), threads.StatusRequest{Thread: id})
		if assert.NoError(t, err) && id != "main" && status.ParentID != nil {
			assert.NotZero(t, status.Artifacts.Total, "%s: a thread is there with what it inherited", id)
		}
	}
	refs, err := artifacts.ListReferences(b.Person(), artifacts.ListReferencesRequest{})
	if assert.NoError(t, err) {
		for _, ref := range refs.Items.Items {
			_, err := artifacts.ShowReference(b.Person(), artifacts.ReferenceRequest{Reference: string(ref.RefID)})
			assert.NoError(t, err, "%s: a reference is there with its copy", ref.RefID)
		}
	}
	found, err := Search(b.Person(), SearchRequest{Words: []string{"plan"}, All: true})
	if assert.NoError(t, err) {
		assert.GreaterOrEqual(t, found.Total, all.Total-1, "all threads but part have a plan")
		assert.Empty(t, found.Unread.Items)
	}
	for name, read := range map[string]apptest.Asked{
		"artifacts": apptest.Ask(artifacts.Artifacts, artifacts.ArtifactsRequest{Thread: newest}), "approvals": apptest.Ask(decisions.ListApprovals, decisions.ListApprovalsRequest{}),
		"history": apptest.Ask(history.List, history.ListRequest{}), "context": apptest.Ask(threads.Context, threads.ContextRequest{Thread: newest}), "summary": apptest.Ask(threads.Summary, threads.SummaryRequest{}),
		"graph": apptest.Ask(Graph, GraphRequest{All: true}), "report": apptest.Ask(Report, ReportRequest{All: true}),
	} {
		assert.NoError(t, read(b.Person()), name)
	}
	return last
}
