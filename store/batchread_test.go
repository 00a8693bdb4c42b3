package store_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/internal/journal"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

// allocated is what a call takes of memory: how often, and how many bytes. Counts do
// not depend on the machine.
func allocated(call func()) (times, bytes uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}

// A reader right behind a large batch decodes nothing of what the batch changed, and
// does not read its line in the journal. This test runs alone: it counts allocations.
func TestAReadBehindALargeBatchCostsWhatItCostBefore(t *testing.T) {
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, "obj-a")
	many := func(name string, n int) {
		_, err := s.Update(context.Background(), teststore.CallNamed(name), func(st *thread.State) (store.Outcome, error) {
			for i := range n {
				_, _ = makingThread(fmt.Sprintf("thread-%s-%05d", name, i))(st)
			}
			return store.Outcome{}, nil
		})
		require.NoError(t, err)
	}
	reading := func() (times, bytes uint64) {
		look := func() {
			v, err := store.Open(s.Root(), store.Options{}).View(context.Background(), func(st *thread.State) error {
				_, err := st.Thread("thread-first-00007")
				return err
			})
			require.NoError(t, err)
			assert.Empty(t, v.Undone)
			assert.Empty(t, v.Warnings)
		}
		look()
		return allocated(look)
	}
	many("first", 10_000)
	teststore.Add(t, s, "obj-b")
	times, bytes := reading()
	size := uint64(len(teststore.Read(t, s, store.StateFile)))
	many("second", 10_000)
	timesAfter, bytesAfter := reading()
	grown := uint64(len(teststore.Read(t, s, store.StateFile))) - size
	t.Logf("%d allocations of %d bytes, then %d of %d; the state grew by %d", times, bytes, timesAfter, bytesAfter, grown)
	assert.LessOrEqual(t, timesAfter, 2*times)
	assert.LessOrEqual(t, bytesAfter, 2*bytes+2*grown, "the state itself, and nothing of the journal's line")
}

// A writer reads all of a long last line: one that is damaged is written again.
func TestALongLineThatIsDamagedIsWrittenAgain(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	_, err := s.Update(context.Background(), teststore.CallNamed("many"), func(st *thread.State) (store.Outcome, error) {
		for i := range 100 {
			_, _ = makingThread(fmt.Sprintf("thread-%05d", i))(st)
		}
		return store.Outcome{}, nil
	})
	require.NoError(t, err)
	lines := teststore.Read(t, s, store.JournalFile)
	require.Greater(t, len(lines), journal.LargeOperation)
	lines[len(lines)/2] ^= 1
	teststore.Put(t, s, store.JournalFile, lines)
	teststore.Add(t, s, "obj-a")
	h, err := s.History(context.Background(), store.HistoryQuery{})
	require.NoError(t, err)
	require.Len(t, h.Operations, 2)
	assert.Len(t, h.Operations[1].Changes, 100)
}
