package git_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/git"
)

// asGit merges in a scratch worktree as a person would, and returns git's result: the
// tree, or the unmerged entries.
func (r *repository) asGit(ours, theirs git.Commit) (tree string, unmerged string) {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "scratch")
	r.git("worktree", "add", "-q", "--detach", dir, string(ours))
	defer r.git("worktree", "remove", "--force", dir)
	cmd := exec.Command("git", "merge", "-q", "--no-edit", "--no-ff", string(theirs))
	cmd.Dir, cmd.Env = dir, r.sys.Environ
	out, err := cmd.CombinedOutput()
	if err == nil {
		return r.in(dir, "rev-parse", "HEAD^{tree}"), ""
	}
	require.Contains(r.t, string(out), "CONFLICT", "%s", out)
	return "", r.in(dir, "ls-files", "-u", "-z")
}

// stages is the unmerged entries of a merge as ls-files -u prints them.
func stages(m git.Merge) string {
	var out strings.Builder
	for _, u := range m.Unmerged {
		for i, b := range []git.Blob{u.Base, u.Ours, u.Theirs} {
			if b.There() {
				fmt.Fprintf(&out, "%s %s %d\t%s\x00", b.Mode, b.Object, i+1, u.Path)
			}
		}
	}
	return out.String()
}

// compare merges two commits both ways and reports whether git found a conflict.
func (r *repository) compare(ours, theirs git.Commit, what string) (conflict bool) {
	r.t.Helper()
	tree, unmerged := r.asGit(ours, theirs)
	m, err := r.repo.MergeTree(context.Background(), nil, "", ours, theirs)
	require.NoError(r.t, err, what)
	if unmerged == "" {
		assert.Equal(r.t, tree, m.Tree, what)
	}
	// Where a file makes way for a folder, its new name ends in the name of its commit.
	assert.Equal(r.t, unmerged, strings.ReplaceAll(stages(m), "~"+string(ours)+"\x00", "~HEAD\x00"), what)
	return unmerged != ""
}

// TestAMergeIsWhatGitMakesOfIt compares random histories with git merge: edits, new and
// deleted files, renames, executable bits, files in the place of folders, links.
func TestAMergeIsWhatGitMakesOfIt(t *testing.T) {
	t.Parallel()
	rounds := 60
	if testing.Short() {
		rounds = 6
	}
	conflicts := 0
	for seed := range uint64(rounds) {
		r := newRepository(t)
		rnd := rand.New(rand.NewPCG(seed, 14))
		for i := range 6 {
			r.write(fmt.Sprintf("f%d", i), text(rnd, 30))
		}
		r.write("dir/inner", text(rnd, 10))
		base := r.commit("base")
		r.mess(rnd)
		ours := r.commit("ours")
		r.git("checkout", "-q", string(base))
		r.mess(rnd)
		theirs := r.commit("theirs")
		if r.compare(ours, theirs, fmt.Sprint("seed ", seed)) {
			conflicts++
		}
	}
	assert.Greater(t, conflicts, rounds/4, "of %d merges", rounds)
	assert.Less(t, conflicts, rounds, "of %d merges", rounds)
}

func text(rnd *rand.Rand, lines int) string {
	var b strings.Builder
	for range lines {
		fmt.Fprintf(&b, "line %d\n", rnd.IntN(1000))
	}
	return b.String()
}

// mess changes a worktree at random.
func (r *repository) mess(rnd *rand.Rand) {
	for range 1 + rnd.IntN(4) {
		name := fmt.Sprintf("f%d", rnd.IntN(6))
		path := filepath.Join(r.dir, name)
		raw, err := os.ReadFile(path)
		lines := strings.SplitAfter(string(raw), "\n")
		switch what := rnd.IntN(9); {
		case err != nil || what == 0:
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				continue
			}
			r.write(name, text(rnd, 5))
		case what == 1:
			require.NoError(r.t, os.Remove(path))
		case what == 2:
			require.NoError(r.t, os.Rename(path, filepath.Join(r.dir, fmt.Sprintf("g%d", rnd.IntN(3)))))
		case what == 3:
			require.NoError(r.t, os.Chmod(path, 0o755))
		case what == 4:
			require.NoError(r.t, os.Remove(path))
			r.write(name+"/below", text(rnd, 3))
		case what == 5:
			require.NoError(r.t, os.Remove(path))
			require.NoError(r.t, os.Symlink(fmt.Sprint("to", rnd.IntN(3)), path))
		default:
			at := rnd.IntN(len(lines))
			r.write(name, strings.Join(slices.Insert(lines, at, fmt.Sprintf("new %d\n", rnd.IntN(100))), ""))
		}
	}
}

// TestHistoricalMergesAreWhatGitMakesOfThem compares the merges of the histories that
// LESLIE_HISTORIES names, folders divided by ":", LESLIE_HISTORY_MERGES of each.
func TestHistoricalMergesAreWhatGitMakesOfThem(t *testing.T) {
	histories := filepath.SplitList(os.Getenv("LESLIE_HISTORIES"))
	if len(histories) == 0 {
		t.Skip("LESLIE_HISTORIES names no repositories")
	}
	most := os.Getenv("LESLIE_HISTORY_MERGES")
	if most == "" {
		most = "200"
	}
	merges, conflicts := 0, 0
	for _, from := range histories {
		r := &repository{t: t, sys: system(t), dir: filepath.Join(t.TempDir(), "clone")}
		r.in(os.TempDir(), "clone", "-q", "--no-checkout", from, r.dir)
		var err error
		r.repo, err = git.Open(context.Background(), r.dir, r.sys)
		require.NoError(t, err)
		for _, line := range strings.Split(r.git("rev-list", "--all", "--min-parents=2", "--max-parents=2", "--parents", "-n", most), "\n") {
			commits := strings.Fields(line)
			if r.compare(git.Commit(commits[1]), git.Commit(commits[2]), from+" "+commits[0]) {
				conflicts++
			}
			merges++
		}
	}
	t.Logf("history: %d merges, %d with conflicts", merges, conflicts)
	assert.Positive(t, merges)
}

func TestARecordedBaseTakesThePlaceOfTheMergeBase(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	first := r.commit("base")
	r.write("a.txt", "two\n")
	ours := r.commit("the same change")
	r.git("checkout", "-q", string(first))
	r.write("a.txt", "two\n")
	inherited := r.commit("uncommitted work that was inherited")
	r.write("a.txt", "three\n")
	theirs := r.commit("and what came after")
	plain, err := r.repo.MergeTree(ctx, nil, "", ours, theirs)
	require.NoError(t, err)
	assert.Len(t, plain.Unmerged, 1)
	assert.Equal(t, "CONFLICT (contents)", plain.Messages[len(plain.Messages)-1].Kind)
	based, err := r.repo.MergeTree(ctx, nil, inherited, ours, theirs)
	require.NoError(t, err)
	assert.Empty(t, based.Unmerged)
	assert.Equal(t, r.git("rev-parse", string(theirs)+"^{tree}"), based.Tree)
}

func TestLookingAgainAddsNothingToTheRepository(t *testing.T) {
	r := newRepository(t)
	r.write("a", "1\n2\n3\n")
	base := r.commit("base")
	r.git("checkout", "-q", "-b", "theirs")
	r.write("a", "1\n2\n3 theirs\n")
	theirs := r.commit("theirs")
	r.git("checkout", "-q", "main")
	r.write("a", "1 ours\n2\n3\n")
	ours := r.commit("ours")
	look := func() string {
		_, err := r.repo.MergeTree(t.Context(), nil, base, ours, theirs)
		require.NoError(t, err)
		_, err = r.repo.TemporaryCommit(t.Context(), string(ours)+"^{tree}", theirs)
		require.NoError(t, err)
		return r.git("cat-file", "--batch-check", "--batch-all-objects")
	}
	first := look()
	r.git("config", "user.name", "somebody else")
	assert.Equal(t, first, look(), "the commits that git needs to compute it are the same ones")
}

func TestAResolvedTreeHasWhatWasChosen(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	r.write("dir/deep", "d\n")
	r.write("gone", "g\n")
	tip := r.commit("tree")
	objects, err := r.repo.PutBlobs(ctx, [][]byte{[]byte("chosen\r\n"), {}})
	require.NoError(t, err)
	tree, err := r.repo.Replace(ctx, string(tip)+"^{tree}", map[string]git.Blob{
		"a.txt": {Mode: "100755", Object: objects[0]}, "gone": {}, "dir/deep": {}, "dir": {Mode: "100644", Object: objects[1]},
	})
	require.NoError(t, err)
	assert.Equal(t, "100755 blob "+objects[0]+"\ta.txt\n100644 blob "+objects[1]+"\tdir", r.git("ls-tree", "-r", tree))
	content, err := r.repo.Blobs(ctx, objects)
	require.NoError(t, err)
	assert.Equal(t, map[string][]byte{objects[0]: []byte("chosen\r\n"), objects[1]: {}}, content)
	_, err = r.repo.Blobs(ctx, []string{strings.Repeat("1", 40)})
	assert.True(t, codes.Has(err, codes.GitUnavailable), "%v", err)
	commit, err := r.repo.CommitTree(ctx, tree, []git.Commit{tip}, "Merge x\n\nwhy", "bot")
	require.NoError(t, err)
	assert.Equal(t, "Ann <ann@example.org> "+string(tip)+" Merge x", r.git("log", "-1", "--format=%an <%ae> %P %s", string(commit)))
}

func TestACommitOfSomebodyWhomGitDoesNotKnow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	sys := git.System{Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}}
	r.git("config", "user.useConfigOnly", "true")
	repo, err := git.Open(ctx, r.dir, sys)
	require.NoError(t, err)
	commit, err := repo.CommitTree(ctx, "HEAD^{tree}", nil, "m", "run:api <x>")
	require.NoError(t, err)
	assert.Equal(t, "run:api--x-@leslie.invalid", r.git("log", "-1", "--format=%ae", string(commit)))
}

func TestBranchesWithoutACommonCommitAreNotMerged(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	ours := git.Commit(r.git("rev-parse", "HEAD"))
	r.git("checkout", "-q", "--orphan", "other")
	theirs := r.commit("orphan")
	_, err := r.repo.MergeTree(context.Background(), nil, "", ours, theirs)
	assert.True(t, codes.Has(err, codes.GitUnavailable), "%v", err)
	_, err = r.repo.MergeTree(context.Background(), nil, "", ours, git.Commit(strings.Repeat("1", 40)))
	assert.True(t, codes.Has(err, codes.GitUnavailable), "%v", err)
}
