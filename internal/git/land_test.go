package git_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/git"
	"leslie/test/harness"
)

// landing is a repository whose branch main, checked out in its main worktree, is to move
// to a commit that changes, adds and removes files.
func landing(t *testing.T) (*repository, git.Landing) {
	t.Helper()
	r := newRepository(t)
	r.write(".gitignore", "*.log\n")
	r.write("b.txt", "one\n")
	r.write("dir/gone", "gone\n")
	r.write("mine.txt", "mine\n")
	old := r.commit("old")
	r.git("checkout", "-q", "-b", "work")
	r.write("a.txt", strings.Repeat("two\n", 5000))
	r.write("new/added", "added\n")
	r.write("tool.sh", "#!/bin/sh\n")
	require.NoError(t, os.Chmod(filepath.Join(r.dir, "tool.sh"), 0o755))
	require.NoError(t, os.Remove(filepath.Join(r.dir, "dir", "gone")))
	latest := r.commit("new")
	r.git("checkout", "-q", "main")
	return r, git.Landing{Branch: "main", Old: old, New: latest}
}

func (r *repository) tip(branch string) git.Commit {
	r.t.Helper()
	return git.Commit(r.git("rev-parse", "refs/heads/"+branch))
}

func TestALandingInEachSituation(t *testing.T) {
	t.Parallel()
	const unchanged = "" // the landing is refused
	for name, c := range map[string]struct {
		prepare func(r *repository, l *git.Landing)
		// status is git's of the main worktree after the landing, or the code with which it is
		// refused; then neither branch nor files have changed.
		status string
		code   codes.Code
		paths  []string
	}{
		"clean":                   {},
		"an unrelated change":     {prepare: func(r *repository, _ *git.Landing) { r.write("mine.txt", "edited\n") }, status: " M mine.txt"},
		"an unrelated staged one": {prepare: func(r *repository, _ *git.Landing) { r.write("mine.txt", "edited\n"); r.git("add", "mine.txt") }, status: "M  mine.txt"},
		"an unrelated new file":   {prepare: func(r *repository, _ *git.Landing) { r.write("note", "x") }, status: "?? note"},
		"an overlapping change": {
			prepare: func(r *repository, _ *git.Landing) { r.write("a.txt", "edited\n") },
			code:    codes.LandingBlocked, paths: []string{"a.txt"},
		},
		"an overlapping staged change": {
			prepare: func(r *repository, _ *git.Landing) { r.write("a.txt", "edited\n"); r.git("add", "a.txt") },
			code:    codes.LandingBlocked, paths: []string{"a.txt"},
		},
		"an untracked file in the way": {
			prepare: func(r *repository, _ *git.Landing) { r.write("new/added", "mine\n") },
			code:    codes.LandingBlocked, paths: []string{"new/added"},
		},
		"an ignored file in the way": {
			prepare: func(r *repository, _ *git.Landing) {
				r.write(".git/info/exclude", "added\n")
				r.write("new/added", "mine\n")
			},
			code: codes.LandingBlocked, paths: []string{"new/added"},
		},
		"a merge in progress": {
			prepare: func(r *repository, _ *git.Landing) { r.write(".git/MERGE_HEAD", r.git("rev-parse", "HEAD")+"\n") },
			code:    codes.WorktreeBusy,
		},
		"another git command": {
			prepare: func(r *repository, _ *git.Landing) { r.write(".git/index.lock", "") },
			code:    codes.WorktreeBusy,
		},
		"a rebase of the branch": {
			prepare: func(r *repository, _ *git.Landing) {
				r.git("checkout", "-q", "--detach")
				r.write(".git/rebase-merge/head-name", "refs/heads/main\n")
			},
			code: codes.LandingBlocked,
		},
		"checked out nowhere": {prepare: func(r *repository, _ *git.Landing) { r.git("checkout", "-q", "--detach") }},
		"checked out in a linked worktree": {prepare: func(r *repository, _ *git.Landing) {
			r.git("checkout", "-q", "--detach")
			r.git("worktree", "add", "-q", filepath.Join(filepath.Dir(r.dir), "linked"), "main")
		}},
		"moved meanwhile": {
			prepare: func(r *repository, _ *git.Landing) { r.commit("meanwhile") },
			code:    "moved",
		},
		"options of the branch": {prepare: func(r *repository, _ *git.Landing) {
			r.git("config", "branch.main.mergeOptions", "--squash")
			r.git("config", "merge.autoStash", "true")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			r, l := landing(t)
			if c.prepare != nil {
				c.prepare(r, &l)
			}
			before, files := r.tip("main"), r.files()
			err := r.repo.Land(ctx, l)
			if c.code != unchanged {
				if c.code == "moved" {
					assert.ErrorIs(t, err, git.ErrMoved)
				} else {
					require.True(t, codes.Has(err, c.code), "%v", err)
				}
				assert.Equal(t, before, r.tip("main"))
				assert.Equal(t, files, r.files())
				if c.paths != nil {
					paths, _ := codes.Of(err).Facts().Get("paths")
					assert.Equal(t, c.paths, paths)
				}
				return
			}
			require.NoError(t, err)
			assert.Equal(t, l.New, r.tip("main"))
			if name == "checked out nowhere" {
				assert.Equal(t, files, r.files(), "no worktree changes")
				return
			}
			dir := r.dir
			if name == "checked out in a linked worktree" {
				dir = filepath.Join(filepath.Dir(r.dir), "linked")
			}
			assert.Equal(t, c.status, r.untrimmed(dir, "status", "--porcelain"))
			assert.FileExists(t, filepath.Join(dir, "new", "added"))
			assert.NoFileExists(t, filepath.Join(dir, "dir", "gone"))
		})
	}
}

// untrimmed is what git prints without its last line ending.
func (r *repository) untrimmed(dir string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, r.sys.Environ
	out, err := cmd.Output()
	require.NoError(r.t, err)
	return strings.TrimSuffix(string(out), "\n")
}

// files is every file of the main worktree with its content.
func (r *repository) files() map[string]string {
	r.t.Helper()
	out := map[string]string{}
	require.NoError(r.t, filepath.WalkDir(r.dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Name() == ".git" {
			return filepath.SkipDir
		}
		if err == nil && e.Type().IsRegular() {
			raw, err := os.ReadFile(path)
			require.NoError(r.t, err)
			out[path] = string(raw)
		}
		return err
	}))
	return out
}

// TestAKilledLandingIsFinishedOrTakenBack kills git at each of its system calls that
// change something.
func TestAKilledLandingIsFinishedOrTakenBack(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil || runtime.GOOS != "linux" {
		t.Skip("strace is not installed")
	}
	each := 1
	if testing.Short() {
		each = 47
	}
	ctx := context.Background()
	ends := map[string]int{}
	r, l := landing(t)
	r.write("mine.txt", "edited\n")
	r.write("note.log", "ignored\n")
	before, err := filesOf(r.dir)
	require.NoError(t, err)
	for _, call := range []string{"openat", "write", "unlink,unlinkat", "rename,renameat,renameat2,link", "mkdir,rmdir", "chmod,fchmod"} {
		for n := 1; ; n += each {
			require.NoError(t, os.RemoveAll(r.dir))
			require.NoError(t, os.CopyFS(r.dir, before))
			killer := filepath.Join(t.TempDir(), "git")
			harness.WriteProgram(t, killer, fmt.Sprintf("#!/bin/sh\ncase \" $* \" in *' --ff-only '*) exec strace -f -o /dev/null -e trace=%s -e inject=%s:signal=KILL:when=%d git \"$@\";; esac\nexec git \"$@\"\n", call, call, n))
			dying := r.sys
			dying.Program = killer
			repo, err := git.Open(ctx, r.dir, dying)
			require.NoError(t, err)
			landErr := repo.Land(ctx, l)
			what := fmt.Sprint(call, " ", n)
			landed, err := r.repo.RepairLanding(ctx, l)
			require.NoError(t, err, what)
			switch {
			case landErr == nil:
				assert.True(t, landed, what)
			case landed:
				ends["finished"]++
			default:
				ends["taken back"]++
				assert.Equal(t, " M mine.txt", r.untrimmed(r.dir, "status", "--porcelain"), what)
				assert.Equal(t, l.Old, r.tip("main"), what)
				require.NoError(t, r.repo.Land(ctx, l), what)
			}
			assert.Equal(t, l.New, r.tip("main"), what)
			assert.Equal(t, " M mine.txt", r.untrimmed(r.dir, "status", "--porcelain"), what)
			assert.Equal(t, "edited\n", r.files()[filepath.Join(r.dir, "mine.txt")], what)
			assert.Equal(t, "ignored\n", r.files()[filepath.Join(r.dir, "note.log")], what)
			if landErr == nil {
				break
			}
		}
	}
	t.Logf("landings killed: %v", ends)
	assert.Positive(t, ends["taken back"])
}

func TestARepairLeavesEditsAlone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r, l := landing(t)
	r.write("a.txt", "two\ntwo\ntw")     // a beginning of what the landing writes
	r.write("new/added", "somebody's\n") // not what it writes
	require.NoError(t, os.Remove(filepath.Join(r.dir, "dir", "gone")))
	landed, err := r.repo.RepairLanding(ctx, l)
	require.NoError(t, err)
	assert.False(t, landed)
	assert.Equal(t, "?? new/", r.untrimmed(r.dir, "status", "--porcelain"))
	assert.Equal(t, "somebody's\n", r.files()[filepath.Join(r.dir, "new", "added")])
	assert.Equal(t, "gone\n", r.files()[filepath.Join(r.dir, "dir", "gone")])
}

func TestALandingWaitsForTheOther(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no lock that a process inherits")
	}
	ctx := context.Background()
	r, l := landing(t)
	slow := filepath.Join(t.TempDir(), "git")
	started, goOn := filepath.Join(t.TempDir(), "started"), filepath.Join(t.TempDir(), "go")
	require.NoError(t, exec.Command("mkfifo", started, goOn).Run())
	harness.WriteProgram(t, slow, "#!/bin/sh\ncase \" $* \" in *' --ff-only '*) echo x >"+started+"; read x <"+goOn+";; esac\nexec git \"$@\"\n")
	sys := r.sys
	sys.Program = slow
	repo, err := git.Open(ctx, r.dir, sys)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- repo.Land(ctx, l) }()
	_, err = os.ReadFile(started)
	require.NoError(t, err)
	ended, end := context.WithCancel(ctx)
	end()
	assert.True(t, codes.Has(r.repo.Land(ended, l), codes.Interrupted))
	_, half, err := r.repo.InspectLanding(ctx, l)
	require.NoError(t, err)
	assert.False(t, half, "it goes on")
	landed := make(chan bool, 1)
	go func() {
		has, err := r.repo.RepairLanding(ctx, l)
		landed <- assert.NoError(t, err) && has
	}()
	require.NoError(t, os.WriteFile(goOn, []byte("x\n"), 0o644))
	require.NoError(t, <-done)
	assert.True(t, <-landed)
}
