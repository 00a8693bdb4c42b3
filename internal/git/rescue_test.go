package git_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

// removing is a repository with a linked worktree on the branch leslie/x.
type removing struct {
	*repository
	tree git.Worktree
}

const rescueRef = "refs/leslie/rescue/x/1"

func newRemoving(t *testing.T, prepare ...func(*repository)) *removing {
	t.Helper()
	r := newRepository(t)
	for _, do := range prepare {
		do(r)
	}
	r.write(".gitignore", "*.log\nbuilt/\n")
	tip := r.commit("tip")
	w, err := r.repo.Add(context.Background(), filepath.Join(filepath.Dir(r.dir), "x"), "leslie/x", tip)
	require.NoError(t, err)
	return &removing{r, w}
}

// sh runs a shell script in the worktree.
func (r *removing) sh(script string) {
	r.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = r.tree.Dir, r.sys.Environ
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "%s: %s", script, out)
}

// looks is all that can be seen of a worktree: git's status, and each file.
func (r *removing) looks() string {
	r.t.Helper()
	var out strings.Builder
	for _, args := range [][]string{
		{"status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored", "--branch"}, {"diff", "--cached", "--binary"},
		{"ls-files", "-v", "--stage", "-z"},
	} {
		out.WriteString(strings.ReplaceAll(r.in(r.tree.Dir, args...), "\x00", "\n") + "\n")
	}
	require.NoError(r.t, filepath.WalkDir(r.tree.Dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == ".git" {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			content, err = os.Readlink(name)
		} else {
			var data []byte
			data, err = os.ReadFile(name)
			content = string(data)
		}
		if len(content) > 1000 {
			content = fmt.Sprintf("%s... %d bytes", content[:1000], len(content))
		}
		fmt.Fprintf(&out, "%q %v %v %q\n", strings.TrimPrefix(name, r.tree.Dir), info.Mode()&fs.ModeSymlink, info.Mode()&0o100, content)
		return err
	}))
	return out.String()
}

// remove removes the worktree and returns what was kept.
func (r *removing) remove() git.Rescued {
	r.t.Helper()
	ctx := context.Background()
	m := git.Removal{Worktree: r.tree, Ref: rescueRef}
	before, err := r.tree.CheckRemovable(ctx)
	require.NoError(r.t, err)
	require.NoError(r.t, m.MoveAside())
	kept, err := m.RescueWork(ctx, "ann")
	require.NoError(r.t, err)
	again, ok, err := m.Rescued(ctx)
	require.NoError(r.t, err)
	assert.True(r.t, ok)
	assert.Equal(r.t, []any{kept.Commit, kept.Head}, []any{again.Commit, again.Head})
	before.Commit = kept.Commit
	assert.Equal(r.t, before, kept)
	require.NoError(r.t, m.Delete())
	assert.True(r.t, m.Gone())
	assert.NoDirExists(r.t, r.tree.Admin)
	return kept
}

func (r *removing) restore(kept git.Rescued) error {
	x := git.Restoring{Dir: r.tree.Dir, Branch: "leslie/x", Tip: kept.Head, Rescue: kept.Commit}
	w, err := r.repo.Restore(context.Background(), x)
	if err == nil {
		again, err := r.repo.Restore(context.Background(), x)
		require.NoError(r.t, err)
		assert.Equal(r.t, w, again)
		require.NoError(r.t, w.Unlock())
		r.tree = w
	}
	return err
}

// roundTrip removes and restores the worktree and compares all that can be seen.
func (r *removing) roundTrip() git.Rescued {
	r.t.Helper()
	before := r.looks()
	kept := r.remove()
	require.NoError(r.t, r.restore(kept))
	require.Equal(r.t, before, r.looks())
	assert.NoFileExists(r.t, filepath.Join(r.tree.Admin, "locked"))
	return kept
}

// sample returns all cases, with -short one in three, from a random one on.
func sample(cases []string) (some []string) {
	stride := 1
	if testing.Short() {
		stride = 3
	}
	for i := rand.IntN(stride); i < len(cases); i += stride {
		some = append(some, cases[i])
	}
	return some
}

func TestARescueBringsBackWhatWasThere(t *testing.T) {
	t.Parallel()
	files := func(r *repository) {
		r.write("b.txt", "b\n")
		r.write("dir/c", "c\n")
		r.write("dir/d", "d\n")
		r.write("tool", "#!/bin/sh\n")
	}
	scripts := map[string]string{
		"staged":                     "echo 2 >a.txt; git add a.txt",
		"unstaged":                   "echo 2 >a.txt",
		"staged, then edited":        "echo 2 >a.txt; git add a.txt; echo 3 >a.txt",
		"staged, then as it was":     "cp a.txt k; echo 2 >a.txt; git add a.txt; mv k a.txt",
		"untracked":                  "echo n >new; mkdir -p deep/er; echo n >deep/er/new",
		"ignored":                    "echo n >x.log; mkdir built; echo o >built/o",
		"an ignored file, added":     "echo n >x.log; git add -f x.log",
		"deleted":                    "rm a.txt",
		"deleted and staged":         "git rm -q dir/c dir/d",
		"deleted, staged and back":   "git rm -q --cached a.txt",
		"renamed":                    "git mv a.txt z.txt; mv b.txt y.txt",
		"executable":                 "chmod +x a.txt; git add a.txt; chmod +x b.txt",
		"links":                      "ln -s a.txt l; ln -s /nowhere m; git add l; rm b.txt; ln -s x b.txt",
		"empty files":                ": >a.txt; : >e; git add e; : >f",
		"names":                      "printf x >'a\nb'; printf y >'c d'; printf z >'\"q\"'; printf r >'e\r'; printf s >' '; printf t >'-f'; printf u >':(top)g'; git --literal-pathspecs add -- 'c d' 'a\nb'; printf w >'a\nb'",
		"a file instead of a folder": "rm -r dir; echo f >dir",
		"a folder instead of a file": "rm a.txt; mkdir a.txt; echo f >a.txt/f",
		"a staged folder instead":    "git rm -q a.txt; mkdir a.txt; echo f >a.txt/f; git add a.txt; echo g >a.txt/f",
		"a link instead of a folder": "mkdir away; mv dir/c away/c; mv dir/d away/d; rmdir dir; ln -s away dir",
		"an added name only":         "echo n >new; : >empty; git add -N new empty",
		"an assumed file":            "git update-index --assume-unchanged a.txt; echo 2 >a.txt",
		"a skipped file":             "git update-index --skip-worktree a.txt b.txt; echo 2 >a.txt; rm b.txt",
		"a split index":              "git update-index --split-index; echo 2 >a.txt; git add a.txt; echo 3 >b.txt",
		"sparse":                     "git sparse-checkout set --no-cone /a.txt; echo 2 >a.txt",
		"line ends":                  "echo '*.txt text eol=crlf' >.gitattributes; printf '1\\r\\n2\\n' >a.txt; git add a.txt; printf 'x\\n' >b.txt; git add b.txt",
		"a detached head":            "git checkout -q --detach; git commit -q --allow-empty -m alone; echo 2 >a.txt",
		"only a detached head":       "git checkout -q --detach; git commit -q --allow-empty -m alone",
		"another branch":             "git checkout -q -b other; git commit -q --allow-empty -m o; echo 2 >a.txt",
		"everything removed":         "rm -r .gitignore *; git rm -q --cached a.txt",
	}
	for _, name := range sample(slices.Sorted(maps.Keys(scripts))) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemoving(t, files)
			r.sh(scripts[name])
			kept := r.roundTrip()
			assert.NotEmpty(t, kept.Commit)
			assert.Empty(t, kept.Dropped)
		})
	}
}

func TestAnIdleWorktreeNeedsNoRescue(t *testing.T) {
	t.Parallel()
	r := newRemoving(t)
	assert.Equal(t, git.Rescued{Head: r.tip("leslie/x"), Branch: "leslie/x"}, r.roundTrip())
}

func TestARescueCountsAndNamesWhatItLeaves(t *testing.T) {
	t.Parallel()
	r := newRemoving(t)
	r.sh(`echo 2 >a.txt; echo n >new; head -c 1048577 /dev/zero >big.log; head -c 1048577 /dev/zero >big; mkdir built
		for i in $(seq 1001); do : >built/$i; done; echo s >small.log`)
	kept := r.remove()
	assert.Equal(t, []int{1, 2, 1}, []int{kept.Changed, kept.Untracked, kept.Ignored})
	assert.Equal(t, []string{"big.log", "built/"}, kept.Dropped)
	require.NoError(t, r.restore(kept))
	assert.FileExists(t, filepath.Join(r.tree.Dir, "big"))
	assert.FileExists(t, filepath.Join(r.tree.Dir, "small.log"))
}

// TestGitItselfCanApplyARescue: it has the shape of a stash.
func TestGitItselfCanApplyARescue(t *testing.T) {
	t.Parallel()
	r := newRemoving(t)
	r.sh("echo 2 >a.txt; git add a.txt; echo 3 >a.txt; echo n >new")
	before := r.in(r.tree.Dir, "status", "--porcelain")
	kept := r.remove()
	r.git("stash", "apply", "-q", "--index", string(kept.Commit))
	assert.Equal(t, before, r.git("status", "--porcelain"))
}

func TestAWorktreeThatWouldLoseWorkIsNotRemoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, what string }{
		"a merge":                      {"git checkout -q -b o; echo o >a.txt; git commit -qam o; git checkout -q leslie/x; echo x >a.txt; git commit -qam x; git merge -q o || true", "a merge"},
		"an unmerged stash":            {"echo o >a.txt; git stash -q; echo x >a.txt; git commit -qam x; git stash pop -q || true", "A merge (a.txt is not resolved)"},
		"a rebase":                     {"git checkout -q -b o; echo o >a.txt; git commit -qam o; git checkout -q leslie/x; echo x >a.txt; git commit -qam x; git rebase -q o || true", "a rebase"},
		"a bisect":                     {"git bisect start -q", "a bisect"},
		"a lock":                       {": >$(git rev-parse --git-dir)/index.lock", "another git command"},
		"a branch without a commit":    {"git switch -q --orphan new", "A branch without a commit"},
		"a nested repository":          {"git init -q n; git -C n commit -q --allow-empty -m n", "(n)"},
		"an empty nested repository":   {"git init -q n; echo x >n/f", "(n)"},
		"an ignored nested repository": {"git init -q built; git -C built commit -q --allow-empty -m n", "(built)"},
		"a submodule":                  {"git init -q n; git -C n commit -q --allow-empty -m n; git -c advice.addEmbeddedRepo=false add n; git commit -qm n", "(n)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemoving(t)
			r.sh(c.script)
			_, err := r.tree.CheckRemovable(context.Background())
			require.True(t, codes.Has(err, codes.WorktreeBusy), "%v", err)
			assert.Contains(t, err.Error(), c.what)
			_, err = r.tree.Rescue(context.Background(), "ann")
			assert.True(t, codes.Has(err, codes.WorktreeBusy), "%v", err)
		})
	}
}

func TestARestoreIsRefusedWhereItDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string // in the main worktree
		what   string
	}{
		"the folder is there": {"mkdir ../x", "it exists"},
		"git has a worktree":  {"git worktree add -q --detach ../x", "git knows a worktree there"},
		"the branch is out":   {"git worktree add -q ../y leslie/x", "it is checked out in"},
		"the branch moved":    {"git branch -f leslie/x $(git commit-tree -p leslie/x -m n HEAD^{tree})", "it has moved"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemoving(t)
			r.sh("echo 2 >a.txt")
			kept := r.remove()
			cmd := exec.Command("sh", "-ec", c.script)
			cmd.Dir, cmd.Env = r.dir, r.sys.Environ
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			err = r.restore(kept)
			require.True(t, codes.Has(err, codes.BranchTaken), "%v", err)
			assert.Contains(t, err.Error(), c.what)
		})
	}
	r := newRemoving(t)
	kept := r.remove()
	r.git("branch", "-q", "-D", "leslie/x")
	require.NoError(t, r.restore(kept), "a branch that is gone is made again")
	assert.Equal(t, kept.Head, r.tip("leslie/x"))
}

// TestARescueNeverWritesThroughALink: the commits of a rescue may be anybody's.
func TestARescueNeverWritesThroughALink(t *testing.T) {
	t.Parallel()
	r := newRemoving(t)
	outside := t.TempDir()
	r.sh("ln -s " + outside + " d; git add d; git commit -qm link; echo n >f")
	kept := r.remove()
	tip := r.git("rev-parse", string(kept.Commit)+"^1")
	blob := r.git("rev-parse", tip+":a.txt")
	r.sh2("printf '100644 blob " + blob + "\\tx\\n' | git mktree >../sub; printf '040000 tree %s\\td\\n' $(cat ../sub) | git mktree >../top")
	top, err := os.ReadFile(filepath.Join(filepath.Dir(r.dir), "top"))
	require.NoError(t, err)
	rest := r.git("commit-tree", "-p", string(kept.Commit)+"^3^1", "-m", "u", strings.TrimSpace(string(top)))
	message := r.git("show", "-s", "--format=%B", string(kept.Commit))
	kept.Commit = git.Commit(r.git("commit-tree", "-p", tip, "-p", string(kept.Commit)+"^2", "-p", rest, "-m", message, string(kept.Commit)+"^{tree}"))
	assert.Error(t, r.restore(kept))
	assert.NoFileExists(t, filepath.Join(outside, "x"))
	assert.NoDirExists(t, r.tree.Dir)
}

// sh2 runs a shell script in the main worktree.
func (r *removing) sh2(script string) {
	r.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = r.dir, r.sys.Environ
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "%s", out)
}

func TestASnapshotHasWhatGitTracksOrWould(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRemoving(t)
	tree, changed, err := r.tree.Snapshot(ctx)
	require.NoError(t, err)
	assert.False(t, changed)
	assert.Equal(t, r.in(r.tree.Dir, "rev-parse", "HEAD^{tree}"), tree)

	r.sh(`echo 2 >a.txt; git add a.txt; echo 3 >a.txt; echo n >new; echo i >x.log; printf x >'n
l'; git init -q n; git -C n commit -q --allow-empty -m n; git add -N new; rm .gitignore; mkdir .gitignore; echo g >.gitignore/g`)
	before := r.looks()
	tree, changed, err = r.tree.Snapshot(ctx)
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Equal(t, before, r.looks())
	assert.Equal(t, ".gitignore/g\x00a.txt\x00n\nl\x00new\x00x.log", strings.Trim(r.git("ls-tree", "-r", "-z", "--name-only", tree), "\x00"))
	assert.Equal(t, "3", r.git("cat-file", "blob", tree+":a.txt"))
	commit, err := r.repo.CommitTree(ctx, tree, []git.Commit{r.tip("leslie/x")}, "snapshot", "ann")
	require.NoError(t, err)
	assert.NotEmpty(t, commit)
}

// TestRandomWorktreesComeBack is the property of a rescue: the same status and the same
// bytes, whatever was done in the worktree.
func TestRandomWorktreesComeBack(t *testing.T) {
	t.Parallel()
	cases := 200
	if testing.Short() {
		cases = 4
	}
	for seed := range cases {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(seed), 14))
			r := newRemoving(t, func(r *repository) {
				for range rnd.IntN(8) {
					r.write(randomName(rnd), randomText(rnd))
				}
				if rnd.IntN(3) == 0 {
					r.git("config", "core.autocrlf", "true")
				}
			})
			steps := ""
			for range 1 + rnd.IntN(12) {
				steps += r.randomStep(rnd) + "\n"
			}
			before := r.looks()
			kept := r.remove()
			require.NoError(t, r.restore(kept), steps)
			require.Equal(t, before, r.looks(), steps)
		})
	}
}

func randomName(rnd *rand.Rand) string {
	part := func() string {
		return []string{"a.txt", "b", "c d", "d", "e\nf", "x.log", "built", "ü", "\"q", "-z", "g*"}[rnd.IntN(11)]
	}
	name := part()
	for rnd.IntN(3) == 0 {
		name = filepath.Join(part()+"_", name)
	}
	return name
}

func randomText(rnd *rand.Rand) string {
	text := ""
	for range rnd.IntN(4) {
		text += []string{"one\n", "two\r\n", "three", "\x00\xff", "\n"}[rnd.IntN(5)]
	}
	return text
}

// randomStep does something in the worktree and says what.
func (r *removing) randomStep(rnd *rand.Rand) string {
	r.t.Helper()
	name := randomName(rnd)
	path := filepath.Join(r.tree.Dir, name)
	run := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"--literal-pathspecs"}, args...)...)
		cmd.Dir, cmd.Env = r.tree.Dir, r.sys.Environ
		_, err := cmd.CombinedOutput() // it may refuse
		return fmt.Sprintf("git %q: %v", args, err)
	}
	switch rnd.IntN(14) {
	case 0, 1, 2, 3:
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(randomText(rnd)), 0o644))
		return fmt.Sprintf("write %q: %v", name, err)
	case 4:
		return fmt.Sprintf("remove %q: %v", name, os.RemoveAll(path))
	case 5:
		return fmt.Sprintf("link %q: %v", name, errors.Join(os.RemoveAll(path), os.Symlink(randomName(rnd), path)))
	case 6:
		return fmt.Sprintf("executable %q: %v", name, os.Chmod(path, 0o755))
	case 7:
		return fmt.Sprintf("folder %q: %v", name, errors.Join(os.RemoveAll(path), os.MkdirAll(path, 0o755), os.WriteFile(filepath.Join(path, "in"), nil, 0o644)))
	case 8, 9:
		return run("add", "-A")
	case 10:
		return run("add", "-f", "--", name)
	case 11:
		return run("rm", "-q", "-r", "--cached", "--", name)
	case 12:
		return run("mv", "--", name, randomName(rnd))
	}
	return run([][]string{{"add", "-N", "."}, {"commit", "-q", "-m", "c"}, {"checkout", "-q", "--detach"}, {"update-index", "--assume-unchanged", "a.txt"}}[rnd.IntN(4)]...)
}
