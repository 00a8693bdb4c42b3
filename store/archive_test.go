package store

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

func lineOf(s string) thread.Line { return thread.Line{ID: s} }

func TestTheLastLineOfARecordCountsAndTheStateWins(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	put(t, s, ArchiveFile, []byte("torn without an end"))
	put1 := func(record, value string) {
		require.NoError(t, s.appendArchive([]thread.Change{{Record: record, After: []byte(value)}}, 1))
	}
	put1("threads/b", `{"n":1}`)
	put1("threads/a", `{"n":2}`)
	put1("references/r", `{"n":3}`)
	put1("threads/b", `{"n":4}`)
	put1("threads/live", `{"n":5}`)
	c := &cold{store: s, records: thread.Records{thread.TableThreads: {lineOf("live")}}}
	got, err := c.Archived(thread.TableThreads)
	require.NoError(t, err)
	assert.Equal(t, []thread.Line{{ID: "a", JSON: []byte(`{"n":2}`)}, {ID: "b", JSON: []byte(`{"n":4}`)}}, got)
	bad, err := s.readArchive(func(archived) {})
	require.NoError(t, err)
	assert.Equal(t, 1, bad)
}

func TestAnIdIsTakenWhenItsFolderIsThere(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	prepareThread(t, s)
	c := &cold{store: s}
	assert.True(t, c.Taken("thread-old"))
	assert.False(t, c.Taken("thread-new"))
}
