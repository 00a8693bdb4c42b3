package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// codeWalk is a random history of a thread's branch and of main, by leslie and by git.
type codeWalk struct {
	*bench
	t    *testing.T
	r    *rand.Rand
	next int
	log  []string
}

func newCodeWalk(t *testing.T, seed uint64) *codeWalk {
	w := &codeWalk{bench: newBench(t), t: t, r: rand.New(rand.NewPCG(seed, 2))}
	w.run(w.Dir, "init", "-q", "-b", "main")
	for key, value := range map[string]string{"user.name": "kim", "user.email": "kim@example.org", "gc.auto": "0"} {
		w.run(w.Dir, "config", key, value)
	}
	for i := range 4 {
		w.file(w.Dir, i, strings.Repeat("line\n\n", 4))
	}
	w.run(w.Dir, "add", ".")
	w.run(w.Dir, "commit", "-q", "-m", "first")
	w.must(t, "init", "--no-agents")
	w.must(t, "objective", "create", "Goal", "--id", "goal")
	w.must(t, "spawn", "--title", "Stays", "--intent", "keeps the objective open", "--id", "stays", "--objective", "goal")
	w.must(t, "spawn", "--code", "Work", "--id", "work", "--objective", "goal")
	return w
}

func (w *codeWalk) worktree() string { return filepath.Join(w.Dir+".worktrees", "work") }

func (w *codeWalk) file(dir string, i int, content string) {
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), []byte(content), 0o644))
}

// git runs git and reports whether it succeeded.
func (w *codeWalk) git(dir string, args ...string) (string, bool) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_EDITOR=true", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	w.log = append(w.log, fmt.Sprintf("%v  git %s", err == nil, strings.Join(args, " ")))
	return strings.TrimSpace(string(out)), err == nil
}

func (w *codeWalk) run(dir string, args ...string) string {
	out, ok := w.git(dir, args...)
	require.True(w.t, ok, "git %v: %s", args, out)
	return out
}

// tries runs git, and gives up what it began if it fails.
func (w *codeWalk) tries(dir, giveUp string, args ...string) {
	if _, ok := w.git(dir, args...); !ok {
		if giveUp == "" {
			w.run(dir, "reset", "-q", "--hard")
			return
		}
		w.git(dir, giveUp, "--abort")
	}
}

// edit changes a line of a file or adds a file.
func (w *codeWalk) edit(dir string) {
	w.next++
	if w.r.IntN(3) == 0 {
		w.file(dir, 10+w.next, fmt.Sprintf("new %d\n", w.next))
		return
	}
	name := filepath.Join(dir, fmt.Sprintf("f%d.txt", w.r.IntN(4)))
	raw, _ := os.ReadFile(name) // git may have taken it back
	lines := strings.SplitAfter(string(raw), "\n")
	lines[w.r.IntN(len(lines))] = fmt.Sprintf("edit %d\n", w.next)
	require.NoError(w.t, os.WriteFile(name, []byte(strings.Join(lines, "")), 0o644))
}

func (w *codeWalk) commit(dir string) {
	w.edit(dir)
	w.run(dir, "add", ".")
	w.git(dir, "commit", "-q", "-m", fmt.Sprintf("commit %d", w.next))
}

func (w *codeWalk) say(line ...string) int {
	status := w.leslie(append(line, "--format", "json")...)
	w.log = append(w.log, fmt.Sprintf("%d  leslie %s", status, strings.Join(line, " ")))
	return status
}

// content has every blob of the thread's branch, and of what is not committed in its worktree.
func (w *codeWalk) content() map[string]string {
	out := map[string]string{}
	if list, ok := w.git(w.Dir, "rev-list", "--objects", "leslie/work"); ok {
		for line := range strings.Lines(list) {
			object, path, _ := strings.Cut(strings.TrimSpace(line), " ")
			out[object] = path
		}
	}
	if changed, ok := w.git(w.worktree(), "status", "--porcelain"); ok {
		for line := range strings.Lines(changed) {
			name := strings.TrimSpace(line)
			_, name, _ = strings.Cut(name, " ")
			if object, ok := w.git(w.worktree(), "hash-object", strings.TrimSpace(name)); ok {
				out[object] = "not committed: " + name
			}
		}
	}
	return out
}

// keeps checks that each of the blobs is on a branch, under a ref of leslie, or in the worktree.
func (w *codeWalk) keeps(before map[string]string) {
	now := w.content()
	for line := range strings.Lines(w.run(w.Dir, "rev-list", "--objects", "--all")) {
		object, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		now[object] = ""
	}
	for object, path := range before {
		if _, ok := now[object]; !ok {
			require.Fail(w.t, "content is gone", "%s (%s)\n%s", object, path, strings.Join(w.log, "\n"))
		}
	}
}

// leslieEnds lets leslie end work, and looks for all of it.
func (w *codeWalk) leslieEnds(line ...string) (status int) {
	before := w.content()
	if status = w.say(line...); status == 13 {
		w.say("merge", "abort", w.answer("error", "details", "mergeId"))
	}
	w.keeps(before)
	return status
}

func (w *codeWalk) answer(path ...string) string {
	var found any
	require.NoError(w.t, json.Unmarshal(w.out.Bytes(), &found))
	for _, key := range path {
		inner, _ := found.(map[string]any)
		found = inner[key]
	}
	text, _ := found.(string)
	return text
}

func (w *codeWalk) land() {
	line := []string{"land", "work", []string{"--merge", "--squash", "--rebase"}[w.r.IntN(3)]}
	if w.r.IntN(3) == 0 {
		line = append(line, "--keep")
	}
	if w.r.IntN(2) == 0 {
		line = append(line, "--uncommitted", "take")
	}
	w.leslieEnds(line...)
	switch w.r.IntN(4) {
	case 0, 1:
		w.leslieEnds("undo")
	case 2: // somebody takes it back
		w.tries(w.Dir, "", "reset", "-q", "--hard", "HEAD~1")
	}
}

func (w *codeWalk) step() {
	if _, err := os.Stat(w.worktree()); err != nil {
		if w.leslieEnds("code", "restore", "work") != 0 {
			w.leslieEnds("undo")
			return
		}
		w.say("reopen", "work")
	}
	wt := w.worktree()
	switch w.r.IntN(14) {
	case 0, 1, 2:
		w.commit(wt)
	case 3, 4:
		w.commit(w.Dir)
	case 5:
		w.tries(wt, "merge", "merge", "-q", "--no-edit", "main")
	case 6:
		w.tries(w.Dir, "", "merge", "-q", "--squash", "leslie/work")
		w.git(w.Dir, "commit", "-q", "-m", "squash")
	case 7:
		w.tries(w.Dir, "cherry-pick", "cherry-pick", "leslie/work")
	case 8:
		w.tries(w.Dir, "revert", "revert", "--no-edit", "HEAD")
	case 9:
		w.tries(wt, "rebase", "rebase", "-q", "main")
	case 10:
		w.edit(wt)
	case 11:
		w.land()
	case 12:
		w.leslieEnds("done", "work", "--uncommitted", "leave", "--no-commits")
		w.leslieEnds("code", "prune")
		w.say("reopen", "work")
	default:
		w.tries(w.Dir, "", "reset", "-q", "--hard", "HEAD~1")
	}
}

// LESLIE_WALKS=n makes n walks from a random seed on, or from LESLIE_WALK_SEED.
func TestNothingIsLostWhateverHistoryCodeHas(t *testing.T) {
	t.Parallel()
	walks, seed := 40, uint64(1)
	if testing.Short() {
		walks = 6
	}
	if n, err := strconv.Atoi(os.Getenv("LESLIE_WALKS")); err == nil {
		walks, seed = n, rand.Uint64()
	}
	if n, err := strconv.ParseUint(os.Getenv("LESLIE_WALK_SEED"), 10, 64); err == nil {
		seed = n
	}
	for i := range walks {
		t.Run(strconv.FormatUint(seed+uint64(i), 10), func(t *testing.T) {
			t.Parallel()
			w := newCodeWalk(t, seed+uint64(i))
			for range 16 {
				w.step()
			}
			w.git(w.worktree(), "add", ".")
			w.git(w.worktree(), "commit", "-q", "-m", "last")
			w.say("reopen", "work")
			if w.leslieEnds("land", "work") == 0 && strings.Contains(w.out.String(), `"status":"merged"`) {
				_, err := os.Stat(w.worktree())
				assert.ErrorIs(t, err, os.ErrNotExist, "what has landed goes: %s\n%s", w.out.String(), strings.Join(w.log, "\n"))
			}
			w.leslieEnds("drop", "work", "--yes")
			assert.NoDirExists(t, w.worktree(), w.out.String())
			_, branch := w.git(w.Dir, "rev-parse", "-q", "--verify", "refs/heads/leslie/work")
			assert.False(t, branch, strings.Join(w.log, "\n"))
			w.must(t, "doctor", "--format", "json")
			assert.Contains(t, w.out.String(), `"healthy":true`)
		})
	}
}
