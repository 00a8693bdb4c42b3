package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

// hearing is what a cursor told: numbers, and a lost range as its negated ends.
type hearing struct {
	*store.Cursor
	seqs []int
}

func cursorOf(s *store.Store, q store.CursorQuery) *hearing {
	c := &hearing{}
	q.Lost = func(from, to thread.Revision) { c.seqs = append(c.seqs, -int(from), -int(to)) }
	c.Cursor = s.Cursor(q)
	return c
}

// more is what the next Read tells.
func (c *hearing) more(t *testing.T, upTo thread.Revision) []int {
	t.Helper()
	c.seqs = nil
	_, err := c.Read(context.Background(), upTo, func(op thread.Operation) error {
		c.seqs = append(c.seqs, int(op.Seq))
		return nil
	})
	require.NoError(t, err)
	return c.seqs
}

// journalLines are the journal's lines with their newlines.
func journalLines(t *testing.T, s *store.Store) [][]byte {
	t.Helper()
	return slices.Collect(bytes.Lines(teststore.Read(t, s, store.JournalFile)))
}

func TestACursorTellsEachOperationOnceOldestFirst(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	c := cursorOf(s, store.CursorQuery{})
	assert.Empty(t, c.more(t, 0), "nothing has happened")
	teststore.Add(t, s, "a", "b", "c")
	assert.Equal(t, []int{1, 2}, c.more(t, 2))
	assert.Equal(t, thread.Revision(2), c.At())
	assert.Equal(t, []int{3}, c.more(t, 0))
	assert.Empty(t, c.more(t, 0))
	teststore.Add(t, s, "d", "e")
	assert.Equal(t, []int{4, 5}, c.more(t, 0))
	assert.Equal(t, []int{3, 4, 5}, cursorOf(s, store.CursorQuery{Since: 2}).more(t, 0), "resumed by its number alone")
	assert.Empty(t, cursorOf(s, store.CursorQuery{Since: 5}).more(t, 0))
}

func TestACursorTellsTheStatesOwnOperationBeforeTheJournalHasIt(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, "a", "b", "c")
	lines := journalLines(t, s)
	teststore.Put(t, s, store.JournalFile, bytes.Join(lines[:2], nil))
	c := cursorOf(s, store.CursorQuery{})
	assert.Equal(t, []int{1, 2, 3}, c.more(t, 0))
	assert.Empty(t, cursorOf(s, store.CursorQuery{Since: 1}).more(t, 1))
	teststore.Add(t, s, "d") // appends both lines
	assert.Equal(t, []int{4}, c.more(t, 0))
}

func TestACursorTellsOnlyWhatConcernsAThread(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, "a")
	teststore.PrepareThread(t, s) // 2
	teststore.Add(t, s, "not-thread-old", "b")
	c := cursorOf(s, store.CursorQuery{Thread: "thread-old"})
	assert.Equal(t, []int{2}, c.more(t, 0))
	assert.Equal(t, thread.Revision(4), c.At())
}

func TestACursorTellsWhatTheJournalLost(t *testing.T) {
	t.Parallel()
	origin := teststore.New(t, store.Options{})
	teststore.Add(t, origin, teststore.Names(6)...)
	lines := journalLines(t, origin)
	damaged := bytes.Clone(lines[2])
	damaged[30] ^= 1
	cases := map[string]struct {
		journal [][]byte
		want    []int
	}{
		"whole":                {lines, []int{1, 2, 3, 4, 5, 6}},
		"a line damaged":       {[][]byte{lines[0], lines[1], damaged, lines[3], lines[4], lines[5]}, []int{1, 2, -3, -3, 4, 5, 6}},
		"lines missing":        {[][]byte{lines[0], lines[4], lines[5]}, []int{1, -2, -4, 5, 6}},
		"the first missing":    {lines[3:], []int{-1, -3, 4, 5, 6}},
		"the last ones":        {lines[:3], []int{1, 2, 3, -4, -5, 6}},
		"all but the state's":  {nil, []int{-1, -5, 6}},
		"written twice":        {[][]byte{lines[0], lines[1], lines[1], lines[2], lines[3], lines[4], lines[5], lines[5]}, []int{1, 2, 3, 4, 5, 6}},
		"damaged, then anew":   {[][]byte{lines[0], lines[1], damaged, lines[2], lines[3], lines[4], lines[5]}, []int{1, 2, 3, 4, 5, 6}},
		"noise between":        {[][]byte{[]byte("\n\nnoise\n"), lines[0], lines[1], lines[2], []byte("{}\n"), lines[3], lines[4], lines[5]}, []int{1, 2, 3, 4, 5, 6}},
		"without last newline": {append(slices.Clone(lines[:5]), bytes.TrimSpace(lines[5])), []int{1, 2, 3, 4, 5, 6}},
		"a torn last line":     {append(slices.Clone(lines[:5]), lines[5][:40]), []int{1, 2, 3, 4, 5, 6}},
	}
	for name, c := range cases {
		s := teststore.Copy(t, origin)
		teststore.Put(t, s, store.JournalFile, bytes.Join(c.journal, nil))
		assert.Equal(t, c.want, cursorOf(s, store.CursorQuery{}).more(t, 0), name)
	}
	s := teststore.Copy(t, origin)
	require.NoError(t, os.Remove(s.Path(store.JournalFile)))
	require.NoError(t, os.Mkdir(s.Path(store.JournalFile), 0o755))
	assert.Equal(t, []int{-3, -5, 6}, cursorOf(s, store.CursorQuery{Since: 2}).more(t, 0), "a folder in the journal's place")
}

// A line that its writer is not done with is neither lost nor told.
func TestACursorWaitsForTheRestOfALine(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(3)...)
	lines := journalLines(t, s)
	teststore.Put(t, s, store.JournalFile, bytes.Join([][]byte{lines[0], lines[1], lines[2][:50]}, nil))
	c := cursorOf(s, store.CursorQuery{})
	assert.Equal(t, []int{1, 2}, c.more(t, 2))
	teststore.Put(t, s, store.JournalFile, bytes.Join(lines, nil))
	teststore.Add(t, s, "later")
	assert.Equal(t, []int{3, 4}, c.more(t, 0))
}

func TestACursorFindsItsPlaceInAnotherJournal(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(3)...)
	journal := teststore.Read(t, s, store.JournalFile)
	teststore.Put(t, s, store.JournalFile, append([]byte(strings.Repeat("noise", len(journal)/7)+"\n"), journal...))
	c := cursorOf(s, store.CursorQuery{})
	assert.Equal(t, []int{1, 2, 3}, c.more(t, 0))
	teststore.Add(t, s, "d", "e", "f")
	lines := journalLines(t, s)
	require.NoError(t, os.Rename(s.Path(store.JournalFile), s.Path("aside")))
	teststore.Put(t, s, store.JournalFile, bytes.Join(lines[1:], nil)) // another file
	assert.Equal(t, []int{4, 5, 6}, c.more(t, 0))
	teststore.Add(t, s, "g", "h")
	teststore.Put(t, s, store.JournalFile, bytes.Join(journalLines(t, s)[5:], nil)) // the same file, shorter
	assert.Equal(t, []int{7, 8}, c.more(t, 0))
}

func TestAnErrorOfTheListenerEndsTheReading(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(4)...)
	c, enough := s.Cursor(store.CursorQuery{}), errors.New("enough")
	for want := range 4 {
		_, err := c.Read(context.Background(), 0, func(op thread.Operation) error {
			assert.Equal(t, want+1, int(op.Seq))
			return enough
		})
		require.ErrorIs(t, err, enough)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.Cursor(store.CursorQuery{}).Read(ctx, 0, func(thread.Operation) error { return nil })
	teststore.RequireCode(t, codes.Interrupted, err)
}

func TestACursorMissesNothingWhileEightWrite(t *testing.T) {
	t.Parallel()
	const writers, each = 8, 25
	s := teststore.New(t, store.Options{})
	w := s.Watch(store.StateFile)
	defer w.Close()
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for n := range each {
				name := fmt.Sprintf("obj-%d-%d", i, n)
				_, err := s.Update(context.Background(), teststore.CallNamed(name), teststore.Create(name))
				assert.NoError(t, err)
			}
		})
	}
	c, ids := s.Cursor(store.CursorQuery{}), map[thread.OperationID]bool{}
	for next := 1; next <= writers*each; {
		found, err := c.Read(context.Background(), 0, func(op thread.Operation) error {
			assert.Equal(t, next, int(op.Seq))
			next++
			ids[op.ID] = true
			return nil
		})
		require.NoError(t, err)
		require.Empty(t, found)
		if next <= writers*each {
			requireNext(t, w)
		}
	}
	all.Wait()
	assert.Len(t, ids, writers*each)
}

func TestFindingAnOperationReadsNoFurtherThanItLies(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(5)...)
	lines := journalLines(t, s)
	for _, behind := range []bool{false, true} {
		if behind { // the state's own operation is not in the file yet
			teststore.Put(t, s, store.JournalFile, bytes.Join(lines[:4], nil))
		}
		var asked []int
		op, ok, err := s.FindOperation(context.Background(), func(op thread.Operation) bool {
			asked = append(asked, int(op.Seq))
			return op.ID == "op-obj-0002"
		})
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Equal(t, thread.Revision(3), op.Seq)
		assert.Equal(t, []int{5, 4, 3}, asked)
	}
	teststore.Put(t, s, store.JournalFile, bytes.Join(lines, nil))
	var asked []int
	_, ok, err := s.FindOperation(context.Background(), func(op thread.Operation) bool {
		asked = append(asked, int(op.Seq))
		return false
	}, "obj-0001")
	require.NoError(t, err)
	assert.False(t, ok)
	assert.Equal(t, []int{2}, asked, "the others do not hold the mark")
}

// FuzzCursor puts whole and damaged lines into the journal in any order: what is
// told and what is told as lost are together every number, once and in order.
func FuzzCursor(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5}, uint8(0))
	f.Add([]byte{0, 1, 1, 0x82, 2, 0x45, 5, 3}, uint8(2))
	s := teststore.New(f, store.Options{})
	teststore.Add(f, s, teststore.Names(6)...)
	lines := slices.Collect(bytes.Lines(teststore.Read(f, s, store.JournalFile)))
	f.Fuzz(func(t *testing.T, picks []byte, since uint8) {
		var journal []byte
		for _, p := range picks {
			line := bytes.Clone(lines[int(p&0xf)%len(lines)])
			switch p >> 6 {
			case 1:
				line = line[:len(line)/2]
			case 2:
				line[int(p)%len(line)] ^= 1
			}
			journal = append(journal, line...)
		}
		teststore.Put(t, s, store.JournalFile, journal)
		from := thread.Revision(since % 7)
		want := from + 1
		c := s.Cursor(store.CursorQuery{Since: from, Lost: func(a, b thread.Revision) {
			assert.Equal(t, want, a)
			assert.GreaterOrEqual(t, b, a)
			want = b + 1
		}})
		for _, upTo := range []thread.Revision{from + 2, 0, 0} {
			_, err := c.Read(context.Background(), upTo, func(op thread.Operation) error {
				assert.Equal(t, want, op.Seq)
				want++
				return nil
			})
			require.NoError(t, err)
		}
		assert.Equal(t, max(thread.Revision(7), from+1), want)
	})
}
