//go:build unix

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shell returns a shell as a process in the project, or skips the test.
func (b *bench) shell(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	cmd := process(t, b, []string{"TERM=xterm-256color", b.clock()})
	cmd.Path, cmd.Args = path, append([]string{name}, args...)
	return cmd
}

// A person types the beginning of a word and presses the tab key.
func TestShellsCompleteLines(t *testing.T) {
	t.Parallel()
	shells := []struct{ name, prepare string }{
		{"bash --norc --noprofile -i", "source <(leslie completion bash)"},
		{"zsh -f -i", "autoload -Uz compinit; compinit -u -D; source <(leslie completion zsh)"},
	}
	for _, shell := range shells {
		t.Run(shell.name, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			b.must(t, "spawn", "--title", "Write: the \"lexer\"", "--intent", "x", "--id", "lexer")
			b.must(t, "spawn", "--title", "Write the parser", "--intent", "x", "--id", "parser")
			words := strings.Fields(shell.name)
			s := openTerminal(t, b, 100, 24)
			s.startProcess(b.shell(t, words[0], words[1:]...))
			s.send("PS1='> '; " + shell.prepare + "; echo set-$((1+1))\r")
			s.waitFor("set-2")
			s.send("leslie statu\t")
			s.waitFor("s ")
			s.send("\x15leslie status lex\t")
			s.waitFor("leslie status lexer ")
			s.send("--form\t")
			s.waitFor("--format ")
			s.send("js\t")
			s.waitFor("json ")
			s.send("\x15leslie status par\t\t")
			s.waitFor("Write the parser")
			s.send("\x15exit\r")
			require.NoError(t, s.waits())
		})
	}
}

// Fish says itself what it would offer, with what each is about.
func TestFishCompletesLines(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "spawn", "--title", "Write: the \"lexer\"", "--intent", "x", "--id", "lexer")
	for line, want := range map[string]string{
		"leslie status lex":           "lexer\tWrite: the \"lexer\"\n",
		"leslie statu":                "status\tshow a thread, or without an id a summary: what waits for you, what agents did\n",
		"leslie status lexer --forma": "--format\thow to answer\n",
		"leslie -C . --format js":     "json\n",
		"leslie objective sta":        "status\tshow one objective\n",
	} {
		cmd := b.shell(t, "fish", "--no-config", "-c", "leslie completion fish | source; complete -C '"+line+"'")
		out, err := cmd.Output()
		require.NoError(t, err)
		assert.Equal(t, want, string(out), line)
	}
}
