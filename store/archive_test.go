package store

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store/internal/archive"
	"leslie/store/internal/statefile"
	"leslie/thread"
)

func lineOf(s string) thread.Line { return thread.Line{ID: s} }

func TestTheLastLineOfARecordCountsAndTheStateWins(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	put(t, s, ArchiveFile, []byte("torn without an end"))
	put1 := func(record, value string) {
		require.NoError(t, s.appendArchive(archive.LinesOf([]thread.Change{{Record: record, After: []byte(value)}}, 1)))
	}
	put1("threads/b", `{"n":1}`)
	put1("threads/a", `{"n":2}`)
	put1("references/r", `{"n":3}`)
	put1("threads/b", `{"n":4}`)
	put1("threads/live", `{"n":5}`)
	c := &archiveSource{store: s, now: &loaded{Image: statefile.Image{Revision: 1, Records: thread.Records{thread.TableThreads: {lineOf("live")}}}}}
	got, err := c.Archived(thread.TableThreads)
	require.NoError(t, err)
	assert.Equal(t, []thread.Line{{ID: "a", JSON: []byte(`{"n":2}`)}, {ID: "b", JSON: []byte(`{"n":4}`)}}, got)
	bad, err := s.readArchive(func(archive.Line) {})
	require.NoError(t, err)
	assert.Equal(t, 1, bad)
}

// After an undo a thread may come back, lose a reference and go again: what it
// took the first time is not what it took the last time.
func TestWhatAThreadTookWithItCountsWhileItLiesThere(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	archive := func(seq thread.Revision, lines ...string) {
		for i := 0; i < len(lines); i += 2 {
			require.NoError(t, s.appendArchive(archive.LinesOf([]thread.Change{{Record: lines[i], After: []byte(lines[i+1])}}, seq)))
		}
	}
	archive(1, "threads/a", `{"threadId":"a"}`, "references/lost", `{"from":"a"}`, "references/kept", `{"from":"a"}`, "approvals/lost", `{"threadId":"a"}`)
	archive(2, "threads/live", `{"threadId":"live"}`, "references/live", `{"from":"live"}`, "approvals/live", `{"threadId":"live"}`)
	archive(3, "threads/a", `{"threadId":"a"}`, "references/kept", `{"from":"a"}`)
	archive(4, "references/orphan", `{"from":"nobody"}`)
	c := &archiveSource{store: s, now: &loaded{Image: statefile.Image{Revision: 4, Records: thread.Records{thread.TableThreads: {lineOf("live")}}}}}
	ids := func(table string) (out []string) {
		lines, err := c.Archived(table)
		require.NoError(t, err)
		for _, l := range lines {
			out = append(out, l.ID)
		}
		return out
	}
	assert.Equal(t, []string{"a"}, ids(thread.TableThreads))
	assert.Equal(t, []string{"kept", "orphan"}, ids(thread.TableReferences), "one whose thread's line is damaged still counts")
	assert.Empty(t, ids(thread.TableApprovals))
	for record, want := range map[[2]string]bool{
		{"threads", "a"}: true, {"threads", "live"}: true, {"references", "lost"}: true, {"threads", "new"}: false, {"references", "a"}: false,
	} {
		got, err := c.HasLine(record[0], record[1])
		require.NoError(t, err)
		assert.Equal(t, want, got, record)
	}
}

func TestAnIdIsTakenWhenItsFolderIsThere(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	prepareThread(t, s)
	c := &archiveSource{store: s}
	assert.True(t, c.Exists("thread-old"))
	assert.False(t, c.Exists("thread-new"))
}

func TestWhatTheArchiveLacksIsMissedAndTheJournalMakesUpForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lines := strings.SplitAfter(w.now().files[ArchiveFile], "\n") // first, its reference, second
	journal := w.now().files[JournalFile]
	without := func(names ...string) string {
		out := ""
		for line := range strings.Lines(journal) {
			if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(line, name) }) {
				out += line
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		archive, journal string
		reason, lost     string
		left             int
	}{
		"all of it":                  {"", journal, "2 archived threads are missing", "nothing", 3},
		"a thread":                   {lines[0] + lines[1], journal, "1 archived threads are missing", "nothing", 3},
		"a reference":                {lines[0] + lines[2], journal, "references of 1 archived threads are missing", "nothing", 3},
		"a thread, the journal too":  {lines[0] + lines[1], without("second-gone"), "1 archived threads are missing", "1 archived threads are missing", 2},
		"a reference, that too":      {lines[0] + lines[2], without("first-gone"), "references of 1 archived threads are missing", "references of 1 archived threads are missing", 2},
		"nothing, and a line is bad": {lines[0] + lines[1] + "torn\n" + lines[2], journal, "", "", 3},
		"nothing, written twice":     {lines[0] + lines[0] + lines[1] + lines[2], without("first-gone"), "", "", 3},
	} {
		s := copyStore(t, w.Store)
		put(t, s, ArchiveFile, []byte(c.archive))
		put(t, s, JournalFile, []byte(c.journal))
		got, view, err := look(s)
		require.NoError(t, err)
		assert.Len(t, got.archived, c.left, name)
		assert.Equal(t, c.lost, recoveredFrom(view.Warnings, ArchiveFile), name)
		if c.reason != "" {
			assert.Equal(t, c.reason, view.Warnings[0].Context.Text("reason"), name)
		}
		assert.Equal(t, c.archive, string(read(t, s, ArchiveFile)), "a reader leaves it alone")
	}
}
