package state

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store/internal/archive"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/statefile"
	"leslie/thread"
)

// filesIn are the files of a store's folder with nothing in it.
func filesIn(t *testing.T) *Files {
	t.Helper()
	s := &Files{Disk: saferoot.Disk{Project: t.TempDir(), Now: time.Now}}
	require.NoError(t, os.MkdirAll(s.Path("."), 0o755))
	return s
}

func lineOf(s string) thread.Line { return thread.Line{ID: s} }

func TestTheLastLineOfARecordCountsAndTheStateWins(t *testing.T) {
	t.Parallel()
	s := filesIn(t)
	require.NoError(t, os.WriteFile(s.Path(ArchiveFile), []byte("torn without an end"), 0o644))
	put1 := func(record, value string) {
		require.NoError(t, (&Writer{Files: s}).AppendArchive(archive.LinesOf([]thread.Change{{Record: record, After: []byte(value)}}, 1)))
	}
	put1("threads/b", `{"n":1}`)
	put1("threads/a", `{"n":2}`)
	put1("references/r", `{"n":3}`)
	put1("threads/b", `{"n":4}`)
	put1("threads/live", `{"n":5}`)
	c := &archiveSource{store: s, now: &Loaded{Image: statefile.Image{Revision: 1, Records: thread.Records{thread.TableThreads: {lineOf("live")}}}}}
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
	s := filesIn(t)
	archive := func(seq thread.Revision, lines ...string) {
		for i := 0; i < len(lines); i += 2 {
			require.NoError(t, (&Writer{Files: s}).AppendArchive(archive.LinesOf([]thread.Change{{Record: lines[i], After: []byte(lines[i+1])}}, seq)))
		}
	}
	archive(1, "threads/a", `{"threadId":"a"}`, "references/lost", `{"from":"a"}`, "references/kept", `{"from":"a"}`, "approvals/lost", `{"threadId":"a"}`)
	archive(2, "threads/live", `{"threadId":"live"}`, "references/live", `{"from":"live"}`, "approvals/live", `{"threadId":"live"}`)
	archive(3, "threads/a", `{"threadId":"a"}`, "references/kept", `{"from":"a"}`)
	archive(4, "references/orphan", `{"from":"nobody"}`)
	c := &archiveSource{store: s, now: &Loaded{Image: statefile.Image{Revision: 4, Records: thread.Records{thread.TableThreads: {lineOf("live")}}}}}
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
	s := filesIn(t)
	require.NoError(t, os.MkdirAll(s.Path("threads/thread-old"), 0o755))
	c := &archiveSource{store: s}
	assert.True(t, c.Exists("thread-old"))
	assert.False(t, c.Exists("thread-new"))
}
