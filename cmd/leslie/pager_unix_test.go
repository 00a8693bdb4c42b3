//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newLongProject returns a project whose list has more lines than the screens of these
// tests.
func newLongProject(t *testing.T) *bench {
	t.Helper()
	b := newProject(t)
	var lines strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lines, `["spawn", "--intent", "Thread %d", "--id", "t%03d"]`+"\n", i, i)
	}
	b.write(t, "spawn.jsonl", lines.String())
	b.must(t, "batch", "spawn.jsonl")
	return b
}

// fakePager is a pager that says that it runs, keeps what it is given, and waits for a
// line from the terminal.
func (b *bench) fakePager(t *testing.T, then string) (command, kept string) {
	t.Helper()
	kept = filepath.Join(b.Home, "kept")
	path := script(t, b, "pager", `cat > "`+kept+`"; echo "LESS is $LESS"; read line < /dev/tty; `+then)
	return path, kept
}

func TestALongAnswerIsShownInAPager(t *testing.T) {
	t.Parallel()
	b := newLongProject(t)
	pager, kept := b.fakePager(t, "exit 3")
	for name, env := range map[string][]string{
		"leslie's own":          {"LESLIE_PAGER=" + pager, "PAGER=false"},
		"the system's":          {"PAGER=" + pager},
		"with arguments":        {"LESLIE_PAGER='" + pager + "' --any thing"},
		"with settings of less": {"LESLIE_PAGER=" + pager, "LESS=X"},
	} {
		s := openTerminal(t, b, 80, 24, env...)
		if len(env) == 1 && strings.HasPrefix(env[0], "PAGER") {
			s.env = withoutVariable(s.env, "LESLIE_PAGER")
		}
		s.start("list")
		want := "LESS is FRX"
		if name == "with settings of less" {
			want = "LESS is X"
		}
		s.waitFor(want + "\n")
		s.send("\r")
		assert.Zero(t, s.wait(), "%s: how the pager ends does not matter", name)
		shown, err := os.ReadFile(kept)
		require.NoError(t, err)
		assert.Equal(t, 33, strings.Count(string(shown), "\n"), name)
		assert.Contains(t, string(shown), "\x1b[38;5;243mTHREAD\x1b[0m", "%s: with colours", name)
		assert.NotContains(t, strings.Join(s.lines(), "\n"), "t000", "%s: not printed twice", name)
		require.NoError(t, os.Remove(kept))
	}
}

func withoutVariable(env []string, key string) (out []string) {
	for _, pair := range env {
		if !strings.HasPrefix(pair, key+"=") {
			out = append(out, pair)
		}
	}
	return out
}

func TestNobodyElseGetsAPager(t *testing.T) {
	t.Parallel()
	b := newLongProject(t)
	pager, kept := b.fakePager(t, "")
	own := "LESLIE_PAGER=" + pager
	tests := map[string]struct {
		rows int
		env  []string
		args []string
	}{
		"an answer that fits":     {40, []string{own}, []string{"list"}},
		"an agent":                {24, []string{own, "CLAUDECODE=1"}, []string{"list"}},
		"acting as agent":         {24, []string{own}, []string{"list", "--as", "agent"}},
		"--no-pager":              {24, []string{own}, []string{"list", "--no-pager"}},
		"--no-input":              {24, []string{own}, []string{"list", "--no-input"}},
		"JSON":                    {24, []string{own}, []string{"list", "--format", "json"}},
		"cat":                     {24, []string{"LESLIE_PAGER=cat", "PAGER=" + pager}, []string{"list"}},
		"none":                    {24, []string{"LESLIE_PAGER=", "PAGER=" + pager}, []string{"list"}},
		"one that does not exist": {24, []string{"LESLIE_PAGER=leslie-no-such-pager"}, []string{"list"}},
		"no command line":         {24, []string{"LESLIE_PAGER='"}, []string{"list"}},
	}
	for name, tt := range tests {
		s := openTerminal(t, b, 80, tt.rows, tt.env...)
		s.start(tt.args...)
		s.waitFor("t029")
		assert.Zero(t, s.wait(), name)
	}
	assert.NoFileExists(t, kept)
	s := openTerminal(t, b, 80, 24, own)
	cmd := process(t, b, s.env, "list")
	out, err := cmd.Output()
	require.NoError(t, err, "a pipe")
	assert.Contains(t, string(out), "t029")
}

func TestCtrlCInAPagerIsForThePager(t *testing.T) {
	t.Parallel()
	b := newLongProject(t)
	caught := filepath.Join(b.Home, "caught")
	// All that has to happen after Ctrl-C is in the trap: it may run before wait begins.
	pager := script(t, b, "pager", `trap 'touch "`+caught+`"; echo caught; kill $!; read line < /dev/tty; exit 0' INT; cat > /dev/null; sleep 1000 & echo ready; wait`)
	s := openTerminal(t, b, 80, 24, "LESLIE_PAGER="+pager)
	s.start("list")
	s.waitFor("ready")
	s.interrupt()
	s.waitFor("caught")
	s.send("\r")
	assert.Zero(t, s.wait())
	assert.FileExists(t, caught)
}

func TestAPagerThatIsLeftEarlyIsNoError(t *testing.T) {
	t.Parallel()
	b := newLongProject(t)
	s := openTerminal(t, b, 80, 24, "LESLIE_PAGER="+script(t, b, "pager", "exit 0"))
	b.write(t, ".leslie/threads/main/long.md", strings.Repeat("more than a pipe holds\n", 10_000))
	for _, args := range [][]string{{"list"}, {"show", "main:long.md"}} {
		s.start(args...)
		assert.Zero(t, s.wait(), "%s", args)
	}
	assert.Empty(t, s.lines(), "nothing is printed after it")
}

// TestLessShowsAPageAndLeaves uses the pager that people have.
func TestLessShowsAPageAndLeaves(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("less"); err != nil {
		t.Skip("less is missing")
	}
	b := newLongProject(t)
	s := openTerminal(t, b, 80, 12)
	s.env = withoutVariable(s.env, "LESLIE_PAGER")
	s.start("list")
	s.waitFor("\n:")
	assert.True(t, strings.HasPrefix(s.lines()[0], "THREAD"), "%q", s.lines())
	assert.Equal(t, "dim", s.style("THREAD"))
	s.send("q")
	assert.Zero(t, s.wait())
}
