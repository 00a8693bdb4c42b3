package git_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/git"
	"leslie/test/harness"
)

// system is a process of a user whose own configuration has only a name.
func system(t *testing.T) git.System {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	config := filepath.Join(t.TempDir(), "gitconfig")
	require.NoError(t, os.WriteFile(config, []byte("[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n"), 0o644))
	return git.System{Environ: append(os.Environ(), "GIT_CONFIG_GLOBAL="+config, "GIT_CONFIG_NOSYSTEM=1")}
}

// repository is a repository with one commit that git itself made.
type repository struct {
	t    *testing.T
	sys  git.System
	dir  string
	repo *git.Repo
}

// first has the files of such a repository: git makes it once, because each process of git
// takes longer than the copy.
var (
	makeFirst sync.Once
	first     fstest.MapFS
)

// filesOf reads all files below a folder.
func filesOf(dir string) (fstest.MapFS, error) {
	files := fstest.MapFS{}
	return files, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		file := &fstest.MapFile{Mode: info.Mode()}
		if !e.IsDir() {
			file.Data, err = os.ReadFile(path)
		}
		files[filepath.ToSlash(name)] = file
		return err
	})
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &repository{t: t, sys: system(t), dir: filepath.Join(dir, "project")}
	require.NoError(t, os.Mkdir(r.dir, 0o755))
	makeFirst.Do(func() {
		r.git("init", "-q")
		r.write("a.txt", "one\n")
		r.commit("first")
		first, err = filesOf(r.dir)
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll(r.dir))
	})
	require.NoError(t, os.CopyFS(r.dir, first))
	r.git("update-index", "--refresh") // the index knows its files by their times
	r.repo, err = git.Open(context.Background(), r.dir, r.sys)
	require.NoError(t, err)
	return r
}

// git runs git as a person would and returns what it printed.
func (r *repository) git(args ...string) string { return r.in(r.dir, args...) }

func (r *repository) in(dir string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, r.sys.Environ
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func (r *repository) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o644))
}

func (r *repository) commit(message string) git.Commit {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
	return r.head()
}

// head returns the commit of HEAD, as git commit has written it: in the branch's own file.
func (r *repository) head() git.Commit {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, ".git", "HEAD"))
	require.NoError(r.t, err)
	if ref, is := strings.CutPrefix(string(text), "ref: "); is {
		text, err = os.ReadFile(filepath.Join(r.dir, ".git", filepath.FromSlash(strings.TrimSpace(ref))))
		require.NoError(r.t, err)
	}
	return git.Commit(strings.TrimSpace(string(text)))
}

func TestARepositoryIsFoundFromAFolderInIt(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	assert.Equal(t, filepath.Join(r.dir, ".git"), r.repo.Admin)
	assert.Equal(t, r.dir, r.repo.Top)
	r.write("deep/below/x", "x")
	again, err := git.Open(context.Background(), filepath.Join(r.dir, "deep", "below"), r.sys)
	require.NoError(t, err)
	assert.Equal(t, r.repo.Admin, again.Admin)
}

func TestWithoutARepositoryGitCannotBeUsed(t *testing.T) {
	t.Parallel()
	sys := system(t)
	_, err := git.Open(context.Background(), t.TempDir(), sys)
	assert.True(t, codes.Has(err, codes.GitUnavailable), "%v", err)
	assert.Contains(t, err.Error(), "there is no git repository in")
	sys.Program = "no-such-git"
	_, err = git.Open(context.Background(), t.TempDir(), sys)
	assert.True(t, codes.Has(err, codes.GitUnavailable), "%v", err)
	assert.Contains(t, err.Error(), "was not found")
}

func TestAnOldGitCannotBeUsed(t *testing.T) {
	t.Parallel()
	old := filepath.Join(t.TempDir(), "git")
	harness.WriteProgram(t, old, "#!/bin/sh\necho git version 2.37.9.windows.1\n")
	_, err := git.Open(context.Background(), t.TempDir(), git.System{Program: old})
	assert.True(t, codes.Has(err, codes.GitUnavailable), "%v", err)
	assert.Contains(t, err.Error(), "2.37.9")
}

func TestAWorktreeIsMadeListedAndRead(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	tip, err := r.repo.Resolve(ctx, "HEAD")
	require.NoError(t, err)
	dir := filepath.Join(filepath.Dir(r.dir), "project.worktrees", "api")
	w, err := r.repo.Add(ctx, dir, "leslie/api", tip)
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("two\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new file"), []byte("n"), 0o644))
	status, err := w.Status(ctx)
	require.NoError(t, err)
	assert.Equal(t, git.Status{Head: tip, Branch: "leslie/api", Dirty: []string{"a.txt"}, Untracked: []string{"new file"}}, status)
	assert.Empty(t, w.Busy())
	require.NoError(t, os.WriteFile(filepath.Join(w.Admin, "MERGE_HEAD"), nil, 0o644))
	assert.Equal(t, "a merge", w.Busy())
	assert.True(t, codes.Has(w.CheckIdle(), codes.WorktreeBusy))

	all, err := r.repo.Worktrees(ctx)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, []string{r.dir, dir}, []string{all[0].Dir, all[1].Dir})
	assert.Equal(t, []string{r.repo.Admin, w.Admin}, []string{all[0].Admin, all[1].Admin})
	assert.Equal(t, []string{"main", "leslie/api"}, []string{all[0].Branch, all[1].Branch})
	require.NoError(t, os.RemoveAll(dir))
	all, err = r.repo.Worktrees(ctx)
	require.NoError(t, err)
	assert.True(t, all[1].Missing)
}

func TestABranchMovesOnlyFromWhereItWasSeen(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	first, err := r.repo.Branch(ctx, "main")
	require.NoError(t, err)
	second := r.commit("second")
	const ref = "refs/leslie/pending/merge-1"
	require.NoError(t, r.repo.UpdateRef(ctx, ref, first, "", "test"))
	assert.ErrorIs(t, r.repo.UpdateRef(ctx, ref, second, "", "test"), git.ErrMoved)
	assert.ErrorIs(t, r.repo.UpdateRef(ctx, ref, second, second, "test"), git.ErrMoved)
	require.NoError(t, r.repo.UpdateRef(ctx, ref, second, first, "test"))
	require.NoError(t, r.repo.UpdateRef(ctx, ref, "", second, "test"))
	gone, err := r.repo.Resolve(ctx, ref)
	require.NoError(t, err)
	assert.Empty(t, gone)
	onlyA, onlyB, err := r.repo.Count(ctx, first, second)
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1}, []int{onlyA, onlyB})
	base, err := r.repo.MergeBase(ctx, first, second)
	require.NoError(t, err)
	assert.Equal(t, first, base)
	has, err := r.repo.Contains(ctx, second, first)
	require.NoError(t, err)
	assert.True(t, has)
}

// TestNoProgramOfTheRepositoryRuns: each program that the repository's own configuration
// can name writes a file when it runs.
func TestNoProgramOfTheRepositoryRuns(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	evil := "sh -c 'echo x >>" + ran + "; cat'"
	r.write(".gitattributes", "* filter=evil merge=evil\n")
	r.commit("attributes")
	for _, key := range []string{
		"core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "merge.evil.driver", "core.sshCommand", "gpg.program", "core.editor", "core.pager",
		"diff.external", "credential.helper", "core.askPass", "core.alternateRefsCommand", "uploadpack.packObjectsHook",
	} {
		r.git("config", key, strings.Replace(evil, "echo x", "echo "+key, 1))
	}
	hooks := filepath.Join(r.dir, ".git", "hooks")
	require.NoError(t, os.MkdirAll(hooks, 0o755))
	for _, name := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-commit", "post-merge"} {
		require.NoError(t, os.WriteFile(filepath.Join(hooks, name), []byte("#!/bin/sh\necho "+name+" >>"+ran+"\n"), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "a.txt"), []byte("changed\n"), 0o644))

	repo, err := git.Open(ctx, r.dir, r.sys)
	require.NoError(t, err)
	tip, err := repo.Resolve(ctx, "HEAD")
	require.NoError(t, err)
	status, err := repo.Worktree(r.dir, repo.Admin).Status(ctx)
	require.NoError(t, err)
	assert.Contains(t, status.Dirty, "a.txt")
	_, err = repo.Worktree(r.dir, repo.Admin).Content(ctx)
	require.NoError(t, err)
	_, err = repo.Add(ctx, filepath.Join(filepath.Dir(r.dir), "w"), "b", tip)
	assert.True(t, codes.Has(err, codes.UntrustedGitConfig), "%v", err)
	require.NoError(t, repo.UpdateRef(ctx, "refs/leslie/x", tip, "", "test"))
	m := git.WorktreeSpec{Dir: filepath.Join(filepath.Dir(r.dir), "m"), Branch: "m", Start: tip}
	assert.True(t, codes.Has(repo.Check(ctx, m), codes.UntrustedGitConfig))
	_, err = repo.Make(ctx, m)
	assert.True(t, codes.Has(err, codes.UntrustedGitConfig), "%v", err)
	require.NoError(t, repo.Unmake(ctx, m, false))
	_, err = repo.Ref(ctx, "HEAD")
	require.NoError(t, err)
	_, err = repo.Tracked(ctx, tip, "a.txt")
	require.NoError(t, err)
	_, err = repo.Tips(ctx, []string{"refs/heads/main"})
	require.NoError(t, err)
	_, err = repo.Worktree(r.dir, repo.Admin).Ignored(ctx, filepath.Join(r.dir, "a.txt"))
	require.NoError(t, err)
	_, _, err = repo.Worktree(r.dir, repo.Admin).Snapshot(ctx)
	require.NoError(t, err)
	_, err = repo.Touched(ctx, tip, tip, []string{"a.txt"})
	require.NoError(t, err)
	_, err = repo.Upstream(ctx, "refs/heads/main")
	require.NoError(t, err)
	_, err = repo.Worktree(r.dir, repo.Admin).CommitUncommitted(ctx, "work", "ann")
	assert.True(t, codes.Has(err, codes.UntrustedGitConfig), "%v", err)
	kept, err := repo.Worktree(r.dir, repo.Admin).Rescue(ctx, "ann")
	require.NoError(t, err)
	_, err = repo.Restore(ctx, git.Restoring{Dir: filepath.Join(filepath.Dir(r.dir), "w"), Branch: "b", Tip: tip, Rescue: kept.Commit})
	assert.True(t, codes.Has(err, codes.BranchTaken), "%v", err)
	_, err = repo.Restore(ctx, git.Restoring{Dir: filepath.Join(filepath.Dir(r.dir), "w"), Branch: "b", Tip: tip})
	assert.True(t, codes.Has(err, codes.UntrustedGitConfig), "%v", err)
	own := git.PrivateWorktree{Dir: filepath.Join(filepath.Dir(r.dir), "k"), Owner: "leslie"}
	err = repo.CheckOut(ctx, own, tip)
	assert.True(t, codes.Has(err, codes.UntrustedGitConfig), "%v", err)
	assert.NoDirExists(t, own.Dir)
	// Without filters and drivers all that is left is refused to nobody, and does not run.
	r.git("config", "--remove-section", "filter.evil")
	r.git("config", "--remove-section", "merge.evil")
	repo, err = git.Open(ctx, r.dir, r.sys)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, repo.CheckOut(ctx, own, tip))
	}
	text, _ := os.ReadFile(ran)
	assert.Empty(t, string(text))
}

func TestTheEndOfTheContextEndsGit(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := r.repo.Worktrees(ctx)
	assert.True(t, codes.Has(err, codes.Interrupted), "%v", err)
}

func TestAMakingIsCheckedFinishedAndTakenBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	tip, err := r.repo.Resolve(ctx, "HEAD")
	require.NoError(t, err)
	ref, err := r.repo.Ref(ctx, "HEAD")
	require.NoError(t, err)
	assert.Equal(t, "refs/heads/main", ref)
	m := git.WorktreeSpec{Dir: filepath.Join(filepath.Dir(r.dir), "w", "api"), Branch: "leslie/api", Start: tip}
	require.NoError(t, r.repo.Check(ctx, m))

	// A git that was killed while it made the files.
	w, err := r.repo.Make(ctx, m)
	require.NoError(t, err)
	half := func() {
		require.NoError(t, os.WriteFile(filepath.Join(w.Admin, "locked"), []byte("initializing"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(m.Dir, "a.txt"), []byte("on"), 0o644))
	}
	half()
	assert.True(t, codes.Has(r.repo.Check(ctx, m), codes.BranchTaken))
	w, err = r.repo.Make(ctx, m)
	require.NoError(t, err)
	status, err := w.Status(ctx)
	require.NoError(t, err)
	assert.Equal(t, git.Status{Head: tip, Branch: "leslie/api"}, status)

	// What is finished stays; what is half made goes, and a branch with work stays.
	assert.True(t, codes.Has(r.repo.Unmake(ctx, m, false), codes.WorktreeBusy))
	half()
	require.NoError(t, r.repo.Unmake(ctx, m, false))
	assert.NoDirExists(t, m.Dir)
	require.NoError(t, r.repo.Check(ctx, m))
	r.git("branch", m.Branch)
	r.git("worktree", "add", "-q", m.Dir, m.Branch)
	r.in(m.Dir, "commit", "-q", "--allow-empty", "-m", "work")
	r.git("worktree", "remove", m.Dir)
	require.NoError(t, r.repo.Unmake(ctx, m, false))
	_, err = r.repo.Make(ctx, m)
	assert.True(t, codes.Has(err, codes.BranchTaken), "%v", err)
}

// A process is killed while its git makes a worktree, and git goes on: nobody removes what
// it writes, or writes there as well.
func TestAMakingWaitsForAGitThatGoesOn(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no lock that a process inherits")
	}
	ctx := context.Background()
	r := newRepository(t)
	tip, err := r.repo.Resolve(ctx, "HEAD")
	require.NoError(t, err)
	sys, fifos := r.sys, t.TempDir()
	started, goOn := filepath.Join(fifos, "started"), filepath.Join(fifos, "go")
	require.NoError(t, exec.Command("mkfifo", started, goOn).Run())
	sys.Program = filepath.Join(fifos, "git")
	harness.WriteProgram(t, sys.Program, `#!/bin/sh
case " $* " in *" worktree add "*) ;; *) exec git "$@";; esac
git "$@" || exit
locked=$(git rev-parse --git-common-dir)/worktrees/w/locked
echo initializing >"$locked"
echo x >`+started+`
read x <`+goOn+`
rm "$locked"
`)
	slow, err := git.Open(ctx, r.dir, sys)
	require.NoError(t, err)
	m := git.WorktreeSpec{Dir: filepath.Join(filepath.Dir(r.dir), "w"), Branch: "w", Start: tip}
	x := git.Restoring{Dir: filepath.Join(filepath.Dir(r.dir), "x"), Branch: "w", Tip: tip}
	done := make(chan error, 1)
	go func() {
		_, err := slow.Make(ctx, m)
		done <- err
	}()
	_, err = os.ReadFile(started)
	require.NoError(t, err)
	r.write("../w/own.txt", "mine\n")
	ended, end := context.WithCancel(ctx)
	end()
	_, err = r.repo.Make(ended, m)
	assert.True(t, codes.Has(err, codes.Interrupted), "%v", err)
	assert.True(t, codes.Has(r.repo.Unmake(ended, m, false), codes.Interrupted))
	require.NoError(t, os.Symlink(m.Dir, x.Dir+".leslie-restoring"))
	_, err = r.repo.Restore(ended, x)
	assert.True(t, codes.Has(err, codes.Interrupted), "%v", err)
	require.NoError(t, os.Remove(x.Dir+".leslie-restoring"))
	require.NoError(t, os.WriteFile(goOn, []byte("x\n"), 0o644))
	w, err := r.repo.Make(ctx, m) // which is there by then
	require.NoError(t, err)
	require.NoError(t, <-done)
	status, err := w.Status(ctx)
	require.NoError(t, err)
	assert.Equal(t, git.Status{Head: tip, Branch: "w", Untracked: []string{"own.txt"}}, status)
}

func TestIgnoredFilesAreThoseThatGitIgnoresToo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	r.write(".gitignore", "keys/\n*.env\n")
	r.commit("ignore")
	for _, name := range []string{"keys/a", "keys/b", "x.env", ":(top)y.env", "new.txt"} {
		r.write(name, "x")
	}
	patterns := filepath.Join(t.TempDir(), "patterns")
	require.NoError(t, os.WriteFile(patterns, []byte("keys/a\n*.env\nnew.txt\n"), 0o644))
	paths, err := r.repo.Worktree(r.dir, r.repo.Admin).Ignored(ctx, patterns)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"keys/a", "x.env", ":(top)y.env"}, paths)
	tips, err := r.repo.Tips(ctx, []string{"refs/heads/main", "refs/heads/none"})
	require.NoError(t, err)
	assert.Len(t, tips, 1)
}
