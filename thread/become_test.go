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

	copied, altered := thread.Records{}, thread.Records{}
	for table, lines := range records {
		copied[table] = append([]thread.Line(nil), lines...)
		altered[table] = copied[table]
	}
	require.NotEmpty(t, copied[thread.TableThreads])
	altered[thread.TableThreads] = append([]thread.Line(nil), copied[thread.TableThreads]...)
	altered[thread.TableThreads][0].JSON = append([]byte(nil), copied[thread.TableThreads][0].JSON...)
	altered[thread.TableThreads][0].JSON[1] = ' '
	for name, other := range map[string]*thread.State{
		"of another revision": thread.NewState(w.Revision+1, records, nil),
		"of other records":    thread.NewState(w.Revision, altered, nil),
	} {
		assert.False(t, other.Become(draft), name)
		assert.False(t, other.Changed(), name)
	}
	assert.True(t, thread.NewState(w.Revision, copied, nil).Become(draft), "of equal records, which were read anew")
	assert.False(t, same.Become(draft), "it has changed already")
}
