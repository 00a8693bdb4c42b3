package git_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/git"
)

func readText(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(text)
}

func TestAKeptWorktreeHasTheCommitAndWhatGitIgnores(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	r.write(".gitignore", "cache/\n")
	first := r.commit("ignore")
	r.write("a.txt", "two\n")
	r.write("b/c.txt", "new\n")
	second := r.commit("second")
	k := git.PrivateWorktree{Dir: filepath.Join(filepath.Dir(r.dir), "w", ".kept"), Owner: "leslie keeps it"}
	require.NoError(t, r.repo.CheckOut(ctx, k, first))
	assert.Equal(t, "one\n", readText(t, k.Dir, "a.txt"))

	// Whatever was done there is undone, what git ignores stays.
	mess := func() {
		require.NoError(t, os.MkdirAll(filepath.Join(k.Dir, "cache"), 0o755))
		for _, name := range []string{"cache/x", "a.txt", "left", "b"} {
			require.NoError(t, os.WriteFile(filepath.Join(k.Dir, name), []byte("left\n"), 0o644))
		}
		r.in(k.Dir, "init", "-q", "inner")
	}
	mess()
	r.in(k.Dir, "add", "a.txt", "left")
	r.in(k.Dir, "switch", "-q", "-c", "elsewhere")
	require.NoError(t, r.repo.CheckOut(ctx, k, second))
	check := func(commit git.Commit) {
		t.Helper()
		assert.Equal(t, string(commit), r.in(k.Dir, "rev-parse", "HEAD"))
		assert.Equal(t, "HEAD", r.in(k.Dir, "rev-parse", "--abbrev-ref", "HEAD"))
		assert.Empty(t, r.in(k.Dir, "status", "--porcelain"))
	}
	check(second)
	assert.Equal(t, "new\n", readText(t, k.Dir, "b/c.txt"))
	assert.Equal(t, "left\n", readText(t, k.Dir, "cache/x"))
	assert.NoDirExists(t, filepath.Join(k.Dir, "inner"))

	// What a kill leaves does not hinder the next; what is damaged is made again.
	all := r.repo.PrivateWorktrees("leslie keeps it")
	require.Equal(t, []git.PrivateWorktree{k}, all)
	admin := r.in(k.Dir, "rev-parse", "--absolute-git-dir")
	for name, damage := range map[string]func(){
		"lock":  func() { require.NoError(t, os.WriteFile(filepath.Join(admin, "index.lock"), nil, 0o644)) },
		"index": func() { require.NoError(t, os.WriteFile(filepath.Join(admin, "index"), []byte("x"), 0o644)) },
		"head":  func() { require.NoError(t, os.Remove(filepath.Join(admin, "HEAD"))) },
		".git": func() {
			require.NoError(t, os.WriteFile(filepath.Join(k.Dir, ".git"), []byte("gitdir: "+r.dir+"/.git\n"), 0o644))
		},
		"folder": func() { require.NoError(t, os.RemoveAll(k.Dir)) },
		"link": func() {
			require.NoError(t, os.RemoveAll(k.Dir))
			require.NoError(t, os.Symlink(r.dir, k.Dir))
		},
	} {
		damage()
		require.NoError(t, r.repo.CheckOut(ctx, k, first), name)
		check(first)
	}
	assert.Equal(t, "two\n", readText(t, r.dir, "a.txt"), "nothing was done elsewhere")
	mess()
	require.NoError(t, r.repo.RemovePrivate(k))
	assert.NoDirExists(t, k.Dir)
	assert.Empty(t, r.repo.PrivateWorktrees("leslie keeps it"))
}

func TestAKeptWorktreeIsNeverSomebodyElsesFolder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	tip := r.commit("second")
	dir := filepath.Join(filepath.Dir(r.dir), "w")
	taken := func(k git.PrivateWorktree) {
		t.Helper()
		err := r.repo.CheckOut(ctx, k, tip)
		assert.True(t, codes.Has(err, codes.BranchTaken), "%v", err)
		err = r.repo.RemovePrivate(k)
		assert.True(t, codes.Has(err, codes.BranchTaken), "%v", err)
	}
	plain := git.PrivateWorktree{Dir: filepath.Join(dir, "plain"), Owner: "leslie keeps it"}
	require.NoError(t, os.MkdirAll(plain.Dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(plain.Dir, "mine"), nil, 0o644))
	taken(plain)
	assert.FileExists(t, filepath.Join(plain.Dir, "mine"))
	link := git.PrivateWorktree{Dir: filepath.Join(dir, "link"), Owner: "leslie keeps it"}
	require.NoError(t, os.Symlink(plain.Dir, link.Dir))
	taken(link)
	assert.Empty(t, r.repo.PrivateWorktrees("leslie keeps it"))
	worktree := git.PrivateWorktree{Dir: filepath.Join(dir, "worktree"), Owner: "leslie keeps it"}
	r.git("worktree", "add", "-q", "--detach", worktree.Dir)
	require.NoError(t, os.WriteFile(filepath.Join(worktree.Dir, "mine"), nil, 0o644))
	taken(worktree)
	r.git("worktree", "lock", "--reason", "leslie keeps it for another", worktree.Dir)
	taken(worktree)
	assert.FileExists(t, filepath.Join(worktree.Dir, "mine"))
}

func TestAProgramInAWorktreeIsToldOfNoOtherRepository(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"PATH=/bin", "GIT_CONFIG_GLOBAL=/c", "GIT_AUTHOR_NAME=Ann"},
		git.WithoutRepository([]string{"PATH=/bin", "GIT_DIR=/x", "GIT_CONFIG_GLOBAL=/c", "GIT_INDEX_FILE=/i", "GIT_AUTHOR_NAME=Ann", "GIT_WORK_TREE=/w"}))
}
