package store

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

func sameBytes(a, b *loaded) bool {
	x, y := a.records[thread.TableObjectives], b.records[thread.TableObjectives]
	return len(x) > 0 && len(y) > 0 && &x[0].JSON[0] == &y[0].JSON[0]
}

func TestAStateThatIsReadAgainIsNotKeptTwice(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, "obj-a")
	reader := with(s, Options{})
	first, err := reader.load()
	require.NoError(t, err)
	again, err := reader.load()
	require.NoError(t, err)
	assert.True(t, sameBytes(first, again))
	require.NotNil(t, again.operation)
	assert.Equal(t, thread.OperationID("op-obj-a"), again.operation.ID)

	add(t, s, "obj-b") // another process
	later, err := reader.load()
	require.NoError(t, err)
	assert.False(t, sameBytes(first, later))
	assert.Equal(t, thread.Revision(2), later.revision)
	assert.Len(t, later.records[thread.TableObjectives], 2)
}

// Whoever edits a state in place and puts its time back is found out by the sum,
// in a process that has read it before as well.
func TestWhatWasReadBeforeDoesNotHideDamage(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, names(600)...) // more than the buffer that it passes through
	data := read(t, s, StateFile)
	require.Greater(t, len(data), 64<<10)
	_, at, _ := readHead(data)
	for _, i := range []int{5, at - 1, at, at + 7, at + 9, 64<<10 - 1, 64 << 10, len(data) - 1} {
		reader := with(s, Options{})
		before, err := reader.load()
		require.NoError(t, err)
		require.False(t, before.recovered())
		info, err := os.Stat(s.Path(StateFile))
		require.NoError(t, err)
		wrong := append([]byte{}, data...)
		wrong[i] ^= 1
		put(t, s, StateFile, wrong)
		require.NoError(t, os.Chtimes(s.Path(StateFile), info.ModTime(), info.ModTime()))
		after, err := reader.load()
		require.NoError(t, err)
		assert.True(t, after.recovered(), "byte %d", i)
		put(t, s, StateFile, data)
	}
}
