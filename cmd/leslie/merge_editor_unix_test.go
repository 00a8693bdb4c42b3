//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An editor that draws a screen refuses to work, or draws it wrongly, if one of its
// streams is no terminal.
func TestAnEditorHasTheTerminal(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	editor := script(t, b, "editor", `for stream in 0 1 2; do test -t $stream && echo "$stream is a terminal" >> "$1.new"; done; mv "$1.new" "$1"`)
	shown, status := typing(t, b, []string{noColours, "EDITOR=" + editor}, []string{"edit", "ours", "y"}, "merge", "child", "main")
	assert.Zero(t, status, shown)
	assert.Equal(t, "one\n0 is a terminal\n1 is a terminal\n2 is a terminal\nthree\nfour of main\nfive\n", planOf(t, b))
}

// The answer is for a file, the dialogue for the person.
func TestAnEditorHasTheTerminalWhileTheAnswerGoesToAFile(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	editor := script(t, b, "editor", `test -t 0 && test -t 1 && test -t 2 && echo edited > "$1"`)
	s := openTerminal(t, b, 100, 40, noColours, "EDITOR="+editor)
	cmd := b.shell(t, "sh", "-c", `leslie merge child main > answer`)
	cmd.Env = append(cmd.Env, s.env...)
	s.startProcess(cmd)
	s.waitFor(askChoice)
	s.send("edit\r")
	s.waitFor("plan.md 1/2: edited")
	s.waitFor(askChoice)
	s.send("ours\r")
	s.waitFor(askReview)
	s.send("yes\r")
	assert.NoError(t, s.waits())
	assert.Equal(t, "one\nedited\nthree\nfour of main\nfive\n", planOf(t, b))
}

// Real editors, where they are installed.
func TestPersonsEditInTheirEditor(t *testing.T) {
	t.Parallel()
	editors := []struct{ name, shows, keys string }{
		{"vi", "<<<<<<<", ":%d\ri" + "edited\x1b:wq\r"},
		{"nano", "GNU nano", "edited \x0f\r\x18"},
		{"emacs -nw -Q", "plan.md", "\x1b<edited \x18\x13\x18\x03"},
	}
	for _, editor := range editors {
		t.Run(editor.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(strings.Fields(editor.name)[0]); err != nil {
				t.Skipf("%s is not installed", editor.name)
			}
			b := diverged(t)
			s := openTerminal(t, b, 100, 40, noColours, "EDITOR="+editor.name)
			s.start("merge", "child", "main")
			s.waitFor(askChoice)
			s.send("edit\r")
			s.waitFor(editor.shows)
			s.send(editor.keys)
			s.waitFor("plan.md 1/2")
			written, _, _ := s.look()
			assert.NotContains(t, written, "did not finish")
			s.send("quit\r")
			assert.Error(t, s.waits())
		})
	}
}

// The message of a landing is edited as that of a commit: what there would be without one, in the
// person's editor, on the terminal; an empty one ends it.
func TestTheMessageOfALandingIsEdited(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.repository(t)
	b.must(t, "spawn", "--code", "Say hello", "--id", "hello")
	tree := b.Dir + ".worktrees/hello"
	b.git(t, "-C", tree, "-c", "user.name=kim", "-c", "user.email=kim@example.org", "commit", "-q", "--allow-empty", "-m", "one")
	require.NoError(t, os.WriteFile(filepath.Join(tree, "hello.txt"), []byte("hello\n"), 0o644))
	b.git(t, "-C", tree, "add", "hello.txt")
	b.git(t, "-C", tree, "-c", "user.name=kim", "-c", "user.email=kim@example.org", "commit", "-q", "-m", "two")

	shown, status := typing(t, b, []string{noColours, "EDITOR=true"}, nil, "land", "hello", "--edit", "--message", " ")
	assert.NotZero(t, status, shown)
	emptied := script(t, b, "emptied", `: > "$1"`)
	shown, status = typing(t, b, []string{noColours, "EDITOR=" + emptied}, nil, "land", "hello", "--edit")
	assert.Equal(t, 2, status, shown)
	assert.Contains(t, shown, "the message is empty, so nothing landed")

	editor := script(t, b, "editor", `test -t 1 && sed 's/Say hello/Greet/' "$1" > "$1.new" && echo because >> "$1.new" && mv "$1.new" "$1"`)
	shown, status = typing(t, b, []string{noColours, "EDITOR=" + editor}, nil, "land", "hello", "--edit")
	assert.Zero(t, status, shown)
	cmd := exec.Command("git", "-C", b.Dir, "log", "-1", "--format=%B", "main")
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Regexp(t, "^Greet\nbecause\n\nThread: hello\n", string(out))
}
