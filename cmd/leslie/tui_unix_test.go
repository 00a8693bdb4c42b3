//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shows waits until the screen shows a text.
func (s *terminal) shows(text string) {
	s.t.Helper()
	for {
		_, changed, ended := s.look()
		shown := strings.Join(s.lines(), "\n")
		if strings.Contains(shown, text) {
			return
		}
		if ended {
			s.t.Fatalf("it ended without %q:\n%s", text, shown)
		}
		<-changed
	}
}

// gone waits until the screen does not show a text.
func (s *terminal) gone(text string) {
	s.t.Helper()
	for {
		_, changed, _ := s.look()
		if !strings.Contains(strings.Join(s.lines(), "\n"), text) {
			return
		}
		<-changed
	}
}

// goBack types the Enter that a line ends with which had the terminal for itself, and waits
// until the screen has the terminal again: what is typed before is edited by the terminal,
// where Ctrl-U takes all of it away.
func (s *terminal) goBack() {
	s.t.Helper()
	s.waitFor("Enter goes back")
	s.send("\r")
	for {
		s.mu.Lock()
		back, changed, ended := strings.Contains(string(s.written), "\x1b[?1049h"), s.changed, s.ended
		s.mu.Unlock()
		require.False(s.t, ended, "it ended without its screen")
		if back {
			return
		}
		<-changed
	}
}

func TestAPersonWorksFromTheScreen(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.write(t, ".leslie/threads/main/plan.md", "base\n")
	b.must(t, "spawn", "--intent", "child", "--id", "child", "--parent", "main", "--inherit", "full")
	b.write(t, ".leslie/threads/main/plan.md", "ours\n")
	b.write(t, ".leslie/threads/child/plan.md", "theirs\n")
	b.asks(t, "main", "deploy", "--reason", "it is ready")
	assert.Equal(t, 13, b.leslie("merge", "child", "main"), "it stays pending")
	s := openTerminal(t, b, 100, 30)
	s.start("tui")
	s.shows("deploy: it is ready")

	// What others do is seen at once.
	b.must(t, "spawn", "--intent", "x", "--id", "later", "--title", "A later one")
	s.shows("A later one")

	// An approval, with its reason.
	s.send("\t\ta")
	s.shows("asked by:")
	s.shows("enter sends it")
	s.send("go on\r")
	s.shows("approved")
	assert.Equal(t, map[string]string{"deploy": "approved: go on"}, b.verdicts(t))

	// A conflict, by the questions of merge. Ctrl-C ends those, and not the screen.
	s.gone("deploy: it is ready")
	s.send("c")
	s.waitFor("[?]:")
	s.send("\x03")
	s.goBack()
	s.shows("waiting for you")
	s.send("\t/child\rc") // from the thread that is merged, too
	s.waitFor("[?]:")
	s.send("no\r")
	s.waitFor("[q]uit [?]:")
	s.send("theirs\r")
	s.goBack()
	s.shows("nothing")
	s.send("/\x15\r")
	s.gone("filter: child")
	merged, err := os.ReadFile(filepath.Join(b.Dir, ".leslie/threads/main/plan.md"))
	require.NoError(t, err)
	assert.Equal(t, "theirs\n", string(merged))

	// A new thread, and any other line.
	s.send("nWrite the docs\r")
	s.shows("thread write-docs  active") // its answer: what is typed shows the text before
	s.send(":update later --title \"No longer so\"\r")
	s.goBack()
	s.shows("No longer so")

	// A message to an agent.
	s.send("/later\r")
	s.shows("filter: later")
	s.send("ji")
	s.shows("enter sends it")
	s.send("use tabs\r")
	s.shows("1 new")
	b.must(t, "context", "later", "--thread", "later", "--as", "agent", "--actor", "bot")
	assert.Contains(t, b.out.String(), "use tabs")
	s.gone("1 new")

	// A key for what is done every day, and a line that is typed again, with the selected thread.
	s.send("D")
	s.shows("y does it")
	s.send("y")
	s.shows("active -> completed")
	s.send(":status lat\t\r")
	s.goBack()
	s.shows("waiting for you")
	s.send(":\x1b[A\r")
	s.waitFor("leslie status later")
	s.goBack()
	s.shows("waiting for you")

	s.send("q")
	assert.Zero(t, s.wait())
}

func TestTheScreenNeedsAPerson(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{"an agent's marker": {"CLAUDECODE=1"}, "no prompts": {"LESLIE_NO_INPUT=1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openTerminal(t, newProject(t), 100, 30, env...)
			s.start("tui")
			assert.Equal(t, 2, s.wait())
			assert.Contains(t, strings.Join(s.lines(), "\n"), "needs a terminal, and a person")
		})
	}
	b := newProject(t)
	assert.Equal(t, 2, b.leslie("tui"))
	assert.Contains(t, b.err.String(), "next: leslie status")
}
