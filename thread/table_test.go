package thread_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

// objectives returns a State at revision 5 with these objectives, and their lines.
func objectives(t testing.TB, names ...string) (*thread.State, []thread.Line) {
	t.Helper()
	var lines []thread.Line
	for i, id := range names {
		raw, err := json.Marshal(thread.Objective{ID: thread.ObjectiveID(id), Title: "T " + id, CreatedAt: noon, Revision: thread.Revision(i + 1)})
		require.NoError(t, err)
		lines = append(lines, thread.Line{ID: id, JSON: raw})
	}
	return thread.NewState(5, thread.Records{thread.TableObjectives: lines}, nil), lines
}

func lineIDs(lines []thread.Line) []string {
	out := []string{}
	for _, line := range lines {
		out = append(out, line.ID)
	}
	return out
}

func TestARecordIsAValueUntilItIsPut(t *testing.T) {
	t.Parallel()
	s, lines := objectives(t, "a")
	o, ok := s.Objectives.Get("a")
	require.True(t, ok)
	o.Title = "changed"
	again, _ := s.Objectives.Get("a")
	assert.Equal(t, "T a", again.Title)
	assert.Empty(t, s.Changes())
	assert.Equal(t, lines, s.Lines(thread.TableObjectives))

	put := s.Objectives.Put(o)
	assert.Equal(t, thread.Revision(6), put.Revision)
	again, _ = s.Objectives.Get("a")
	assert.Equal(t, put, again)
	peeked, _ := s.Objectives.Peek("a")
	assert.Equal(t, put, peeked)
}

func TestAnUnchangedRecordKeepsItsRevision(t *testing.T) {
	t.Parallel()
	s, lines := objectives(t, "a", "b")
	o, _ := s.Objectives.Get("b")
	assert.Equal(t, o, s.Objectives.Put(o))
	o.Revision = 99 // the revision is not the caller's to say
	assert.Equal(t, thread.Revision(2), s.Objectives.Put(o).Revision)
	assert.Empty(t, s.Changes())
	assert.Equal(t, lines, s.Lines(thread.TableObjectives))
}

func TestARecordThatIsDeletedAndPutAgainIsAChange(t *testing.T) {
	t.Parallel()
	s, lines := objectives(t, "a")
	o, _ := s.Objectives.Get("a")
	s.Objectives.Delete("a")
	_, there := s.Objectives.Get("a")
	assert.False(t, there)
	_, there = s.Objectives.Peek("a")
	assert.False(t, there)
	assert.Equal(t, 0, s.Objectives.Len())

	put := s.Objectives.Put(o)
	assert.Equal(t, thread.Revision(6), put.Revision)
	require.Len(t, s.Changes(), 1)
	assert.Equal(t, string(lines[0].JSON), string(s.Changes()[0].Before))
	assert.Equal(t, 1, s.Objectives.Len())
}

func TestARecordThatWasAddedAndDeletedIsNoChange(t *testing.T) {
	t.Parallel()
	s, lines := objectives(t, "a")
	s.Objectives.Put(thread.Objective{ID: "new"})
	s.Objectives.Delete("new")
	s.Objectives.Delete("never-there")
	assert.Empty(t, s.Changes())
	assert.Equal(t, lines, s.Lines(thread.TableObjectives))
	assert.Equal(t, 1, s.Objectives.Len())
}

func TestAllYieldsCurrentRecords(t *testing.T) {
	t.Parallel()
	s, _ := objectives(t, "a", "c", "d")
	s.Objectives.Delete("c")
	s.Objectives.Put(thread.Objective{ID: "b", Title: "new"})
	d, _ := s.Objectives.Get("d")
	d.Title = "changed"
	s.Objectives.Put(d)
	var got []string
	for o := range s.Objectives.All() {
		got = append(got, string(o.ID)+": "+o.Title)
	}
	assert.Equal(t, []string{"a: T a", "b: new", "d: changed"}, got)
	for range s.Objectives.All() {
		break // stops where the caller stops
	}
}

func TestLinesStayOrderedByID(t *testing.T) {
	t.Parallel()
	s, _ := objectives(t, "b", "d", "f")
	for _, id := range []thread.ObjectiveID{"g", "a", "e", "c"} {
		s.Objectives.Put(thread.Objective{ID: id})
		assert.True(t, slices.IsSorted(lineIDs(s.Lines(thread.TableObjectives))))
	}
	s.Objectives.Delete("d")
	assert.Equal(t, []string{"a", "b", "c", "e", "f", "g"}, lineIDs(s.Lines(thread.TableObjectives)))
	assert.Equal(t, 6, s.Objectives.Len())
}

func TestAnUntouchedRecordKeepsItsBytes(t *testing.T) {
	t.Parallel()
	// A newer leslie wrote a field that this version does not know.
	odd := []thread.Line{
		{ID: "a", JSON: []byte(`{"objectiveId":"a","later":[1, 2],"title":"T","createdAt":"2026-02-09T12:00:00Z","archived":0,"revision":1}`)},
		{ID: "b", JSON: []byte(`{"objectiveId":"b","title":"<&>","createdAt":"2026-02-09T12:00:00Z","archived":0,"revision":2}`)},
	}
	s := thread.NewState(5, thread.Records{thread.TableObjectives: odd}, nil)
	for o := range s.Objectives.All() { // decoded, not changed
		_ = o
	}
	b, _ := s.Objectives.Get("b")
	b.Title = "<&> and more"
	s.Objectives.Put(b)
	lines := s.Lines(thread.TableObjectives)
	assert.Equal(t, string(odd[0].JSON), string(lines[0].JSON))
	assert.Contains(t, string(lines[1].JSON), `"title":"<&> and more"`, "characters are not escaped for HTML")
	assert.Equal(t, []byte(`{"objectiveId":"b","title":"<&>","createdAt":"2026-02-09T12:00:00Z","archived":0,"revision":2}`), odd[1].JSON, "what was read is never written to")
}

func TestAnUnreadableRecordIsAnInternalError(t *testing.T) {
	t.Parallel()
	s := thread.NewState(5, thread.Records{thread.TableObjectives: {{ID: "a", JSON: []byte(`{`)}}}, nil)
	assert.PanicsWithError(t, "Internal error: a record with a good checksum cannot be read. This is a bug in leslie, not in your call.",
		func() { s.Objectives.Get("a") })
}

func TestApprovalsAndMergesHaveTheirOwnTables(t *testing.T) {
	t.Parallel()
	s := thread.NewState(0, nil, nil)
	s.Approvals.Put(thread.Approval{ID: "appr-1", ThreadID: "t", Status: "open"})
	s.Merges.Put(thread.Merge{ID: "merge-1", Target: "t", Strategy: "strict"})
	a, _ := s.Approvals.Get("appr-1")
	m, _ := s.Merges.Get("merge-1")
	assert.Equal(t, a, s.Approvals.Put(a))
	assert.Equal(t, m, s.Merges.Put(m))
	var got []string
	for _, c := range s.Changes() {
		got = append(got, c.Record)
	}
	assert.Equal(t, []string{"approvals/appr-1", "merges/merge-1"}, got)
	for _, table := range []string{thread.TableApprovals, thread.TableMerges} {
		require.Len(t, s.Lines(table), 1)
		assert.Contains(t, string(s.Lines(table)[0].JSON), `"revision":1`)
	}
}

func BenchmarkOneChangeAmongTenThousand(b *testing.B) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("obj-%05d", i)
	}
	_, lines := objectives(b, names...)
	for b.Loop() {
		s := thread.NewState(5, thread.Records{thread.TableObjectives: lines}, nil)
		o, _ := s.Objectives.Get("obj-05000")
		o.Title = "changed"
		s.Objectives.Put(o)
		if len(s.Changes()) != 1 || len(s.Lines(thread.TableObjectives)) != len(lines) {
			b.Fatal("one change, all lines")
		}
	}
}
