package git_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/git"
)

func TestCommitsThatNoRemoteHasTravelInABundle(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	hub := filepath.Join(t.TempDir(), "hub.git")
	r.git("clone", "-q", "--bare", r.dir, hub)
	r.git("remote", "add", "origin", hub)
	r.git("fetch", "-q", "origin")
	other := filepath.Join(t.TempDir(), "other")
	r.git("clone", "-q", hub, other)
	clone, err := git.Open(ctx, other, r.sys)
	require.NoError(t, err)

	r.git("branch", "part")
	none, err := r.repo.Bundle(ctx, "part", 1<<20)
	require.NoError(t, err)
	assert.Empty(t, none.Data, "the remote has it")
	assert.NotEmpty(t, none.Tip)

	r.git("switch", "-q", "part")
	r.git("commit", "-q", "--allow-empty", "-m", "one")
	_, err = r.repo.Bundle(ctx, "part", 1)
	var large *git.TooLargeError
	require.ErrorAs(t, err, &large)
	bundle, err := r.repo.Bundle(ctx, "part", 1<<20)
	require.NoError(t, err)
	at, err := clone.Resolve(ctx, string(bundle.Tip))
	require.NoError(t, err)
	assert.Empty(t, at)
	require.NoError(t, clone.Unbundle(ctx, bundle.Data))
	at, err = clone.Resolve(ctx, string(bundle.Tip))
	require.NoError(t, err)
	assert.Equal(t, bundle.Tip, at)
	gone, err := r.repo.Bundle(ctx, "nowhere", 1<<20)
	require.NoError(t, err)
	assert.Empty(t, gone.Tip)

	// What is pushed, and not fetched there, has to be fetched first.
	r.git("push", "-q", "origin", "part")
	r.git("commit", "-q", "--allow-empty", "-m", "two")
	later := filepath.Join(t.TempDir(), "later")
	r.git("clone", "-q", "--no-local", "--single-branch", "--branch", "main", hub, later)
	behind, err := git.Open(ctx, later, r.sys)
	require.NoError(t, err)
	next, err := r.repo.Bundle(ctx, "part", 1<<20)
	require.NoError(t, err)
	err = behind.Unbundle(ctx, next.Data)
	var lacks *git.LacksError
	require.ErrorAs(t, err, &lacks)
	assert.Equal(t, []git.Commit{bundle.Tip}, lacks.Commits)
	assert.Error(t, behind.Unbundle(ctx, []byte("no bundle")))
	assert.False(t, errors.As(behind.Unbundle(ctx, []byte("no bundle")), &lacks))
}
