package app

import (
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

// Eight goroutines read one Project while another writes: each sees the store as it
// was before an operation or after it, and what it shows belongs together. Run with
// -race, which sees what they share.
func TestEightReadersBesideAWriter(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("main", "plan.md", "plan\n")
	_, err := CreateReference(b.call(), CreateReferenceRequest{From: "part", Target: "main"})
	require.NoError(t, err)
	const rounds = 4
	done := make(chan struct{})
	var readers, reads sync.WaitGroup
	reads.Add(8) // each reads at least once before the writer ends
	for range 8 {
		readers.Go(func() {
			last := thread.Revision(0)
			for first := true; ; first = false {
				last = b.readAll(t, last)
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
		b.writeAll(t, "child"+strconv.Itoa(i))
	}
	reads.Wait()
	close(done)
	readers.Wait()
	all, err := List(b.call(), ListRequest{All: true})
	require.NoError(t, err)
	assert.Equal(t, 2+rounds, all.Total)
}

// writeAll is what one round of the writer does with a new thread.
func (b *bench) writeAll(t *testing.T, id string) {
	t.Helper()
	steps := []asked{
		ask(Spawn, SpawnRequest{ID: id, Intent: "Work", Parent: "main", Inherit: thread.InheritFull, Refs: []string{"part"}}),
		ask(Claim, ClaimRequest{Thread: id}),
		ask(Inject, InjectRequest{Thread: id, Type: thread.InjectData, Content: "x"}),
		ask(CreateReference, CreateReferenceRequest{From: id, Target: "main"}),
		ask(Transfer, TransferRequest{Thread: id, Direction: RequestApproval, Scope: []string{"deploy"}}),
		ask(Checkpoint, CheckpointRequest{Thread: id}),
		ask(Lifecycle, LifecycleRequest{Thread: id, Action: thread.Cancel}),
	}
	for _, step := range steps {
		c := b.call()
		if !assert.NoError(t, step(c), id) {
			return
		}
		c.Finish(nil)
	}
}

// readAll reads what a person looks at; revisions never go back.
func (b *bench) readAll(t *testing.T, last thread.Revision) thread.Revision {
	t.Helper()
	c := b.call()
	all, err := List(c, ListRequest{All: true})
	if !assert.NoError(t, err) {
		return last
	}
	assert.GreaterOrEqual(t, *c.Revision(), last)
	last = *c.Revision()
	newest := string(all.Items.Items[0].ThreadID)
	for _, id := range []string{newest, "main"} {
		status, err := ThreadStatus(b.call(), ThreadStatusRequest{Thread: id})
		if assert.NoError(t, err) && id != "main" && status.ParentID != nil {
			assert.NotZero(t, status.Artifacts.Total, "%s: a thread is there with what it inherited", id)
		}
	}
	refs, err := ListReferences(b.call(), ListReferencesRequest{})
	if assert.NoError(t, err) {
		for _, ref := range refs.Items.Items {
			_, err := ShowReference(b.call(), ReferenceRequest{Reference: string(ref.RefID)})
			assert.NoError(t, err, "%s: a reference is there with its copy", ref.RefID)
		}
	}
	found, err := Search(b.call(), SearchRequest{Words: []string{"plan"}, All: true})
	if assert.NoError(t, err) {
		assert.GreaterOrEqual(t, found.Total, all.Total-1, "all threads but part have a plan")
		assert.Empty(t, found.Unread.Items)
	}
	for name, read := range map[string]asked{
		"artifacts": ask(Artifacts, ArtifactsRequest{Thread: newest}), "approvals": ask(ListApprovals, ListApprovalsRequest{}),
		"history": ask(History, HistoryRequest{}), "context": ask(Context, ContextRequest{Thread: newest}), "summary": ask(Summary, SummaryRequest{}),
		"graph": ask(Graph, GraphRequest{All: true}), "report": ask(Report, ReportRequest{All: true}),
	} {
		assert.NoError(t, read(b.call()), name)
	}
	return last
}
