package git_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLockFilesOfAKilledGitAreRemovedAndThoseOfOthersAreNot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	repo := r.repo
	const ref = "refs/leslie/test/one"
	left := filepath.Join(r.dir, ".git", "packed-refs.lock")
	note := filepath.Join(r.dir, ".git", "leslie-refs.lock")
	r.git("config", "core.packedRefsTimeout", "10")

	// Somebody else's: it stays, and git says so.
	require.NoError(t, repo.UpdateRef(ctx, ref, r.tip("main"), "", "test"))
	require.NoError(t, os.WriteFile(left, nil, 0o644))
	require.ErrorContains(t, repo.UpdateRef(ctx, ref, "", r.tip("main"), "test"), "packed-refs.lock")
	assert.Empty(t, repo.LeftLocks())
	assert.FileExists(t, left)

	// One that a killed git of ours named before it ran.
	require.NoError(t, os.WriteFile(note, []byte(left+"\n"+filepath.Join(r.dir, ".git", "HEAD.lock")+"\n"+filepath.Join(r.dir, "a.txt")), 0o644))
	assert.Equal(t, []string{left}, repo.LeftLocks())
	assert.FileExists(t, left, "looking changes nothing")
	require.NoError(t, repo.UpdateRef(ctx, ref, "", r.tip("main"), "test"))
	assert.NoFileExists(t, left)
	assert.FileExists(t, filepath.Join(r.dir, "a.txt"), "no lock file")
	assert.Empty(t, r.git("for-each-ref", "refs/leslie"))

	require.NoError(t, os.WriteFile(left, nil, 0o644))
	require.NoError(t, os.WriteFile(note, []byte(left), 0o644))
	require.NoError(t, repo.DropLocks())
	assert.NoFileExists(t, left)
	assert.Empty(t, repo.LeftLocks())
}
