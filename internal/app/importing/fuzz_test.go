package importing

import (
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

func sequential() func(string) string {
	n := 0
	return func(prefix string) string { n++; return prefix + strings.Repeat("a", n) }
}

// FuzzBeads: no input makes the parser panic; what is wrong has a code, and what is read
// has distinct valid ids and stays within the limits of records.
func FuzzBeads(f *testing.F) {
	sample, err := os.ReadFile("testdata/beads.jsonl")
	require.NoError(f, err)
	f.Add(sample)
	for _, s := range []string{"", "{}", "null", "[1]", `{"id":"a","title":"x"}`, `{"id":"a.b","title":"x"}` + "\n" + `{"id":"a/b","title":"y"}`,
		`{"id":"\ud800","title":"\u0000"}`, `{"id":"con","title":"x","labels":["",null]}`, `{"id":"a","title":"x","dependencies":[{"depends_on_id":"a"}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadBeads(strings.NewReader(string(data)), "input", noon())
		if err != nil {
			require.NotNil(t, codes.Of(err), "%v", err)
			return
		}
		wellFormed(t, s)
		assert.Len(t, s.Kept, len(s.Threads), "every issue is kept whole")
	})
}

// FuzzLeslie does the same for a store of the Node edition.
func FuzzLeslie(f *testing.F) {
	state, err := os.ReadFile("testdata/node-1.0/.leslie/thread_relations.json")
	require.NoError(f, err)
	objectives, err := os.ReadFile("testdata/node-1.0/.leslie/objectives.json")
	require.NoError(f, err)
	f.Add(state, objectives)
	for _, s := range []string{"", "{}", `{"version":"1.0","threads":{}}`, `{"version":"3.0","threads":{}}`, `{"threads":{"a":{"objective":"o","storage_path":"../x"}}}`,
		`{"threads":{"..":{"objective":"o"}},"relations":{"..":{"references_to":["..","x"]}}}`, `{"threads":{"a":{"objective":"o","status":"waiting_human"}},"operations":[{"command":"transfer"},1]}`} {
		f.Add([]byte(s), []byte(`{"objectives":{"o":{"status":"completed"}}}`))
	}
	f.Fuzz(func(t *testing.T, state, objectives []byte) {
		files := fstest.MapFS{nodeState: {Data: state}, nodeObjectives: {Data: objectives}, "threads/a/plan.md": {Data: []byte("x")}}
		s, err := ReadLeslie(files, noon(), sequential())
		if err != nil {
			require.NotNil(t, codes.Of(err), "%v", err)
			return
		}
		wellFormed(t, s)
		for _, folder := range s.Folders {
			assert.True(t, strings.HasPrefix(folder.From, "threads/"), "%s", folder.From)
			assert.Equal(t, path.Clean(folder.From), folder.From)
		}
	})
}

func wellFormed(t *testing.T, s *Source) {
	t.Helper()
	seen := map[thread.ThreadID]bool{}
	for _, th := range s.Threads {
		assert.True(t, thread.ValidID(string(th.ID)), "%q", th.ID)
		assert.False(t, seen[th.ID], "%q occurs twice", th.ID)
		seen[th.ID] = true
		assert.LessOrEqual(t, len([]rune(th.Title)), maxTitle)
		assert.LessOrEqual(t, len(th.Intent), maxIntent)
		assert.NotEmpty(t, strings.TrimSpace(th.Title))
	}
	for _, k := range s.Kept {
		assert.True(t, strings.HasPrefix(k.Path, KeptDir+"/"), "%s", k.Path)
	}
}
