package thread_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

func TestAStateBecomesTheResultOfRulesOnTheSameRecords(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	records := thread.Records{}
	for _, table := range thread.Tables() {
		records[table] = w.Lines(table)
	}
	draft := thread.NewState(w.Revision, records, nil)
	_, err := draft.Spawn(thread.NewThread{ID: "new", Title: "New", Intent: "x"}, w.stamp(thread.User))
	require.NoError(t, err)
	draft.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/new"})

	same := thread.NewState(w.Revision, records, nil)
	assert.False(t, same.Changed())
	require.True(t, same.Become(draft))
	assert.True(t, same.Changed())
	assert.Equal(t, draft.Changes(), same.Changes())
	assert.Equal(t, draft.Planned(), same.Planned())
	_, err = same.Lifecycle("new", thread.Suspend, "", w.stamp(thread.User))
	require.NoError(t, err)
	assert.NotEqual(t, draft.Changes(), same.Changes(), "what is done to one stays with it")

	copied := thread.Records{}
	for table, lines := range records {
		copied[table] = append([]thread.Line(nil), lines...)
	}
	for name, other := range map[string]*thread.State{
		"of another revision": thread.NewState(w.Revision+1, records, nil),
		"of equal records":    thread.NewState(w.Revision, copied, nil),
	} {
		assert.False(t, other.Become(draft), name)
		assert.False(t, other.Changed(), name)
	}
	assert.False(t, same.Become(draft), "it has changed already")
}
