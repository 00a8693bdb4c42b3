package scan

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/scope"
	"leslie/store/internal/content"
	"leslie/store/internal/storetest"
	"leslie/thread"
)

func TestArtifactsAreListedByPathWithoutWhatIsLesliesOwn(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	for _, rel := range []string{"plan.md", "plan/a.md", "design/x/y.md", ".meta/own", "context/inherited/r/f", "sub/context/kept", "sub/.meta/kept"} {
		storetest.PutFile(t, s, "threads/a/"+rel, rel)
	}
	require.NoError(t, os.Mkdir(s.Path("threads/a/empty"), 0o755))
	got, err := s.Artifacts("a")
	require.NoError(t, err)
	assert.Equal(t, []string{
		"design", "design/x", "design/x/y.md", "empty", "plan", "plan.md", "plan/a.md",
		"sub", "sub/.meta", "sub/.meta/kept", "sub/context", "sub/context/kept",
	}, entryPaths(got))
	assert.Equal(t, TypeFolder, got[0].Type)
	assert.Equal(t, TypeFile, got[2].Type)
	assert.Equal(t, int64(len("design/x/y.md")), got[2].Size)
	assert.False(t, got[2].ModTime.IsZero())
}

func TestAMissingFolderIsNoThreadWithoutArtifacts(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	for _, s := range []testStore{s, storeIn(t.TempDir())} {
		got, err := s.Artifacts("nobody")
		facts := storetest.WantCode(t, err, codes.TargetCorrupted).Facts()
		assert.Equal(t, ".leslie/threads/nobody", facts.Text("path"))
		require.ErrorIs(t, err, fs.ErrNotExist)
		assert.Empty(t, got)
		storetest.WantCode(t, s.CheckPath("nobody", "plan.md"), codes.TargetCorrupted)
	}
}

func TestAScopeSelectsArtifacts(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	for _, rel := range []string{"plan.md", "design/a.md", "design/deep/b.md", "notes/c.txt"} {
		storetest.PutFile(t, s, "threads/a/"+rel, rel)
	}
	got, err := s.ArtifactsIn("a", storetest.Scope(t, "design/", "*.md"))
	require.NoError(t, err)
	assert.Equal(t, []string{"design", "design/a.md", "design/deep", "design/deep/b.md", "plan.md"}, entryPaths(got))
}

func TestAFolderThatLiesTooDeepIsNamedAndNotEntered(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	deep := strings.TrimSuffix(strings.Repeat("d/", MaxDepth+1), "/")
	storetest.PutFile(t, s, "threads/a/"+deep+"/f", "x")
	got, err := s.Artifacts("a")
	require.NoError(t, err)
	require.Len(t, got, MaxDepth)
	last := got[len(got)-1]
	assert.Equal(t, TypeOther, last.Type)
	assert.Equal(t, strings.TrimSuffix(strings.Repeat("d/", MaxDepth), "/"), last.Path)
}

func TestHashTellsContentAndForgivesWhatVanished(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	storetest.PutFile(t, s, "threads/a/plan.md", "# Plan\n")
	gone := storetest.PutFile(t, s, "threads/a/gone.md", "x")
	became := storetest.PutFile(t, s, "threads/a/became", "x")
	storetest.PutSparse(t, s, "threads/a/huge.bin", 2*content.MaxFile)
	entries, err := s.Artifacts("a")
	require.NoError(t, err)
	require.NoError(t, os.Remove(gone))
	require.NoError(t, os.Remove(became))
	require.NoError(t, os.Mkdir(became, 0o755))

	got, err := s.Hash(context.Background(), "a", entries)
	require.NoError(t, err)
	require.Equal(t, []string{"became", "huge.bin", "plan.md"}, entryPaths(got))
	assert.Equal(t, Entry{Path: "became", Type: TypeOther}, got[0])
	assert.Empty(t, got[1].SHA256)
	assert.Equal(t, int64(2*content.MaxFile), got[1].Size)
	assert.Equal(t, storetest.Sum("# Plan\n"), got[2].SHA256)
}

func TestAHashThatIsInterruptedIsT904(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	storetest.PutFile(t, s, "threads/a/plan.md", "x")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.Hash(ctx, "a", []Entry{{Path: "plan.md", Type: TypeFile}})
	storetest.WantCode(t, err, codes.Interrupted)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAPathThatLeadsOutIsT507(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	storetest.PutFile(t, s, "threads/a/plan.md", "x")
	storetest.PutFile(t, s, "threads/b/secret.md", "x")
	require.NoError(t, os.Symlink("../b", s.Path("threads/a/link")))
	require.NoError(t, os.Symlink("plan.md", s.Path("threads/a/inner")))
	require.NoError(t, os.Symlink("nowhere", s.Path("threads/a/dangling")))
	for _, bad := range []string{
		"..", "../b/secret.md", "/etc/passwd", "x/../../b", "plan.md/..", "a/..",
		"link", "link/secret.md", "link/new.md", "inner", "dangling", "./link/x",
	} {
		err := s.CheckPath("a", bad)
		require.Error(t, err, bad)
		facts := storetest.WantCode(t, err, codes.UnsafePath).Facts()
		assert.Equal(t, bad, facts.Text("path"))
		assert.Equal(t, "a", facts.Text("threadId"))
	}
	for _, good := range []string{"plan.md", "./plan.md", "new.md", "new/folder/x.md", "plan.md/below", ".hidden", "a..b"} {
		assert.NoError(t, s.CheckPath("a", good), good)
	}
	storetest.WantCode(t, s.CheckPath("a", ""), codes.InvalidArgument)
	storetest.WantCode(t, s.CheckPath("a", "x\x00y"), codes.InvalidArgument)
}

func TestAThreadIDThatIsAPathIsT507(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	storetest.PutFile(t, s, "config.json", "{}")
	for _, id := range []thread.ThreadID{"", ".", "..", "../blobs", "a/b", "/etc", ".meta", `a\b`} {
		_, err := s.Artifacts(id)
		storetest.WantCode(t, err, codes.UnsafePath)
	}
}

func TestAFolderThatAStrangerMadeALinkIsRefused(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(outside, "a"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "a", "secret"), []byte("x"), 0o644))
	for _, place := range []string{"threads", "threads/a"} {
		for _, target := range []string{outside, "../.leslie"} {
			s := storeIn(t.TempDir())
			require.NoError(t, os.MkdirAll(filepath.Dir(s.Path(place)), 0o755))
			require.NoError(t, os.Symlink(target, s.Path(place)))
			_, err := s.Artifacts("a")
			storetest.WantCode(t, err, codes.UnsafePath)
			storetest.WantCode(t, s.CheckPath("a", "secret"), codes.UnsafePath)
			_, err = s.Hash(context.Background(), "a", []Entry{{Path: "secret", Type: TypeFile}})
			storetest.WantCode(t, err, codes.UnsafePath)
			st := stageFor(t, s)
			_, _, err = st.Snapshot(context.Background(), "a", scope.Set{})
			storetest.WantCode(t, err, codes.UnsafePath)
		}
	}
}
