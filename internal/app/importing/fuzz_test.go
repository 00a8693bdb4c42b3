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
		`{"threads":{"..":{"objective":"o"}},"relations":{"..":{"references_to":["..","x"]}}}`, `{"threads":{"a":{"objective":"o","status":"waiting_human"}},"operations":[{"command":"transfer"},1]}`,
		`{"threads":{"":{}}}`, `{"threads":{" ":{"title":"\n"}}}`} {
		f.Add([]byte(s), []byte(`{"objectives":{"":{},"o":{"status":"completed"}}}`))
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

// FuzzExport: no input makes the reader panic, what is wrong has a code, and no file
// that it hands over lies outside the folders of threads and merges.
func FuzzExport(f *testing.F) {
	var sample strings.Builder
	w, err := NewWriter(&sample, Head{Version: "3.0", Revision: 1})
	require.NoError(f, err)
	require.NoError(f, w.Record("threads/a", []byte(`{"threadId":"a"}`)))
	require.NoError(f, w.Operation([]byte(`{"seq":1}`)))
	require.NoError(f, w.Blob("ab", []byte(strings.Repeat("\xff", maxPart+1))))
	require.NoError(f, w.File(File{Path: "threads/a/plan.md", Content: []byte("é\n")}))
	require.NoError(f, w.File(File{Path: "threads/a/empty", Folder: true}))
	require.NoError(f, w.End())
	f.Add([]byte(sample.String()))
	head := `{"leslie":"export","format":1}` + "\n"
	for _, s := range []string{"", "{}", head, head + `{"end":1}`, head + `{"file":"threads/a/../../x","text":""}`, head + `{"more":true,"text":"x"}`, head + `{"end":1}` + "\n" + `{"end":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		taken := &taking{t: t}
		if err := ReadExport(strings.NewReader(string(data)), "input", taken); err != nil {
			require.NotNil(t, codes.Of(err), "%v", err)
		}
	})
}

// taking checks what is handed over.
type taking struct {
	t     *testing.T
	blobs map[string]int
}

func (*taking) Head(Head) error                    { return nil }
func (*taking) Record(_, _ string, _ []byte) error { return nil }
func (*taking) Archived([]byte) error              { return nil }
func (*taking) Operation([]byte) error             { return nil }
func (*taking) Kept(string, []byte) error          { return nil }
func (x *taking) Blob(id string, data []byte) error {
	if x.blobs == nil {
		x.blobs = map[string]int{}
	}
	x.blobs[id] = len(data)
	return nil
}

func (x *taking) File(f File) error {
	assert.Equal(x.t, path.Clean(f.Path), f.Path)
	assert.True(x.t, strings.HasPrefix(f.Path, "threads/") || strings.HasPrefix(f.Path, "merges/"), "%q", f.Path)
	return nil
}

func TestLongContentGoesOnInFurtherLines(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]string{"text": "aé", "binary": "\xff\x00"} {
		var out strings.Builder
		w, err := NewWriter(&out, Head{Version: "3.0"})
		require.NoError(t, err)
		require.NoError(t, w.Blob("x", []byte(strings.Repeat(unit, maxPart))))
		require.NoError(t, w.End())
		taken := &taking{t: t}
		require.NoError(t, ReadExport(strings.NewReader(out.String()), "input", taken), name)
		assert.Equal(t, len(unit)*maxPart, taken.blobs["x"], name)
		assert.Greater(t, strings.Count(out.String(), "\n"), 3, name)
	}
}
