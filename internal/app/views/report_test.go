package views

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/app"
	"leslie/internal/app/apptest"
	"leslie/internal/app/decisions"
	"leslie/internal/app/history"
	"leslie/internal/app/merges"
	"leslie/internal/app/merging"
	"leslie/internal/app/threads"
	"leslie/thread"
)

// later runs a use case so many minutes later.
func later(b *apptest.Project, minutes int, step apptest.Asked) {
	b.T.Helper()
	now := b.Now().Add(time.Duration(minutes) * time.Minute)
	b.Now = func() time.Time { return now }
	c := b.Person()
	require.NoError(b.T, step(c))
	c.Finish(nil)
}

func lifecycle(id string, action thread.Action) apptest.Asked {
	return apptest.Ask(threads.Lifecycle, threads.LifecycleRequest{Thread: id, Action: action})
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
	b := apptest.New(t)
	begin := b.Now()
	later(b, 10, lifecycle("main", thread.Suspend))
	later(b, 5, lifecycle("main", thread.Resume))
	later(b, 5, apptest.Ask(decisions.Transfer, decisions.TransferRequest{Thread: "main", Direction: decisions.RequestApproval, Scope: []string{"deploy"}}))
	later(b, 0, lifecycle("part", thread.Done))
	later(b, 10, lifecycle("part", thread.Reopen))
	later(b, 10, lifecycle("part", thread.Cancel))
	later(b, 1, apptest.Ask(history.Undo, history.UndoRequest{}))
	later(b, 1, apptest.Ask(history.Redo, history.RedoRequest{}))
	later(b, 1, lifecycle("part", thread.Archive))
	later(b, 10, apptest.Ask(decisions.ListApprovals, decisions.ListApprovalsRequest{}))

	r, err := Report(b.Person(), ReportRequest{All: true})
	require.NoError(t, err)
	assert.Equal(t, [][3]any{{thread.Active, 0, 10}, {thread.Suspended, 10, 15}, {thread.Active, 15, 20}, {thread.WaitingHuman, 20, 53}}, spansOf(t, r, "main", begin))
	assert.Equal(t, [][3]any{{thread.Active, 0, 20}, {thread.Active, 30, 40}, {thread.Active, 41, 42}}, spansOf(t, r, "part", begin), "nothing while it had ended")
	assert.Len(t, r.Approvals, 1)
	require.Len(t, r.History, 12)
	for i, op := range r.History {
		assert.Equal(t, thread.Revision(i+1), op.Seq)
		assert.Equal(t, op.Seq == 10, op.UndoneBy != "", "operation %d", op.Seq)
	}

	r, err = Report(b.Person(), ReportRequest{})
	require.NoError(t, err)
	require.Len(t, r.Threads, 1)
	assert.Equal(t, thread.ThreadID("main"), r.Threads[0].ThreadID)
}

func TestAReportKnowsWhatBecameOfMerges(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Write("main", "plan.md", "main\n")
	b.Write("part", "plan.md", "part\n")
	later(b, 1, apptest.Ask(threads.Spawn, threads.SpawnRequest{ID: "clean", Intent: "x", Parent: "main", Inherit: thread.InheritFull}))
	b.Write("clean", "notes.md", "notes\n")
	later(b, 1, apptest.Ask(merges.Merge, merges.Request{Sources: []string{"clean"}, Target: "main"}))
	later(b, 1, apptest.Ask(history.Undo, history.UndoRequest{}))
	begin := func() thread.MergeID {
		c := b.Person()
		_, err := merges.Merge(c, merges.Request{Sources: []string{"part"}, Target: "main"})
		require.Error(t, err, "a conflict")
		found, err := merges.List(b.Person(), merges.ListRequest{})
		require.NoError(t, err)
		require.Len(t, found.Items.Items, 1)
		return found.Items.Items[0].MergeID
	}
	given := begin()
	later(b, 1, apptest.Ask(merges.Abort, merges.AbortRequest{Merge: string(given)}))
	decided := begin()
	later(b, 1, apptest.Ask(merges.Resolve, merges.ResolveRequest{Merge: string(decided), Choice: merging.Choice{About: "plan.md", Take: "theirs"}}))
	later(b, 1, apptest.Ask(merges.Continue, merges.ContinueRequest{Merge: string(decided)}))
	b.Write("part", "plan.md", "part again\n")
	b.Write("main", "plan.md", "main again\n")
	waits := begin()

	r, err := Report(b.Person(), ReportRequest{})
	require.NoError(t, err)
	require.Len(t, r.Merges, 4)
	assert.Equal(t, MergeUndone, r.Merges[0].Status)
	assert.Equal(t, []thread.ThreadID{"clean"}, r.Merges[0].Sources)
	assert.Equal(t, MergeAborted, r.Merges[1].Status)
	assert.Equal(t, given, r.Merges[1].MergeID)
	made := r.Merges[2]
	assert.Equal(t, MergeMade, made.Status)
	assert.Equal(t, decided, made.MergeID)
	assert.Equal(t, app.Actor{As: thread.User, Actor: "kim"}, made.By)
	require.Len(t, made.Decisions, 1)
	assert.Equal(t, "theirs", made.Decisions[0].Take)
	assert.Equal(t, "kim", made.Decisions[0].Actor)
	assert.Equal(t, MergeWaits, r.Merges[3].Status)
	assert.Equal(t, waits, r.Merges[3].MergeID)
}
