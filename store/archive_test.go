package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/internal/teststore"
)

func TestWhatTheArchiveLacksIsMissedAndTheJournalMakesUpForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lines := strings.SplitAfter(w.now().files[store.ArchiveFile], "\n") // first, its reference, second
	journal := w.now().files[store.JournalFile]
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
		s := teststore.Copy(t, w.Store)
		teststore.Put(t, s, store.ArchiveFile, []byte(c.archive))
		teststore.Put(t, s, store.JournalFile, []byte(c.journal))
		got, view, err := look(s)
		require.NoError(t, err)
		assert.Len(t, got.archived, c.left, name)
		assert.Equal(t, c.lost, recoveredFrom(view.Warnings, store.ArchiveFile), name)
		if c.reason != "" {
			assert.Equal(t, c.reason, view.Warnings[0].Context.Text("reason"), name)
		}
		assert.Equal(t, c.archive, string(teststore.Read(t, s, store.ArchiveFile)), "a reader leaves it alone")
	}
}
