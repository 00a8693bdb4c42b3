package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store/internal/jsonl"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// grown is a state of n objectives and n threads, as it is read from a file.
func grown(t testing.TB, n, size int) image {
	t.Helper()
	st := thread.NewState(0, nil, nil)
	for i := range n {
		st.Objectives.Put(thread.Objective{ID: thread.ObjectiveID(fmt.Sprintf("obj-%05d", i)), Title: strings.Repeat("o", size), CreatedAt: noon})
		st.Threads.Put(thread.Thread{ID: thread.ThreadID(fmt.Sprintf("thread-%05d", i)), Title: "T", Intent: strings.Repeat("i", size), Status: thread.Active, Created: thread.Attribution{At: noon}, Updated: noon})
	}
	data, err := snapshot(st, entry{Operation: thread.Operation{Seq: 1, ID: "op-1", Changes: []thread.Change{}}}).encode()
	require.NoError(t, err)
	m, err := decodeState(data)
	require.NoError(t, err)
	return m
}

// changed is the image after some random changes.
func changed(rng *rand.Rand, m image, n int) image {
	st := thread.NewState(m.revision, m.records, nil)
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
	return snapshot(st, entry{Operation: thread.Operation{Seq: m.revision + 1, ID: "op-2", Changes: st.Changes()}, Pending: []thread.Step{{Do: thread.StepMakeDir, To: "threads/x"}}})
}

func TestAStateInPiecesIsTheStateInOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(3, seed))
		n := rng.IntN(12)
		m := grown(t, n, []int{10, 3_000, 40_000}[rng.IntN(3)])
		next := changed(rng, m, n)
		want, err := next.encode()
		require.NoError(t, err)
		parts, err := next.encodeFrom(m)
		require.NoError(t, err)
		require.Equal(t, string(want), string(bytes.Join(parts, nil)), "seed %d", seed)
		_, err = decodeState(bytes.Join(parts, nil))
		require.NoError(t, err)
	}
}

func TestPiecesOfWhatDidNotChangeAreNotCopied(t *testing.T) {
	t.Parallel()
	m := grown(t, 100, 10_000)
	st := thread.NewState(m.revision, m.records, nil)
	st.Threads.Put(thread.Thread{ID: "thread-00050x", Title: "one more"})
	parts, err := snapshot(st, entry{Operation: thread.Operation{Seq: 2, ID: "op-2", Changes: st.Changes()}}).encodeFrom(m)
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
	m.bodies = nil
	want, err := m.encode()
	require.NoError(t, err)
	parts, err := m.encodeFrom(m)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(bytes.Join(parts, nil)))
}

// The pieces rely on the form of each line: one that has a comma too many or too
// few is damage, whatever its sum says.
func TestALineWithoutItsCommaIsDamage(t *testing.T) {
	t.Parallel()
	m := grown(t, 3, 10)
	data, err := m.encode()
	require.NoError(t, err)
	for _, wrong := range [][2]string{{"},\n\"thread-00001\"", "}\n\"thread-00001\""}, {"}\n},\n\"references\"", "},\n},\n\"references\""}} {
		text := strings.Replace(string(data), wrong[0], wrong[1], 1)
		require.NotEqual(t, string(data), text)
		_, at, ok := readHead([]byte(text))
		require.True(t, ok)
		sum := jsonl.Checksum([]byte(text[:at]), []byte(text[at+8:]))
		_, err := decodeState([]byte(text[:at] + sum[len(jsonl.SumPrefix):] + text[at+8:]))
		assert.ErrorIs(t, err, saferoot.Damage("its table threads cannot be read"), "%q", wrong)
	}
	_, err = decodeState(data)
	require.NoError(t, err)
}
