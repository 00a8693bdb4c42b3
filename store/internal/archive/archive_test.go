package archive

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

// change is a record that an operation archives.
func change(record, value string) thread.Change {
	return thread.Change{Record: record, After: []byte(value)}
}

// state is one with these live threads, whose only objective counts so many archived.
func state(archived string, live ...string) thread.Records {
	records := thread.Records{thread.TableObjectives: {{ID: "obj", JSON: []byte(`{"archived":` + archived + `}`)}}}
	for _, id := range live {
		records[thread.TableThreads] = append(records[thread.TableThreads], thread.Line{ID: id, JSON: []byte(`{}`)})
	}
	return records
}

func records(lines []Line) (out []string) {
	for _, line := range lines {
		out = append(out, line.Record)
	}
	return out
}

func TestLinesAreReadBackAndDamagedOnesCounted(t *testing.T) {
	t.Parallel()
	lines := LinesOf([]thread.Change{change("threads/a", `{"n":1}`), {Record: "references/r", Before: []byte(`{"from":"a"}`)}}, 3)
	assert.Equal(t, 1, lines[0].Left, "one more line follows")
	sealed, err := Seal(lines)
	require.NoError(t, err)
	data := append(bytes.Join(sealed, []byte("\n")), "\n\ntorn"...)
	var read []Line
	assert.Equal(t, 1, Read(data, func(line Line) { read = append(read, line) }))
	assert.Equal(t, lines, read)
}

func TestTheLastLineCountsAndTheStateWins(t *testing.T) {
	t.Parallel()
	r := New(state("1", "live"), 9)
	for i, line := range []Line{
		{"threads/a", []byte(`{"n":1}`), 1, 0}, {"threads/a", []byte(`{"n":2}`), 2, 0}, {"threads/live", []byte(`{}`), 3, 0},
		{"references/old", []byte(`{"from":"a"}`), 1, 0}, {"references/now", []byte(`{"from":"a"}`), 2, 0}, {"references/live", []byte(`{"from":"live"}`), 3, 0},
	} {
		r.Put(line)
		require.True(t, r.Has("threads", "a"), i)
	}
	assert.Equal(t, []string{"references/now", "threads/a"}, records(r.Lines()), "old was archived with the thread before, not the last time")
	assert.Equal(t, []thread.Line{{ID: "a", JSON: []byte(`{"n":2}`)}}, r.Tables()[thread.TableThreads])
	assert.Empty(t, r.Lack())
}

func TestMissingLinesAreNoticed(t *testing.T) {
	t.Parallel()
	lines := LinesOf([]thread.Change{change("threads/a", `{}`), change("references/r", `{"from":"a"}`)}, 1)
	r := New(state("1"), 1)
	assert.Equal(t, "1 archived threads are missing", r.Lack())
	r.Put(lines[0])
	assert.Equal(t, "references of 1 archived threads are missing", r.Lack())
	assert.True(t, r.Add(lines), "the journal has the other")
	assert.False(t, r.Add(lines))
	assert.Empty(t, r.Lack())
}

func TestArchiveAndJournalAreCompared(t *testing.T) {
	t.Parallel()
	first := LinesOf([]thread.Change{change("threads/a", `{}`), change("references/r", `{"from":"a"}`)}, 1)
	second := LinesOf([]thread.Change{change("threads/b", `{}`)}, 2)
	r := New(state("3"), 9)
	r.Put(first[0]) // its reference is missing
	r.Put(Line{"threads/c", []byte(`{}`), 3, 0})
	all := r.Compare([][]Line{first, second})
	assert.Equal(t, []string{"threads/a", "references/r", "threads/b"}, records(all.Missing), "with all lines of an operation")
	assert.Equal(t, []string{"references/r", "threads/a", "threads/b", "threads/c"}, records(all.Counting))
	assert.Equal(t, []string{"threads/c"}, records(all.Unjournaled))
}
