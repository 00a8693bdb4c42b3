package git_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/git"
)

// TestTheContentOfAWorktreeIsWhatACommitOfEverythingWouldHave compares with git add -A.
func TestTheContentOfAWorktreeIsWhatACommitOfEverythingWouldHave(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	r.write(".gitignore", "ignored\n")
	r.write("deleted", "x\n")
	r.write("mode", "x\n")
	r.write("staged", "x\n")
	r.write("folder/a", "x\n")
	r.write("file", "x\n")
	tip := r.commit("files")
	w := r.repo.Worktree(r.dir, r.repo.Admin)
	clean, err := w.Content(ctx)
	require.NoError(t, err)
	assert.Equal(t, r.git("rev-parse", string(tip)+"^{tree}"), clean)

	r.write("staged", "y\n")
	r.git("add", "staged")
	r.write("staged", "z\n")
	r.write("a.txt", "two\n")
	r.write("new file", "n\n")
	r.write("below/here/x", "n\n")
	r.write("ignored", "n\n")
	require.NoError(t, os.Remove(filepath.Join(r.dir, "deleted")))
	require.NoError(t, os.Chmod(filepath.Join(r.dir, "mode"), 0o755))
	require.NoError(t, os.RemoveAll(filepath.Join(r.dir, "folder")))
	r.write("folder", "now a file\n")
	require.NoError(t, os.Remove(filepath.Join(r.dir, "file")))
	r.write("file/now", "below a folder\n")
	objects := r.git("count-objects", "-v")
	status := r.git("status", "--porcelain")
	dirty, err := w.Content(ctx)
	require.NoError(t, err)
	assert.Equal(t, objects, r.git("count-objects", "-v"), "nothing is written in the repository")
	assert.Equal(t, status, r.git("status", "--porcelain"))
	r.git("add", "-A")
	assert.Equal(t, r.git("write-tree"), dirty)
}

func TestTheContentOfALinkedWorktreeIsItsOwn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	tip, err := r.repo.Resolve(ctx, "HEAD")
	require.NoError(t, err)
	dir := filepath.Join(filepath.Dir(r.dir), "w")
	w, err := r.repo.Add(ctx, dir, "b", tip)
	require.NoError(t, err)
	before, err := w.Content(ctx)
	require.NoError(t, err)
	r.write("a.txt", "in the main worktree\n")
	same, err := w.Content(ctx)
	require.NoError(t, err)
	assert.Equal(t, before, same)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("here\n"), 0o644))
	now, err := w.Content(ctx)
	require.NoError(t, err)
	assert.NotEqual(t, before, now)
	_, err = git.Open(ctx, dir, r.sys)
	require.NoError(t, err)
}
