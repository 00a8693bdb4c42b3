package git_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/git"
)

func TestUncommittedWorkIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRemoving(t)
	r.sh("echo staged >a.txt; git add a.txt; echo unstaged >a.txt; mkdir new; echo n >new/n; echo x >run; chmod +x run; ln -s a.txt link; echo i >x.log")
	before := r.looks()
	taken, err := r.tree.CommitUncommitted(ctx, "work", "bot")
	require.NoError(t, err)
	assert.Equal(t, "leslie/x", taken.Branch)
	assert.Equal(t, r.tip("leslie/x"), taken.Head)
	assert.Equal(t, 4, taken.Files)
	assert.Equal(t, before, r.looks(), "it writes objects only")
	assert.Equal(t, "100644 .gitignore\n100644 a.txt\n120000 link\n100644 new/n\n100755 run",
		r.git("ls-tree", "-r", "--format=%(objectmode) %(path)", string(taken.Commit)))
	assert.Equal(t, "unstaged", r.git("show", string(taken.Commit)+":a.txt"))

	// A kill between index and branch leaves all of it staged.
	require.NoError(t, taken.Install(ctx))
	assert.Equal(t, taken.Commit, r.tip("leslie/x"))
	assert.Empty(t, r.in(r.tree.Dir, "status", "--porcelain"))
	assert.Equal(t, "leslie: uncommitted work", r.in(r.tree.Dir, "log", "-g", "-1", "--format=%gs", "HEAD"))
	assert.FileExists(t, filepath.Join(r.tree.Dir, "x.log"))
	again, err := r.tree.CommitUncommitted(ctx, "work", "bot")
	require.NoError(t, err)
	assert.Empty(t, again.Commit)
}

func TestTakenWorkIsNotInstalledOverOtherWork(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		meanwhile string
		code      codes.Code
		tip       string // of the branch afterwards
	}{
		"a commit":        {meanwhile: "git commit -q --allow-empty -m other", tip: "other"},
		"another branch":  {meanwhile: "git switch -q -c other", tip: "tip"},
		"a detached head": {meanwhile: "git switch -q --detach", tip: "tip"},
		"a merge":         {meanwhile: "touch $(git rev-parse --git-path MERGE_HEAD)", code: codes.WorktreeBusy, tip: "tip"},
		"another git":     {meanwhile: "touch $(git rev-parse --git-path index.lock)", code: codes.WorktreeBusy, tip: "tip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemoving(t)
			r.sh("echo two >a.txt; echo n >new")
			taken, err := r.tree.CommitUncommitted(ctx, "work", "bot")
			require.NoError(t, err)
			r.sh(c.meanwhile)
			err = taken.Install(ctx)
			if c.code == "" {
				require.ErrorIs(t, err, git.ErrMoved)
			} else {
				require.True(t, codes.Has(err, c.code), "%v", err)
			}
			assert.Equal(t, c.tip, r.git("log", "-1", "--format=%s", "leslie/x"))
			assert.Equal(t, " M a.txt\n?? new", r.untrimmed(r.tree.Dir, "--no-optional-locks", "status", "--porcelain"))
		})
	}
}

func TestAnEditWhileWorkIsTakenStays(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRemoving(t)
	r.sh("echo two >a.txt; echo n >new")
	taken, err := r.tree.CommitUncommitted(ctx, "work", "bot")
	require.NoError(t, err)
	r.sh("echo three >a.txt; rm new; echo l >later")
	require.NoError(t, taken.Install(ctx))
	assert.Equal(t, "two", r.git("show", "leslie/x:a.txt"))
	raw, err := os.ReadFile(filepath.Join(r.tree.Dir, "a.txt"))
	require.NoError(t, err)
	assert.Equal(t, "three\n", string(raw))
	assert.NoFileExists(t, filepath.Join(r.tree.Dir, "new"))
	assert.FileExists(t, filepath.Join(r.tree.Dir, "later"))
}

// An edit of the same length in the second in which the index was written shows in nothing
// but the content; git compares that where the index is not newer than the file.
func TestWorkOfTheSecondOfTheIndexIsTaken(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRemoving(t)
	r.git("config", "core.trustctime", "false") // an edit of the same second has its time, too
	then := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	file, index := filepath.Join(r.tree.Dir, "a.txt"), filepath.Join(r.tree.Admin, "index")
	require.NoError(t, os.Chtimes(file, then, then))
	r.sh("git update-index --refresh")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte("x"), int(info.Size())), 0o644))
	for _, name := range []string{file, index} {
		require.NoError(t, os.Chtimes(name, then, then))
	}
	before, err := r.tree.Content(ctx)
	require.NoError(t, err)
	taken, err := r.tree.CommitUncommitted(ctx, "work", "bot")
	require.NoError(t, err)
	require.NotEmpty(t, taken.Commit, "the work of that second is left out")
	assert.Equal(t, before, r.git("rev-parse", string(taken.Commit)+"^{tree}"))
}

func TestTakenWorkOfSomebodyWhomGitDoesNotKnow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRemoving(t)
	r.sh("echo two >a.txt")
	config := filepath.Join(t.TempDir(), "gitconfig")
	require.NoError(t, os.WriteFile(config, []byte("[user]\n\tuseConfigOnly = true\n"), 0o644))
	sys := git.System{Environ: append(os.Environ(), "GIT_CONFIG_GLOBAL="+config, "GIT_CONFIG_NOSYSTEM=1")}
	repo, err := git.Open(ctx, r.dir, sys)
	require.NoError(t, err)
	taken, err := repo.Worktree(r.tree.Dir, r.tree.Admin).CommitUncommitted(ctx, "work", "bot")
	require.NoError(t, err)
	assert.Equal(t, "bot <bot@leslie.invalid>", r.git("log", "-1", "--format=%an <%ae>", string(taken.Commit)))
}

func TestTouchedPathsAreThoseOfEachCommit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	first := r.tip("main")
	r.write("a.txt", "two\n")
	r.write("ü *.txt", "x\n")
	r.commit("two")
	r.git("checkout", "-q", "-b", "side", string(first))
	r.write("side.txt", "x\n")
	r.commit("side")
	r.git("checkout", "-q", "main")
	r.git("merge", "-q", "--no-ff", "-m", "merge", "side")
	r.write("a.txt", "one\n")
	r.write("other.txt", "x\n")
	last := r.commit("back")
	touched, err := r.repo.Touched(ctx, first, last, []string{"a.txt", "ü *.txt", "side.txt", "none"})
	require.NoError(t, err)
	assert.Equal(t, map[string]bool{"a.txt": true, "ü *.txt": true, "side.txt": true}, touched)
	touched, err = r.repo.Touched(ctx, last, last, []string{"a.txt"})
	require.NoError(t, err)
	assert.Empty(t, touched)
}
