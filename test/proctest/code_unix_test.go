//go:build !windows

package proctest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// repository is a project in a git repository, with a thread lead and its child api that
// both own code and differ in code and in artifacts.
type repository struct {
	*project
	worktrees, counter string
}

// deadlyGit is a git that kills whoever has started it at the call with the number KILL,
// before or after it has done its work, or in the middle of a landing or after it.
const deadlyGit = `#!/bin/sh
n=0
if [ -e "$COUNTER" ]; then read -r n <"$COUNTER"; fi
n=$((n + 1))
echo $n >"$COUNTER"
PATH=$REALPATH
case "$WHEN $*" in
half*--ff-only*) printf tw >a.txt; KILL=$n;;
landed*--ff-only*) git "$@"; KILL=$n;;
esac
if [ "$n" != "$KILL" ]; then exec git "$@"; fi
if [ "$WHEN" = after ]; then git "$@"; fi
kill -9 $PPID
exit 1
`

func newRepository(t *testing.T) *repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	bin, config := filepath.Join(dir, "bin"), filepath.Join(dir, "gitconfig")
	r := &repository{project: &project{t: t, dir: filepath.Join(dir, "project"), home: t.TempDir()}, worktrees: filepath.Join(dir, "project.worktrees")}
	r.counter = filepath.Join(dir, "counter")
	require.NoError(t, os.Mkdir(r.dir, 0o755))
	require.NoError(t, os.Mkdir(bin, 0o755))
	require.NoError(t, os.WriteFile(config, []byte("[user]\n\tname = Kim\n\temail = kim@example.org\n[init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n"), 0o644))
	harness.WriteProgram(t, filepath.Join(bin, "git"), deadlyGit)
	r.env = []string{"GIT_CONFIG_GLOBAL=" + config, "GIT_CONFIG_NOSYSTEM=1"}
	r.git(r.dir, "init", "-q")
	for _, name := range []string{"a.txt", "b.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, name), []byte("one\n"), 0o644))
	}
	r.git(r.dir, "add", "-A")
	r.git(r.dir, "commit", "-q", "-m", "first")
	r.ok("init", "--no-agents", "--here")
	r.ok("objective", "create", "Hold", "--id", "goal")
	r.ok("spawn", "--code", "--intent", "Lead", "--id", "lead")
	r.ok("spawn", "--code", "--intent", "Api", "--id", "api", "--parent", "lead")
	r.write("api", map[string]string{"plan.md": "the plan\n"})
	for name, text := range map[string]string{"a.txt": "two\n", "new/c.txt": "new\n"} {
		path := filepath.Join(r.worktrees, "api", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	r.git(filepath.Join(r.worktrees, "api"), "add", "-A")
	r.git(filepath.Join(r.worktrees, "api"), "commit", "-q", "-m", "api")
	// Local work, which nothing may touch.
	require.NoError(t, os.WriteFile(filepath.Join(r.worktrees, "lead", "b.txt"), []byte("local\n"), 0o644))
	return r
}

// again returns a function that brings everything back to what it is now.
func (r *repository) again() func() {
	r.t.Helper()
	kept := r.t.TempDir()
	both := []string{r.dir, r.worktrees}
	for _, dir := range both {
		require.NoError(r.t, os.CopyFS(filepath.Join(kept, filepath.Base(dir)), os.DirFS(dir)))
	}
	return func() {
		r.t.Helper()
		for _, dir := range both {
			require.NoError(r.t, os.RemoveAll(dir))
			require.NoError(r.t, os.CopyFS(dir, os.DirFS(filepath.Join(kept, filepath.Base(dir)))))
		}
	}
}

// git runs the real git.
func (r *repository) git(dir string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), r.env...)
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "git %v: %s", args, out)
	return strings.TrimSuffix(string(out), "\n")
}

// killed runs a call in which git kills leslie, and reports whether it came to that.
func (r *repository) killed(n int, when string, args ...string) bool {
	r.t.Helper()
	require.NoError(r.t, os.RemoveAll(r.counter))
	s := r.command(args...)
	for i, entry := range s.Env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			s.Env[i] = "PATH=" + filepath.Join(filepath.Dir(r.dir), "bin") + string(filepath.ListSeparator) + path
			s.Env = append(s.Env, "REALPATH="+path)
		}
	}
	s.Env = append(s.Env, "COUNTER="+r.counter, fmt.Sprint("KILL=", n), "WHEN="+when)
	err := s.Run()
	return err != nil && s.ProcessState.ExitCode() < 0
}

// checkLanded checks that the merge is there once, as a whole, and nothing else changed.
func (r *repository) checkLanded(what string) {
	r.t.Helper()
	lead := filepath.Join(r.worktrees, "lead")
	assert.Equal(r.t, "1", r.git(lead, "rev-list", "--count", "--merges", "HEAD"), what)
	assert.Equal(r.t, " M b.txt", r.git(lead, "status", "--porcelain"), what)
	assert.FileExists(r.t, filepath.Join(lead, "new", "c.txt"), what)
	assert.Equal(r.t, map[string]string{"plan.md": "the plan\n"}, r.artifacts("lead"), what)
	if left := r.git(r.dir, "for-each-ref", "--format=%(objectname)", "refs/leslie/pending"); left != "" { // it keeps only what the branch has
		assert.Equal(r.t, left, r.git(lead, "rev-parse", "HEAD"), what)
	}
	var status struct {
		Code struct {
			Landed []struct{ Commit string } `json:"landed"`
		} `json:"code"`
	}
	r.ok("status", "api").into(r.t, &status)
	require.Len(r.t, status.Code.Landed, 1, what)
	assert.Equal(r.t, r.git(lead, "rev-parse", "HEAD"), status.Code.Landed[0].Commit, what)
	r.ok("doctor")
}

// TestAKilledMergeOfCodeIsFinished kills leslie before and after each git that a merge
// starts, and lets the next call finish it.
func TestAKilledMergeOfCodeIsFinished(t *testing.T) {
	t.Parallel()
	each := orInShort(1, 9)
	kills := 0
	r := newRepository(t)
	again := r.again()
	for _, when := range []string{"before", "after"} {
		for n := 1; ; n += each {
			again()
			killed := r.killed(n, when, "merge", "--sources", "api", "--target", "lead")
			what := fmt.Sprint(when, " git ", n)
			var pending struct {
				Items []struct {
					MergeID string `json:"mergeId"`
				} `json:"items"`
			}
			if n%2 == 0 {
				r.ok("doctor", "--repair")
			}
			r.ok("merge", "list").into(t, &pending)
			if len(pending.Items) > 0 {
				r.ok("merge", "continue", pending.Items[0].MergeID)
			} else {
				r.ok("merge", "--sources", "api", "--target", "lead")
			}
			r.checkLanded(what)
			if !killed {
				break
			}
			kills++
		}
	}
	t.Logf("merges killed: %d", kills)
	assert.Positive(t, kills)
}

// TestDoctorSettlesAKilledLanding: files that a landing half wrote are put back, and a
// landing that no record knows is recorded; twice is once.
func TestDoctorSettlesAKilledLanding(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	lead := filepath.Join(r.worktrees, "lead")
	require.True(t, r.killed(0, "half", "merge", "--sources", "api", "--target", "lead"))
	content := func() string {
		text, err := os.ReadFile(filepath.Join(lead, "a.txt"))
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, "tw", content())
	var found struct {
		Findings []struct {
			Code       string `json:"code"`
			Message    string `json:"message"`
			Repairable bool   `json:"repairable"`
		} `json:"findings"`
	}
	sick, err := r.try("doctor")
	require.NoError(t, err)
	sick.into(t, &found)
	require.Len(t, found.Findings, 2)
	assert.Equal(t, "W505", found.Findings[0].Code) // that others waited for it
	assert.Equal(t, "T806", found.Findings[1].Code)
	assert.Contains(t, found.Findings[1].Message, "was killed while it wrote files")
	assert.True(t, found.Findings[1].Repairable)
	r.ok("doctor", "--repair")
	assert.Equal(t, "one\n", content())
	assert.Equal(t, " M b.txt", r.git(lead, "status", "--porcelain"))
	r.ok("doctor")
	// The merge is pending, and lands when it is continued.
	require.True(t, r.killed(0, "landed", "merge", "continue", r.pending()[0]))
	require.Equal(t, "1", r.git(lead, "rev-list", "--count", "--merges", "HEAD"))
	require.Len(t, r.pending(), 1, "it was killed between git and its record")
	sick, err = r.try("doctor")
	require.NoError(t, err)
	sick.into(t, &found)
	require.Len(t, found.Findings, 2)
	assert.Contains(t, found.Findings[1].Message, "its process was killed then")
	r.ok("doctor", "--repair")
	assert.Empty(t, r.pending())
	r.checkLanded("after doctor")
}

// pending returns the ids of the pending merges.
func (r *repository) pending() (ids []string) {
	r.t.Helper()
	var list struct {
		Items []struct {
			MergeID string `json:"mergeId"`
		} `json:"items"`
	}
	r.ok("merge", "list").into(r.t, &list)
	for _, m := range list.Items {
		ids = append(ids, m.MergeID)
	}
	return ids
}

// TestAKilledUndoOfCodeIsFinished does the same with an undo.
func TestAKilledUndoOfCodeIsFinished(t *testing.T) {
	t.Parallel()
	each := orInShort(1, 9)
	r := newRepository(t)
	r.ok("merge", "--sources", "api", "--target", "lead")
	again := r.again()
	for _, when := range []string{"before", "after"} {
		for n := 1; ; n += each {
			again()
			killed := r.killed(n, when, "undo")
			what := fmt.Sprint(when, " git ", n)
			if killed {
				r.ok("undo")
			}
			lead := filepath.Join(r.worktrees, "lead")
			assert.Equal(t, " M b.txt", r.git(lead, "status", "--porcelain"), what)
			assert.NoFileExists(t, filepath.Join(lead, "new", "c.txt"), what)
			assert.Empty(t, r.artifacts("lead"), what)
			assert.Equal(t, r.git(r.dir, "rev-parse", "main"), r.git(lead, "rev-parse", "HEAD"), what)
			r.ok("merge", "--sources", "api", "--target", "lead")
			r.checkLanded(what)
			if !killed {
				break
			}
		}
	}
}

// together runs several calls at once, and requires that all succeed.
func (r *repository) together(calls ...[]string) (answers []answer) {
	r.t.Helper()
	var all []*started
	for _, args := range calls {
		all = append(all, r.start(args...))
	}
	for _, s := range all {
		a, err := s.end()
		require.NoError(r.t, err)
		require.Nil(r.t, a.Error, "%s: %s", a.line, a.stderr)
		answers = append(answers, a)
	}
	return answers
}

// TestMergesOfCodeAtOnceAllLand: calls that land at the same time wait for each other, also
// into one branch; so do those that take it back.
func TestMergesOfCodeAtOnceAllLand(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	threads := []string{"one", "two", "three", "four"}[:orInShort(4, 2)]
	var into, across, back [][]string
	for _, id := range threads {
		r.ok("spawn", "--code", "--intent", id, "--id", id, "--parent", "lead")
		r.ok("spawn", "--code", "--intent", id, "--id", "of-"+id)
		dir := filepath.Join(r.worktrees, id)
		require.NoError(t, os.WriteFile(filepath.Join(dir, id), []byte(id+"\n"), 0o644))
		r.git(dir, "add", "-A")
		r.git(dir, "commit", "-q", "-m", id)
		across = append(across, []string{"merge", "--sources", id, "--target", "of-" + id})
		into = append(into, []string{"merge", "--sources", id, "--target", "lead"})
	}
	var history struct {
		Items []struct {
			Seq         int64  `json:"seq"`
			OperationID string `json:"operationId"`
		} `json:"items"`
	}
	merged := r.together(across...)
	r.ok("history", "--limit", "0").into(t, &history)
	for i, a := range merged {
		assert.FileExists(t, filepath.Join(r.worktrees, "of-"+threads[i], threads[i]))
		for _, op := range history.Items {
			if op.Seq == *a.Revision {
				back = append(back, []string{"undo", op.OperationID})
			}
		}
	}
	require.Len(t, back, len(threads))
	r.together(back...)
	r.together(into...)
	lead := filepath.Join(r.worktrees, "lead")
	assert.Equal(t, fmt.Sprint(len(threads)), r.git(lead, "rev-list", "--count", "--first-parent", "--merges", "HEAD"))
	assert.Equal(t, " M b.txt", r.git(lead, "status", "--porcelain"))
	for _, id := range threads {
		assert.FileExists(t, filepath.Join(lead, id))
		assert.NoFileExists(t, filepath.Join(r.worktrees, "of-"+id, id))
	}
	r.requireHealthy()
}
