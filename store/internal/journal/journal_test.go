package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// operation is one that creates the objective obj-N.
func operation(seq int) *Operation {
	after := fmt.Appendf(nil, `{"objectiveId":"obj-%d"}`, seq)
	op := thread.Operation{
		Seq: thread.Revision(seq), ID: thread.OperationID(fmt.Sprint("op-", seq)), Time: noon(), Command: "objective create",
		Changes: []thread.Change{{Record: fmt.Sprint("objectives/obj-", seq), After: after}},
	}
	return &Operation{Entry: Entry{Operation: op}}
}

func line(t testing.TB, o *Operation) string {
	t.Helper()
	text, err := o.Line(nil)
	require.NoError(t, err)
	return string(text) + "\n"
}

// lines are the lines of the operations with these numbers.
func lines(t testing.TB, numbers ...int) string {
	t.Helper()
	var all strings.Builder
	for _, seq := range numbers {
		all.WriteString(line(t, operation(seq)))
	}
	return all.String()
}

// open is a journal with this text.
func open(t testing.TB, text string) File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "operations.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	f, err := os.Open(name)
	require.NoError(t, err)
	file := NewFile(f, int64(len(text)))
	t.Cleanup(file.Close)
	return file
}

func TestAMissingJournalHasNothing(t *testing.T) {
	t.Parallel()
	var f File
	require.True(t, f.Missing())
	end, err := f.TailAt(operation(1))
	require.NoError(t, err)
	assert.Equal(t, Tail{}, end)
	ops, newest, err := f.After(0)
	require.NoError(t, err)
	assert.Empty(t, ops)
	assert.Zero(t, newest)
	x, err := ReadIndex(f, noon())
	require.NoError(t, err)
	assert.True(t, x.Empty())
}

func TestTheTailIsTheLastIntactLine(t *testing.T) {
	t.Parallel()
	pending := operation(3)
	withSteps, err := pending.Line([]thread.Step{{Do: thread.StepMakeDir, To: "threads/a"}})
	require.NoError(t, err)
	later := operation(4) // of a version whose records have parts named like the line's
	later.Changes[0].After = []byte(`{"objectiveId":"obj-4","review":{"pending":[{"do":"x"}]}}`)
	for text, want := range map[string]Tail{
		lines(t, 1, 2):                            {Newest: 2, StepsDone: true},
		lines(t, 1, 2) + "torn":                   {Newest: 2, StepsDone: true, Torn: true},
		lines(t, 1, 2) + string(withSteps) + "\n": {Newest: 3},
		"torn\n":                        {Torn: true},
		lines(t, 1, 2) + line(t, later): {Newest: 4, StepsDone: true},
		lines(t, 1, 2) + strings.Repeat("x", 9<<10):      {Newest: 2, StepsDone: true, Torn: true},
		lines(t, 1) + strings.Repeat("\n", 9<<10) + "\n": {Newest: 1, StepsDone: true},
	} {
		end, err := open(t, text).Tail()
		require.NoError(t, err)
		assert.Equal(t, want, end, "%.300q", text)
	}
}

// A large operation is known by its length and sum, and decoded only for who asks.
func TestALargeOperationIsDecodedForWhoAsks(t *testing.T) {
	t.Parallel()
	big := operation(2)
	big.Changes[0].After = json.RawMessage(`"` + strings.Repeat("x", LargeOperation) + `"`)
	text, err := big.JSON()
	require.NoError(t, err)
	read, ok := Decode(text)
	require.True(t, ok)
	assert.Equal(t, big.ID, read.ID)
	assert.Empty(t, read.Changes, "not decoded yet")
	all, err := read.All()
	require.NoError(t, err)
	require.Len(t, all.Changes, 1)
	assert.True(t, bytes.Equal(big.Changes[0].After, all.Changes[0].After))

	whole := lines(t, 1) + line(t, big)
	end, err := open(t, whole).TailAt(read)
	require.NoError(t, err)
	assert.Equal(t, Tail{Newest: 2, StepsDone: true}, end)
	end, err = open(t, whole[:len(whole)-9]+"00000000\"}\n").TailAt(read)
	require.NoError(t, err)
	assert.Equal(t, Tail{Newest: 1, StepsDone: true, Torn: true, Begun: true}, end, "its sum does not match")
}

func TestOperationsAfterARevisionEndAtTheFirstGap(t *testing.T) {
	t.Parallel()
	ops, newest, err := open(t, lines(t, 1, 2, 3, 5)).After(1)
	require.NoError(t, err)
	assert.Equal(t, thread.Revision(5), newest)
	require.Len(t, ops, 2)
	assert.Equal(t, thread.Revision(2), ops[0].Seq)
	assert.Equal(t, thread.Revision(3), ops[1].Seq)
}

func TestOfANumberWrittenTwiceTheLaterLineCounts(t *testing.T) {
	t.Parallel()
	again := operation(2)
	again.Command = "again"
	f := open(t, lines(t, 1, 2, 3)+line(t, again))
	var seen []string
	require.NoError(t, f.NewestFirst(context.Background(), Span{}, func(e Entry) bool {
		seen = append(seen, fmt.Sprint(e.Seq, " ", e.Command))
		return true
	}))
	assert.Equal(t, []string{"2 again", "1 objective create"}, seen, "3 never happened")
	x, err := ReadIndex(f, noon())
	require.NoError(t, err)
	assert.Equal(t, thread.Revision(2), x.Last())
	assert.Equal(t, thread.Revision(3), x.Newest)
}

func TestACursorDoesNotReadTwice(t *testing.T) {
	t.Parallel()
	first, all := lines(t, 1, 2), lines(t, 1, 2, 3, 5)
	var lost []int
	c := Cursor{Lost: func(from, to thread.Revision) { lost = append(lost, int(from), int(to)) }}
	read := func(f File) (seqs []int) {
		require.NoError(t, c.Read(context.Background(), f, 0, func(op thread.Operation) error {
			seqs = append(seqs, int(op.Seq))
			return nil
		}))
		return seqs
	}
	assert.Equal(t, []int{1, 2}, read(open(t, first)))
	assert.Equal(t, int64(len(first)), c.offset)
	assert.Equal(t, []int{3, 5}, read(open(t, all)), "another file with the same lines")
	assert.Equal(t, int64(len(all)), c.offset)
	assert.Equal(t, []int{4, 4}, lost)
}

func TestAnIndexSaysWhatIsMissingAndWhatDiffers(t *testing.T) {
	t.Parallel()
	records := func(numbers ...int) thread.Records {
		out := thread.Records{}
		for _, n := range numbers {
			out[thread.TableObjectives] = append(out[thread.TableObjectives], thread.Line{ID: fmt.Sprint("obj-", n), JSON: operation(n).Changes[0].After})
		}
		return out
	}
	for _, c := range []struct {
		text        string
		first, last thread.Revision
		differing   []string
		bad         []int
	}{
		{text: lines(t, 1, 2, 3)},
		{text: lines(t, 1, 2)}, // the state's own operation is not missing
		{text: lines(t, 1) + "torn\n" + lines(t, 3), first: 2, last: 2, differing: []string{"objectives/obj-2"}, bad: []int{2}},
		{text: lines(t, 2, 3), first: 1, last: 1, differing: []string{"objectives/obj-1"}},
		{text: "", first: 1, last: 2, differing: []string{"objectives/obj-1", "objectives/obj-2"}},
	} {
		f := open(t, c.text)
		x, err := ReadIndex(f, noon())
		require.NoError(t, err)
		assert.Equal(t, c.bad, x.Bad)
		first, last := x.Gap(3, operation(3))
		assert.Equal(t, [2]thread.Revision{c.first, c.last}, [2]thread.Revision{first, last}, "%.200q", c.text)
		differing, err := x.Contradicts(f, 3, operation(3), records(1, 2, 3))
		require.NoError(t, err)
		assert.Equal(t, c.differing, differing)
	}
}

func TestAnAnswerIsReadBackAndAnyChangeOfItIsDamage(t *testing.T) {
	t.Parallel()
	op := operation(7)
	op.RequestID, op.Answer = "try/1", json.RawMessage(`{"data":1}`)
	a := AnswerOf(op.Entry)
	data, err := a.Encode()
	require.NoError(t, err)
	read, ok := ReadAnswer(data)
	require.True(t, ok)
	assert.Equal(t, a, read)
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 1
		_, ok := ReadAnswer(damaged)
		assert.False(t, ok, "byte %d", i)
	}
	_, ok = ReadAnswer(nil)
	assert.False(t, ok)

	f := open(t, line(t, op)+lines(t, 8))
	x, err := ReadIndex(f, noon().Add(remembered))
	require.NoError(t, err)
	assert.Equal(t, map[string]Answer{AnswerName("try/1"): a}, x.Answers)
	x, err = ReadIndex(f, noon().Add(remembered+1))
	require.NoError(t, err)
	assert.Empty(t, x.Answers)
	assert.Equal(t, "null", string(AnswerOf(operation(1).Entry).Answer), "a line of version 2.0 has none")
}
