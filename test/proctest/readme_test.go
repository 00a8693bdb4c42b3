package proctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The README's console blocks are run line by line, and the answers are compared: the first
// two in a repository, with work in the worktrees in between, the third in a folder of its own.
func TestTheReadmeShowsRealAnswers(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.GreaterOrEqual(t, len(blocks), 3)
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "project")
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Ann\n\temail = ann@example.org\n"), 0o644))
	if _, err := exec.LookPath("git"); err == nil {
		require.NoError(t, os.Mkdir(dir, 0o755))
		shell(dir, home, "git init -q -b main && git commit -q --allow-empty -m first")
		plays(t, dir, home, blocks[0][1])
		for name, text := range map[string]string{"health": "package main\n\nfunc healthy() bool { return true }\n", "metrics": "package main\n"} {
			worktree := dir + ".worktrees/" + name
			require.NoError(t, os.WriteFile(filepath.Join(worktree, name+".go"), []byte(text), 0o644))
			shell(worktree, home, "git add . && git commit -q -m "+name)
		}
		plays(t, dir, home, blocks[1][1])
		assert.Empty(t, shell(dir, home, "git status --porcelain --untracked-files=no; git branch --list 'leslie/*'"))
	}
	alone := t.TempDir()
	shell(alone, home, "leslie init --no-agents")
	plays(t, alone, home, blocks[2][1])
}

// plays runs the lines of a console block and compares their answers.
func plays(t *testing.T, dir, home, block string) {
	t.Helper()
	var played strings.Builder
	commands := 0
	for line := range strings.Lines(block) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			commands++
			played.WriteString(line + shell(dir, home, command))
		}
	}
	require.NotZero(t, commands)
	assert.Equal(t, timeless(block), timeless(strings.ReplaceAll(played.String(), dir, "~/project")))
}

// shell runs a line as a person would, with leslie in the path. It may fail: the README
// shows errors, too.
func shell(dir, home, line string) string {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + filepath.Dir(binary) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home}
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// timeless leaves out what differs each time: times, ids, commits.
func timeless(s string) string {
	s = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`).ReplaceAllString(s, "TIME")
	s = regexp.MustCompile(`\b(obj|op)-[a-z0-9]{8}\b`).ReplaceAllString(s, "$1-ID")
	return regexp.MustCompile(`\b([0-9a-f]{40}|[0-9a-f]{12})\b`).ReplaceAllString(s, "COMMIT")
}
