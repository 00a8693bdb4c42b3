package proctest

import (
	"cmp"
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
	newPlayer().plays(t, dir, home, block)
}

// player plays the blocks of a page whose lines name ids that earlier answers had.
type player struct {
	ids   map[string]string // that leslie gave, by those that the page shows in their places
	shown *strings.Replacer // what the page shows in place of what is only so in a test
}

func newPlayer(shown ...string) *player {
	return &player{map[string]string{}, strings.NewReplacer(shown...)}
}

func (p *player) plays(t *testing.T, dir, home, block string) {
	t.Helper()
	calls := regexp.MustCompile(`(?m)^\$ .*\n`).FindAllStringIndex(block, -1)
	require.NotEmpty(t, calls)
	for i, at := range calls {
		end := len(block)
		if i+1 < len(calls) {
			end = calls[i+1][0]
		}
		line, want := block[at[0]+2:at[1]], block[at[1]:end]
		got := shell(dir, home, madeID.ReplaceAllStringFunc(line, func(id string) string { return cmp.Or(p.ids[id], id) }))
		got = p.shown.Replace(strings.ReplaceAll(strings.ReplaceAll(got, dir, "~/project"), home, "~"))
		if got != "" && !strings.HasSuffix(got, "\n") {
			got += "\n"
		}
		assert.Equal(t, timeless(want), timeless(got), line)
		shown, given := madeID.FindAllString(want, -1), madeID.FindAllString(got, -1)
		for i := range min(len(shown), len(given)) {
			p.ids[shown[i]] = given[i]
		}
	}
}

// madeID is an id that leslie makes.
var madeID = regexp.MustCompile(`\b(obj|op|q|run|merge|appr)-[a-z0-9]{8}\b`)

// shell runs a line as a person would, with leslie in the path. It may fail: the README
// shows errors, too.
func shell(dir, home, line string) string {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + filepath.Dir(binary) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "LESLIE_ACTOR=ann"}
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// timeless leaves out what differs each time: times, ids, commits.
func timeless(s string) string {
	s = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`).ReplaceAllString(s, "TIME")
	s = madeID.ReplaceAllString(s, "$1-ID")
	s = regexp.MustCompile(`\b\d+ ms\b`).ReplaceAllString(s, "N ms")
	s = regexp.MustCompile(`(?m)^(~/project\S*) +[0-9a-f]{7} `).ReplaceAllString(s, "$1 COMMIT ")
	s = regexp.MustCompile(`  +`).ReplaceAllString(s, "  ") // columns are as wide as what differs
	return regexp.MustCompile(`\b([0-9a-f]{40}|[0-9a-f]{12})\b`).ReplaceAllString(s, "COMMIT")
}
