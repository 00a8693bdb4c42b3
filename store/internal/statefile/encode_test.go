package statefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store/internal/journal"
	"leslie/thread"
)

// noon is the time of every record here.
func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// grown is a state of n objectives and n threads, as it is read from a file.
func grown(t testing.TB, n, size int) Image {
	t.Helper()
	st := thread.NewState(0, nil, nil)
	for i := range n {
		st.Objectives.Put(thread.Objective{ID: thread.ObjectiveID(fmt.Sprintf("obj-%05d", i)), Title: strings.Repeat("o", size), CreatedAt: noon()})
		st.Threads.Put(thread.Thread{ID: thread.ThreadID(fmt.Sprintf("thread-%05d", i)), Title: "T", Intent: strings.Repeat("i", size), Status: thread.Active, Created: thread.Attribution{At: noon()}, Updated: noon()})
	}
	data, err := Of(st, journal.Entry{Operation: thread.Operation{Seq: 1, ID: "op-1", Changes: []thread.Change{}}}).Encode()
	require.NoError(t, err)
	m, err := Decode(data)
	require.NoError(t, err)
	return m
}

// changed is the image after some random changes.
func changed(rng *rand.Rand, m Image, n int) Image {
	st := thread.NewState(m.Revision, m.Records, nil)
	for range rng.IntN(6) {
		id := fmt.Sprintf("%05d", rng.IntN(n+2))
		switch rng.IntN(5) {
		case 0:
			st.Threads.Put(thread.Thread{ID: thread.ThreadID("thread-" + id + "x"), Title: "between"})
		case 1:
			st.Threads.Delete("thread-" + id)
		case 2:
			st.Objectives.Put(thread.Objective{ID: thread.ObjectiveID("obj-" + id), Title: "changed"})
		case 3:
			st.Objectives.Put(thread.Objective{ID: thread.ObjectiveID([]string{"a", "zzz"}[rng.IntN(2)] + id), Title: "at an end"})
		case 4:
			if th, ok := st.Threads.Get("thread-" + id); ok {
				th.Title = strings.Repeat("t", rng.IntN(9))
				st.Threads.Put(th)
			}
		}
	}
	return Of(st, journal.Entry{Operation: thread.Operation{Seq: m.Revision + 1, ID: "op-2", Changes: st.Changes()}, Pending: []thread.Step{{Do: thread.StepMakeDir, To: "threads/x"}}})
}

func TestAStateInPiecesIsTheStateInOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(3, seed))
		n := rng.IntN(12)
		m := grown(t, n, []int{10, 3_000, 40_000}[rng.IntN(3)])
		next := changed(rng, m, n)
		want, err := next.Encode()
		require.NoError(t, err)
		parts, err := next.EncodeFrom(m)
		require.NoError(t, err)
		require.Equal(t, string(want), string(bytes.Join(parts, nil)), "seed %d", seed)
		_, err = Decode(bytes.Join(parts, nil))
		require.NoError(t, err)
	}
}

func TestPiecesOfWhatDidNotChangeAreNotCopied(t *testing.T) {
	t.Parallel()
	m := grown(t, 100, 10_000)
	st := thread.NewState(m.Revision, m.Records, nil)
	st.Threads.Put(thread.Thread{ID: "thread-00050x", Title: "one more"})
	parts, err := Of(st, journal.Entry{Operation: thread.Operation{Seq: 2, ID: "op-2", Changes: st.Changes()}}).EncodeFrom(m)
	require.NoError(t, err)
	copied, all := 0, 0
	for i, p := range parts {
		all += len(p)
		if i%2 == 0 { // what is new stands between what is not
			copied += len(p)
		}
	}
	assert.LessOrEqual(t, len(parts), 7)
	assert.Less(t, copied, 4_000, "of %d bytes", all)
}

func TestAStateThatWasRecoveredIsWrittenWhole(t *testing.T) {
	t.Parallel()
	m := grown(t, 5, 40_000)
	m.tables = nil
	want, err := m.Encode()
	require.NoError(t, err)
	parts, err := m.EncodeFrom(m)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(bytes.Join(parts, nil)))
}

// The pieces rely on the form of each line: one that has a comma too many or too
// few is damage, whatever its sum says.
func TestALineWithoutItsCommaIsDamage(t *testing.T) {
	t.Parallel()
	m := grown(t, 3, 10)
	data, err := m.Encode()
	require.NoError(t, err)
	for _, wrong := range [][2]string{{"},\n\"thread-00001\"", "}\n\"thread-00001\""}, {"}\n},\n\"references\"", "},\n},\n\"references\""}} {
		text := strings.Replace(string(data), wrong[0], wrong[1], 1)
		require.NotEqual(t, string(data), text)
		again := []byte(text)
		Sum(again)
		_, err := Decode(again)
		assert.ErrorIs(t, err, Damage("its table threads cannot be read"), "%q", wrong)
	}
	_, err = Decode(data)
	require.NoError(t, err)
}

// Reading allocates for a state as a whole, not for its records.
func TestReadingAllocatesNothingForARecord(t *testing.T) {
	small, large := grown(t, 200, 50), grown(t, 4_000, 50)
	allocations := func(m Image) float64 {
		data, err := m.Encode()
		require.NoError(t, err)
		return testing.AllocsPerRun(3, func() {
			_, err := Decode(data)
			require.NoError(t, err)
		})
	}
	few, many := allocations(small), allocations(large)
	t.Logf("%.0f allocations for 400 records, %.0f for 8,000", few, many)
	assert.LessOrEqual(t, many, 60.0)
	assert.LessOrEqual(t, many, few+12)
}

// A write allocates for what it changes: the rest is written from where it lies.
func TestWritingAllocatesNothingForARecord(t *testing.T) {
	allocations := func(n int) float64 {
		m := grown(t, n, 500)
		st := thread.NewState(m.Revision, m.Records, nil)
		st.Threads.Put(thread.Thread{ID: "thread-00007x", Title: "one more"})
		next := Of(st, journal.Entry{Operation: thread.Operation{Seq: 2, ID: "op-2", Changes: st.Changes()}})
		return testing.AllocsPerRun(3, func() {
			_, err := next.EncodeFrom(m)
			require.NoError(t, err)
		})
	}
	few, many := allocations(200), allocations(4_000)
	t.Logf("%.0f allocations among 400 records, %.0f among 8,000", few, many)
	assert.LessOrEqual(t, many, 80.0)
	assert.LessOrEqual(t, many, few+12)
}

func TestAFileIsWholeHoweverItIsRead(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 3, 400} { // the last is larger than a piece
		data, err := grown(t, n, 500).Encode()
		require.NoError(t, err)
		for _, at := range []int{0, 13, len(data) / 2, len(data) - 1} {
			damaged := bytes.Clone(data)
			damaged[at] ^= 1
			for _, text := range [][]byte{data, damaged, data[:at], append(bytes.Clone(data), 'x')} {
				whole, err := WholeFrom(iotest.OneByteReader(bytes.NewReader(text)))
				require.NoError(t, err)
				require.Equal(t, bytes.Equal(text, data), whole, "%d of %d bytes", at, len(data))
				require.Equal(t, whole, Whole(text))
			}
		}
	}
	broken := io.MultiReader(strings.NewReader(`{"version":"3.0"`), iotest.ErrReader(errors.New("broken")))
	_, err := WholeFrom(broken)
	require.EqualError(t, err, "broken")
}
