package store_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/doctor"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

func seqs(h store.History) (out []int) {
	for _, op := range h.Operations {
		out = append(out, int(op.Seq))
	}
	return out
}

func TestHistoryGivesWhatIsAskedForNewestFirst(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(3)...)
	teststore.PrepareThread(t, s) // 4
	call := teststore.CallNamed("ref")
	_, err := s.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
		st.References.Put(thread.Reference{ID: "ref-1", From: "thread-old", Target: "x"})
		return store.Outcome{}, nil
	})
	require.NoError(t, err) // 5
	teststore.Add(t, s, "obj-6")
	cases := []struct {
		query store.HistoryQuery
		want  []int
		total int
	}{
		{store.HistoryQuery{}, []int{6, 5, 4, 3, 2, 1}, 6},
		{store.HistoryQuery{Limit: 2}, []int{6, 5}, 6},
		{store.HistoryQuery{Since: 4}, []int{6, 5}, 2},
		{store.HistoryQuery{Since: 4, Limit: 1}, []int{6}, 2},
		{store.HistoryQuery{Since: 9}, nil, 0},
		{store.HistoryQuery{Thread: "thread-old"}, []int{5, 4}, 2},
		{store.HistoryQuery{Thread: "thread-old", Limit: 1}, []int{5}, 2},
		{store.HistoryQuery{Thread: "thread-old", Since: 4}, []int{5}, 1},
		{store.HistoryQuery{Thread: "thread-none"}, nil, 0},
		{store.HistoryQuery{Before: 6}, []int{5, 4, 3, 2, 1}, 5},
		{store.HistoryQuery{Before: 5, Limit: 2}, []int{4, 3}, 4},
		{store.HistoryQuery{Before: 99, Limit: 1}, []int{6}, 6},
		{store.HistoryQuery{Before: 1}, nil, 0},
		{store.HistoryQuery{Before: 5, Since: 2}, []int{4, 3}, 2},
		{store.HistoryQuery{Before: 5, Thread: "thread-old"}, []int{4}, 1},
	}
	journal := teststore.Read(t, s, store.JournalFile)
	lines := slices.Collect(bytes.Lines(journal))
	for _, behind := range []bool{false, true} {
		if behind { // the state's own operation is not in the file yet
			teststore.Put(t, s, store.JournalFile, bytes.Join(lines[:5], nil))
		}
		for _, c := range cases {
			h, err := s.History(context.Background(), c.query)
			require.NoError(t, err)
			assert.Equal(t, c.want, seqs(h), "%+v", c.query)
			assert.Equal(t, c.total, h.Total, "%+v", c.query)
			assert.Equal(t, thread.Revision(6), h.Revision)
		}
	}
}

func TestDamagedLinesAreSkipped(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(4)...)
	lines := slices.Collect(bytes.Lines(teststore.Read(t, s, store.JournalFile)))
	lines[1][30] ^= 1
	teststore.Put(t, s, store.JournalFile, append([]byte("\n\nnoise\n"), bytes.Join(lines, nil)...))
	h, err := s.History(context.Background(), store.HistoryQuery{})
	require.NoError(t, err)
	assert.Equal(t, []int{4, 3, 1}, seqs(h))
}

func TestAnOperationThatWasWrittenTwiceIsToldOnce(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(3)...)
	journal := teststore.Read(t, s, store.JournalFile)
	lines := slices.Collect(bytes.Lines(journal))
	teststore.Put(t, s, store.JournalFile, append(journal, lines[2]...))
	h, err := s.History(context.Background(), store.HistoryQuery{})
	require.NoError(t, err)
	assert.Equal(t, []int{3, 2, 1}, seqs(h))
	d, err := doctor.Doctor{Store: s}.Diagnose(context.Background())
	require.NoError(t, err)
	assert.True(t, d.Healthy)
}

// What undid an operation is known whatever part of the history is asked for.
func TestHistoryKnowsWhatIsUndone(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(3)...)
	step := func(name, undoes, redoes string) {
		_, err := s.Update(context.Background(), teststore.CallNamed(name), reversing(name, undoes, redoes))
		require.NoError(t, err)
	}
	step("u3", "op-"+teststore.Names(3)[2], "")      // 4
	step("u2", "op-"+teststore.Names(2)[1], "")      // 5
	step("r2", "op-u2", "op-"+teststore.Names(2)[1]) // 6
	step("u1", "op-"+teststore.Names(1)[0], "")      // 7
	lines := slices.Collect(bytes.Lines(teststore.Read(t, s, store.JournalFile)))
	for _, behind := range []bool{false, true} {
		if behind { // the state's own operation is not in the file yet
			teststore.Put(t, s, store.JournalFile, bytes.Join(lines[:6], nil))
		}
		for _, q := range []store.HistoryQuery{{}, {Before: 4}, {Before: 3, Limit: 1}} {
			h, err := s.History(context.Background(), q)
			require.NoError(t, err)
			assert.Equal(t, map[thread.OperationID]thread.OperationID{
				thread.OperationID("op-" + teststore.Names(3)[2]): "op-u3", "op-u2": "op-r2", thread.OperationID("op-" + teststore.Names(1)[0]): "op-u1",
			}, h.UndoneBy, "%+v", q)
		}
		h, err := s.History(context.Background(), store.HistoryQuery{Before: 3})
		require.NoError(t, err)
		assert.Equal(t, []int{2, 1}, seqs(h))
		assert.Equal(t, 2, h.Total)
	}
}

// Searching backwards ends where something is found, undos or not.
func TestFindingBehindUndosReadsNoFurtherThanItLies(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(5)...)
	_, err := s.Update(context.Background(), teststore.CallNamed("u5"), reversing("u5", "op-"+teststore.Names(5)[4], ""))
	require.NoError(t, err)
	var asked []int
	_, ok, err := s.FindOperation(context.Background(), func(op thread.Operation) bool {
		asked = append(asked, int(op.Seq))
		return op.Seq == 3
	}, teststore.Names(3)[2])
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, []int{6, 3}, asked, "the undo, and what has the mark")
}

// reversing creates an objective by an operation that says that it undoes or redoes others.
func reversing(name, undoes, redoes string) func(*thread.State) (store.Outcome, error) {
	return func(st *thread.State) (store.Outcome, error) {
		st.Reverse(thread.Reversal{Undoes: thread.OperationID(undoes), Redoes: thread.OperationID(redoes)})
		return teststore.Create(name)(st)
	}
}
