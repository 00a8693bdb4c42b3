package store

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

func seqs(h History) (out []int) {
	for _, op := range h.Operations {
		out = append(out, int(op.Seq))
	}
	return out
}

func TestHistoryGivesWhatIsAskedForNewestFirst(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, names(3)...)
	prepareThread(t, s) // 4
	call := callNamed("ref")
	_, err := s.Update(context.Background(), call, func(st *thread.State) (Outcome, error) {
		st.References.Put(thread.Reference{ID: "ref-1", From: "thread-old", Target: "x"})
		return Outcome{}, nil
	})
	require.NoError(t, err) // 5
	add(t, s, "obj-6")
	cases := []struct {
		query HistoryQuery
		want  []int
		total int
	}{
		{HistoryQuery{}, []int{6, 5, 4, 3, 2, 1}, 6},
		{HistoryQuery{Limit: 2}, []int{6, 5}, 6},
		{HistoryQuery{Since: 4}, []int{6, 5}, 2},
		{HistoryQuery{Since: 4, Limit: 1}, []int{6}, 2},
		{HistoryQuery{Since: 9}, nil, 0},
		{HistoryQuery{Thread: "thread-old"}, []int{5, 4}, 2},
		{HistoryQuery{Thread: "thread-old", Limit: 1}, []int{5}, 2},
		{HistoryQuery{Thread: "thread-old", Since: 4}, []int{5}, 1},
		{HistoryQuery{Thread: "thread-none"}, nil, 0},
		{HistoryQuery{Before: 6}, []int{5, 4, 3, 2, 1}, 5},
		{HistoryQuery{Before: 5, Limit: 2}, []int{4, 3}, 4},
		{HistoryQuery{Before: 99, Limit: 1}, []int{6}, 6},
		{HistoryQuery{Before: 1}, nil, 0},
		{HistoryQuery{Before: 5, Since: 2}, []int{4, 3}, 2},
		{HistoryQuery{Before: 5, Thread: "thread-old"}, []int{4}, 1},
	}
	journal := read(t, s, JournalFile)
	lines := slices.Collect(bytes.Lines(journal))
	for _, behind := range []bool{false, true} {
		if behind { // the state's own operation is not in the file yet
			put(t, s, JournalFile, bytes.Join(lines[:5], nil))
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
	s := newStore(t, Options{})
	add(t, s, names(4)...)
	lines := slices.Collect(bytes.Lines(read(t, s, JournalFile)))
	lines[1][30] ^= 1
	put(t, s, JournalFile, append([]byte("\n\nnoise\n"), bytes.Join(lines, nil)...))
	h, err := s.History(context.Background(), HistoryQuery{})
	require.NoError(t, err)
	assert.Equal(t, []int{4, 3, 1}, seqs(h))
}

func TestAnOperationThatWasWrittenTwiceIsToldOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, names(3)...)
	journal := read(t, s, JournalFile)
	lines := slices.Collect(bytes.Lines(journal))
	put(t, s, JournalFile, append(journal, lines[2]...))
	h, err := s.History(context.Background(), HistoryQuery{})
	require.NoError(t, err)
	assert.Equal(t, []int{3, 2, 1}, seqs(h))
	assert.True(t, diagnose(t, s).Healthy)
}

// What undid an operation is known whatever part of the history is asked for.
func TestHistoryKnowsWhatIsUndone(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, names(3)...)
	step := func(name, undoes, redoes string) {
		call := callNamed(name)
		call.Reversal = thread.Reversal{Undoes: thread.OperationID(undoes), Redoes: thread.OperationID(redoes)}
		_, err := s.Update(context.Background(), call, create(name))
		require.NoError(t, err)
	}
	step("u3", "op-"+names(3)[2], "")      // 4
	step("u2", "op-"+names(2)[1], "")      // 5
	step("r2", "op-u2", "op-"+names(2)[1]) // 6
	step("u1", "op-"+names(1)[0], "")      // 7
	lines := slices.Collect(bytes.Lines(read(t, s, JournalFile)))
	for _, behind := range []bool{false, true} {
		if behind { // the state's own operation is not in the file yet
			put(t, s, JournalFile, bytes.Join(lines[:6], nil))
		}
		for _, q := range []HistoryQuery{{}, {Before: 4}, {Before: 3, Limit: 1}} {
			h, err := s.History(context.Background(), q)
			require.NoError(t, err)
			assert.Equal(t, map[thread.OperationID]thread.OperationID{
				thread.OperationID("op-" + names(3)[2]): "op-u3", "op-u2": "op-r2", thread.OperationID("op-" + names(1)[0]): "op-u1",
			}, h.UndoneBy, "%+v", q)
		}
		h, err := s.History(context.Background(), HistoryQuery{Before: 3})
		require.NoError(t, err)
		assert.Equal(t, []int{2, 1}, seqs(h))
		assert.Equal(t, 2, h.Total)
	}
}

// Searching backwards ends where something is found, undos or not.
func TestFindingBehindUndosReadsNoFurtherThanItLies(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, names(5)...)
	call := callNamed("u5")
	call.Reversal.Undoes = thread.OperationID("op-" + names(5)[4])
	_, err := s.Update(context.Background(), call, create("u5"))
	require.NoError(t, err)
	var asked []int
	_, ok, err := s.FindOperation(context.Background(), func(op thread.Operation) bool {
		asked = append(asked, int(op.Seq))
		return op.Seq == 3
	}, names(3)[2])
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, []int{6, 3}, asked, "the undo, and what has the mark")
}
