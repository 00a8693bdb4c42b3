package scan

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store/internal/content"
	"leslie/store/internal/storetest"
	"leslie/thread"
)

// given is a thread's folder as leslie made it: two files and the copy of a
// reference.
func given(t *testing.T) (testStore, func() []string) {
	t.Helper()
	s := treeStore(t)
	st := stageFor(t, s)
	list := func(files map[string]string) (content.Manifest, thread.BlobID) {
		var m content.Manifest
		for _, name := range []string{"deep/er.md", "plan.md"} {
			if text, ok := files[name]; ok {
				id, err := st.Put([]byte(text))
				require.NoError(t, err)
				require.NoError(t, st.Sync())
				m = append(m, content.FileAt{Path: name, SHA256: id, Size: int64(len(text))})
			}
		}
		id, err := st.PutManifest(m)
		require.NoError(t, err)
		require.NoError(t, st.Sync())
		return m, id
	}
	own, _ := list(map[string]string{"plan.md": "plan", "deep/er.md": "deep"})
	_, frozen := list(map[string]string{"plan.md": "theirs"})
	storetest.PutFile(t, s, "threads/a/plan.md", "plan")
	storetest.PutFile(t, s, "threads/a/deep/er.md", "deep")
	storetest.PutFile(t, s, "threads/a/context/inherited/ref-1/plan.md", "theirs")
	refs := []thread.Reference{{ID: "ref-1", From: "a", Manifest: frozen}, {ID: "ref-2", From: "a"}}
	return s, func() []string {
		out, err := s.UnknownEntries(context.Background(), "a", own, refs)
		require.NoError(t, err)
		return out
	}
}

func TestAFolderHoldsNoStraysUntilSomebodyWritesThere(t *testing.T) {
	t.Parallel()
	s, strays := given(t)
	assert.Empty(t, strays())
	storetest.PutFile(t, s, "threads/a/.meta/injections.jsonl", "leslie's own")
	require.NoError(t, os.MkdirAll(s.Path("threads/a/empty/folder"), 0o755))
	assert.Empty(t, strays(), "leslie's own and empty folders hold nothing of anybody's")

	put := func(name, content string) func() {
		return func() { storetest.PutFile(t, s, "threads/a/"+name, content) }
	}
	cases := []struct {
		path     string
		do, undo func()
	}{
		{"plan.md", put("plan.md", "another plan"), put("plan.md", "plan")},
		{"new.md", put("new.md", ""), nil},
		{"context/notes.md", put("context/notes.md", ""), nil},
		{"context/inherited/ref-1/more.md", put("context/inherited/ref-1/more.md", ""), nil},
		{"context/inherited/ref-9/plan.md", put("context/inherited/ref-9/plan.md", "x"), nil},
		{"context/inherited/ref-1/plan.md", put("context/inherited/ref-1/plan.md", "ours"), put("context/inherited/ref-1/plan.md", "theirs")},
		{"deep/er.md", func() { require.NoError(t, os.Remove(s.Path("threads/a/deep/er.md"))) }, put("deep/er.md", "deep")},
		{"link", func() { require.NoError(t, os.Symlink("plan.md", s.Path("threads/a/link"))) }, nil},
	}
	for _, c := range cases {
		c.do()
		assert.Equal(t, []string{c.path}, strays())
		if c.undo == nil {
			c.undo = func() { require.NoError(t, os.RemoveAll(s.Path("threads/a/"+c.path))) }
		}
		c.undo()
		require.Empty(t, strays(), "after %s", c.path)
	}
}

func TestStraysOfWhatIsNoFolder(t *testing.T) {
	t.Parallel()
	s, _ := given(t)
	got, err := s.UnknownEntries(context.Background(), "nobody", content.Manifest{{Path: "plan.md", SHA256: storetest.Sum("plan")}}, nil)
	require.NoError(t, err)
	assert.Empty(t, got, "nothing of anybody's is there")

	require.NoError(t, os.Symlink("a", s.Path("threads/b")))
	_, err = s.UnknownEntries(context.Background(), "b", nil, nil)
	storetest.WantCode(t, err, codes.UnsafePath)
	_, err = s.UnknownEntries(context.Background(), "a", nil, []thread.Reference{{ID: "ref-1", Manifest: storetest.Sum("gone")}})
	storetest.WantCode(t, err, codes.ReadFailed)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = s.UnknownEntries(over, "a", nil, nil)
	storetest.WantCode(t, err, codes.Interrupted)
}
