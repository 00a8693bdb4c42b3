package changes

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/thread"
)

func newStage(t *testing.T) *store.Stage {
	t.Helper()
	st, _, _, err := store.Create(context.Background(), store.Wait{}, t.TempDir(), store.Options{Now: time.Now})
	require.NoError(t, err)
	stage, err := st.Stage("op-00000001")
	require.NoError(t, err)
	t.Cleanup(func() { _ = stage.Discard() })
	return stage
}

// Replacements come before deletions, except deletions that free a name for a new file: a
// folder for a file, a file for a folder, a name that differs only in case.
func TestDeletionsComeLastButForThoseThatFreeAName(t *testing.T) {
	t.Parallel()
	stage := newStage(t)
	set := Set{Thread: "main", Files: []File{
		{Path: "gone.md", Before: "a"},
		{Path: "plan/part.md", Before: "b"},
		{Path: "README.md", Before: "c"},
		{Path: "notes", Before: "d"},
		{Path: "same.md", Before: "e", After: "e"},
		{Path: "plan", After: "f"},
		{Path: "readme.md", After: "g", Executable: true},
		{Path: "notes/one.md", After: "h"},
		{Path: "kept.md", Before: "i", After: "j"},
	}}
	var got []string
	for _, step := range set.Steps(stage, "result") {
		got = append(got, string(step.Do)+" "+step.To)
	}
	assert.Equal(t, []string{
		"delete threads/main/plan/part.md", "delete threads/main/README.md", "delete threads/main/notes",
		"replace threads/main/plan", "replace threads/main/readme.md", "replace threads/main/notes/one.md", "replace threads/main/kept.md",
		"delete threads/main/gone.md",
	}, got)
}

func TestAListOfChangesLeadsBack(t *testing.T) {
	t.Parallel()
	stage := newStage(t)
	set := Set{Thread: "main", Files: []File{
		{Path: "same.md", Before: "e", After: "e"},
		{Path: "run.sh", Before: "a", After: "b", WasExecutable: true},
		{Path: "new.md", After: "c"},
		{Path: "gone.md", Before: "d"},
	}}
	list, err := set.PutList(stage)
	require.NoError(t, err)
	files, err := List(stage, list)
	require.NoError(t, err)
	back := Set{Thread: "main", Files: files}.Inverse()
	assert.Equal(t, []File{
		{Path: "run.sh", Before: "b", After: "a", Executable: true},
		{Path: "new.md", Before: "c"},
		{Path: "gone.md", After: "d"},
	}, back.Files)
}

// planned answers as a store whose files hold these contents.
type planned map[string]thread.BlobID

func (p planned) Unmoved(_ thread.ThreadID, want map[string]thread.BlobID) (moved []string, err error) {
	for path, id := range want {
		if p[path] != id {
			moved = append(moved, path)
		}
	}
	return moved, nil
}

func TestWhatAPlanReliesOnIsComparedToo(t *testing.T) {
	t.Parallel()
	set := Set{Thread: "main", Files: []File{{Path: "b.md", Before: "b", After: "b"}, {Path: "a.md", Before: "a"}, {Path: "new.md", After: "n"}}}
	moved, err := set.Moved(planned{"a.md": "a", "b.md": "b"})
	require.NoError(t, err)
	assert.Empty(t, moved)
	moved, err = set.Moved(planned{"a.md": "x", "b.md": "y", "new.md": "z"})
	require.NoError(t, err)
	assert.Equal(t, []string{"a.md", "b.md", "new.md"}, moved)
}
