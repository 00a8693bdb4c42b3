package thread_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

// over returns, for each condition, whether a wait for the thread would be over.
func (w *fixture) over(id thread.ThreadID) map[thread.Until]bool {
	w.t.Helper()
	th, err := w.Thread(string(id))
	require.NoError(w.t, err)
	out := map[thread.Until]bool{}
	for _, until := range []thread.Until{thread.UntilDone, thread.UntilAny, thread.UntilChildren, thread.UntilDecision} {
		out[until] = w.Over(th, until)
	}
	return out
}

func TestAWaitIsOverWhenItsThreadIsTerminated(t *testing.T) {
	t.Parallel()
	for _, status := range thread.Statuses() {
		over := standing(t, status).over("it")
		assert.Equal(t, status.Terminated(), over[thread.UntilDone], "%s", status)
		assert.True(t, over[thread.UntilChildren], "%s: it has none", status)
		assert.True(t, over[thread.UntilDecision], "%s: nothing is open", status)
		assert.False(t, over[thread.UntilAny], "%s: that is told by the operations", status)
	}
}

func TestAWaitForChildrenIsOverWithTheLastOfThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("parent", "other")
	for _, id := range []thread.ThreadID{"b", "a"} {
		w.spawned(thread.NewThread{ID: id, Title: "x", Intent: "x", Parent: "parent", Executor: thread.ByAgent, Inherit: thread.InheritNone})
	}
	w.spawned(thread.NewThread{ID: "grandchild", Title: "x", Intent: "x", Parent: "a", Executor: thread.ByAgent, Inherit: thread.InheritNone})
	w.moved("parent", thread.Suspend)
	var live []thread.ThreadID
	for _, child := range w.LiveChildren("parent") {
		live = append(live, child.ID)
	}
	assert.Equal(t, []thread.ThreadID{"a", "b"}, live)
	assert.Empty(t, w.LiveChildren("other"))
	w.moved("a", thread.Done)
	assert.Equal(t, false, w.over("parent")[thread.UntilChildren])
	assert.Equal(t, false, w.over("parent")[thread.UntilDone], "it is not wakeable yet")
	w.moved("b", thread.Cancel, thread.Archive)
	assert.Equal(t, true, w.over("parent")[thread.UntilChildren])
	assert.Equal(t, true, w.over("parent")[thread.UntilDone], "it is wakeable")
	assert.Equal(t, true, w.over("a")[thread.UntilDone])
	assert.Equal(t, false, w.over("a")[thread.UntilChildren])
}

func TestAWaitForADecisionIsOverWithTheLastOpenRequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("it", "other")
	w.askedWith(thread.NewGrant{ID: "appr-1", Thread: "it", Scope: []string{"deploy"}, Fallback: thread.Block})
	w.askedWith(thread.NewGrant{ID: "appr-2", Thread: "it", Scope: []string{"code_edit"}, Fallback: thread.Block})
	for _, id := range []string{"appr-1", "appr-2"} {
		assert.Equal(t, false, w.over("it")[thread.UntilDecision])
		assert.Equal(t, true, w.over("other")[thread.UntilDecision])
		w.decided(id, thread.Deny, "")
	}
	assert.Equal(t, true, w.over("it")[thread.UntilDecision])
}

func TestTheNextExpiryIsTheEarliestEffectiveDeadline(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one") // 12:01
	w.threads("it")        // 12:02
	assert.Zero(t, w.NextExpiry())
	w.askedWith(thread.NewGrant{ID: "appr-block", Thread: "it", Scope: []string{"deploy"}, Timeout: time.Minute, Fallback: thread.Block})
	w.askedWith(thread.NewGrant{ID: "appr-never", Thread: "it", Scope: []string{"deploy"}, Fallback: thread.Skip})
	assert.Zero(t, w.NextExpiry(), "neither does anything by itself")
	w.askedWith(thread.NewGrant{ID: "appr-late", Thread: "it", Scope: []string{"code_edit"}, Timeout: 3 * time.Hour, Fallback: thread.Skip})
	w.askedWith(thread.NewGrant{ID: "appr-soon", Thread: "it", Scope: []string{"deploy"}, Timeout: time.Hour, Fallback: thread.AutoApprove}) // at 12:06
	next := w.NextExpiry()
	assert.Equal(t, noon.Add(66*time.Minute), next)
	assert.False(t, w.Overdue(next.Add(-time.Millisecond)))
	assert.True(t, w.Overdue(next), "then Lapse acts")
	w.Expire(thread.Stamp{Time: next, As: thread.System})
	w.commit()
	assert.Equal(t, noon.Add(185*time.Minute), w.NextExpiry())
}

func TestAnOperationConcernsTheThreadsItChanges(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		op   thread.Operation
		want bool
	}{
		"by name":               {thread.Operation{ThreadID: "it"}, true},
		"another's name":        {thread.Operation{ThreadID: "it-2"}, false},
		"its record":            {thread.Operation{ThreadID: "x", Changes: []thread.Change{{Record: "threads/x"}, {Record: "threads/it"}}}, true},
		"a record of that name": {thread.Operation{Changes: []thread.Change{{Record: "objectives/it"}}}, false},
		"a reference it made":   {changed("references/r", `null`, `{"from":"it","target":"x"}`), true},
		"one it lost":           {changed("references/r", `{"from":"it","target":"x"}`, ``), true},
		"a reference to it":     {changed("references/r", ``, `{"from":"x","target":"it"}`), false},
		"its grant":             {changed("approvals/a", `{"threadId":"it"}`, `{"threadId":"it"}`), true},
		"another's grant":       {changed("approvals/a", `{"threadId":"x"}`, `{"threadId":"x","reason":"it"}`), false},
		"no record":             {changed("approvals/a", `{`, `[]`), false},
	}
	for name, tt := range tests {
		assert.Equal(t, tt.want, tt.op.Concerns("it"), name)
	}
}

func changed(record, before, after string) thread.Operation {
	return thread.Operation{Changes: []thread.Change{{Record: record, Before: json.RawMessage(before), After: json.RawMessage(after)}}}
}
