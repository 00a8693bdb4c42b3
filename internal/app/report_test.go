package app

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/app/merging"
	"leslie/thread"
)

// later runs a use case so many minutes later.
func (b *bench) later(minutes int, step asked) {
	b.t.Helper()
	now := b.now().Add(time.Duration(minutes) * time.Minute)
	b.now = func() time.Time { return now }
	c := b.call()
	require.NoError(b.t, step(c))
	c.Finish(nil)
}

func lifecycle(id string, action thread.Action) asked {
	return ask(Lifecycle, LifecycleRequest{Thread: id, Action: action})
}

// spansOf are the times of a thread, in minutes since the first operation.
func spansOf(t *testing.T, r *ReportResult, id thread.ThreadID, begin time.Time) (spans [][3]any) {
	t.Helper()
	for _, own := range r.Threads {
		if own.ThreadID == id {
			for _, s := range own.Spans {
				spans = append(spans, [3]any{s.Status, int(s.From.Sub(begin).Minutes()), int(s.To.Sub(begin).Minutes())})
			}
		}
	}
	return spans
}

func TestAReportKnowsHowThreadsStoodOverTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	begin := b.now()
	b.later(10, lifecycle("main", thread.Suspend))
	b.later(5, lifecycle("main", thread.Resume))
	b.later(5, ask(Transfer, TransferRequest{Thread: "main", Direction: RequestApproval, Scope: []string{"deploy"}}))
	b.later(0, lifecycle("part", thread.Done))
	b.later(10, lifecycle("part", thread.Reopen))
	b.later(10, lifecycle("part", thread.Cancel))
	b.later(1, ask(Undo, UndoRequest{}))
	b.later(1, ask(Redo, RedoRequest{}))
	b.later(1, lifecycle("part", thread.Archive))
	b.later(10, ask(ListApprovals, ListApprovalsRequest{}))

	r, err := Report(b.call(), ReportRequest{All: true})
	require.NoError(t, err)
	assert.Equal(t, [][3]any{{thread.Active, 0, 10}, {thread.Suspended, 10, 15}, {thread.Active, 15, 20}, {thread.WaitingHuman, 20, 53}}, spansOf(t, r, "main", begin))
	assert.Equal(t, [][3]any{{thread.Active, 0, 20}, {thread.Active, 30, 40}, {thread.Active, 41, 42}}, spansOf(t, r, "part", begin), "nothing while it had ended")
	assert.Len(t, r.Approvals, 1)
	require.Len(t, r.History, 12)
	for i, op := range r.History {
		assert.Equal(t, thread.Revision(i+1), op.Seq)
		assert.Equal(t, op.Seq == 10, op.UndoneBy != "", "operation %d", op.Seq)
	}

	r, err = Report(b.call(), ReportRequest{})
	require.NoError(t, err)
	require.Len(t, r.Threads, 1)
	assert.Equal(t, thread.ThreadID("main"), r.Threads[0].ThreadID)
}

func TestAReportKnowsWhatBecameOfMerges(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("main", "plan.md", "main\n")
	b.write("part", "plan.md", "part\n")
	b.later(1, ask(Spawn, SpawnRequest{ID: "clean", Intent: "x", Parent: "main", Inherit: thread.InheritFull}))
	b.write("clean", "notes.md", "notes\n")
	b.later(1, ask(Merge, MergeRequest{Sources: []string{"clean"}, Target: "main"}))
	b.later(1, ask(Undo, UndoRequest{}))
	begin := func() thread.MergeID {
		c := b.call()
		_, err := Merge(c, MergeRequest{Sources: []string{"part"}, Target: "main"})
		require.Error(t, err, "a conflict")
		found, err := MergeList(b.call(), MergeListRequest{})
		require.NoError(t, err)
		require.Len(t, found.Items.Items, 1)
		return found.Items.Items[0].MergeID
	}
	given := begin()
	b.later(1, ask(MergeAbort, MergeAbortRequest{Merge: string(given)}))
	decided := begin()
	b.later(1, ask(MergeResolve, MergeResolveRequest{Merge: string(decided), Choice: merging.Choice{About: "plan.md", Take: "theirs"}}))
	b.later(1, ask(MergeContinue, MergeContinueRequest{Merge: string(decided)}))
	b.write("part", "plan.md", "part again\n")
	b.write("main", "plan.md", "main again\n")
	waits := begin()

	r, err := Report(b.call(), ReportRequest{})
	require.NoError(t, err)
	require.Len(t, r.Merges, 4)
	assert.Equal(t, MergeUndone, r.Merges[0].Status)
	assert.Equal(t, []thread.ThreadID{"clean"}, r.Merges[0].Sources)
	assert.Equal(t, MergeAborted, r.Merges[1].Status)
	assert.Equal(t, given, r.Merges[1].MergeID)
	made := r.Merges[2]
	assert.Equal(t, MergeMade, made.Status)
	assert.Equal(t, decided, made.MergeID)
	assert.Equal(t, Actor{As: thread.User, Actor: "kim"}, made.By)
	require.Len(t, made.Decisions, 1)
	assert.Equal(t, "theirs", made.Decisions[0].Take)
	assert.Equal(t, "kim", made.Decisions[0].Actor)
	assert.Equal(t, MergeWaits, r.Merges[3].Status)
	assert.Equal(t, waits, r.Merges[3].MergeID)
}
