//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These tests interrupt a call that has already recorded something.

// assertTellsWhatStands asserts that an interrupted call reports what it has recorded.
func assertTellsWhatStands(t *testing.T, shown string) {
	t.Helper()
	assert.NotContains(t, shown, "before it had changed anything")
	assert.NotContains(t, shown, "Nothing was changed")
	assert.Contains(t, shown, "changed=true")
}

// running starts a merge whose agent waits, and returns when the agent runs.
func running(t *testing.T, b *bench, args ...string) (end func(os.Signal) (answer, int)) {
	t.Helper()
	fifo := filepath.Join(b.Home, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	agent := script(t, b, "agent", "echo > "+fifo+"\nread forever < "+fifo+"\n")
	cmd := process(t, b, []string{"TMPDIR=" + b.Home}, append(args, "--agent", agent, "--format", "json")...)
	var out bytes.Buffer
	cmd.Stdout = &out
	require.NoError(t, cmd.Start())
	_, err := os.ReadFile(fifo) // the agent runs
	require.NoError(t, err)
	return func(s os.Signal) (answer, int) {
		require.NoError(t, cmd.Process.Signal(s))
		status := exitStatus(t, cmd.Wait())
		return document(t, out.Bytes()), status
	}
}

func TestAnInterruptedMergeNamesTheMergeThatStands(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	end := running(t, b, "merge", "--sources", "child", "--target", "main", "--conflict-strategy", "agent-first")
	a, status := end(syscall.SIGTERM)
	assert.Equal(t, 130, status)
	require.NotNil(t, a.Error)
	assert.Equal(t, "T904", a.Error.Code)
	assert.Equal(t, true, a.Error.Details["changed"])
	assert.NotContains(t, a.Error.Message+a.Error.Hint, "changed")
	assert.Contains(t, a.Error.Hint, "stays pending")
	assert.False(t, *a.Error.Retryable, "a call that has written is not told to be repeated")
	id, _ := a.Error.Details["mergeId"].(string)
	require.NotEmpty(t, id)
	assert.Equal(t, []string{"leslie merge status " + id, "leslie merge continue " + id}, a.Error.Next)
	b.must(t, strings.Fields(a.Error.Next[0])[1:]...)
}

// Interrupting merge continue does not change the pending merge: the same call can be
// repeated.
func TestAnInterruptedContinueMayBeRepeated(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	assert.Equal(t, 13, b.leslie("merge", "--sources", "child", "--target", "main", "--conflict-strategy", "agent-first", "--format", "json"))
	id, _ := document(t, b.out.Bytes()).Error.Details["mergeId"].(string)
	a, status := running(t, b, "merge", "continue", id)(os.Interrupt)
	assert.Equal(t, 130, status)
	require.NotNil(t, a.Error)
	assert.Equal(t, false, a.Error.Details["changed"])
	assert.Equal(t, id, a.Error.Details["mergeId"])
	assert.Contains(t, a.Error.Hint, "stays pending")
	assert.True(t, *a.Error.Retryable)
}

func TestAnInterruptAtAPromptSaysWhatStands(t *testing.T) {
	t.Parallel()
	t.Run("merge", func(t *testing.T) {
		t.Parallel()
		d := converse(t, diverged(t), "merge", "--sources", "child", "--target", "main")
		d.until(askChoice, 1)
		d.types("theirs\n")
		d.until(askChoice, 2)
		interrupt(t, d.terminal)
		shown, status := d.end()
		assert.Equal(t, 130, status, shown)
		assert.Contains(t, shown, "interrupted; the merge is left pending; go on with leslie merge continue merge-")
		assert.NotContains(t, shown, "error")
	})
	t.Run("approve", func(t *testing.T) {
		t.Parallel()
		b := newProject(t)
		b.asks(t, "main", "deploy")
		b.asks(t, "part", "deploy")
		d := converse(t, b, "approve")
		d.until(askDecision, 1)
		d.types("approve\n")
		d.until(askDecision, 2)
		interrupt(t, d.terminal)
		shown, status := d.end()
		assert.Equal(t, 130, status, shown)
		assertTellsWhatStands(t, shown)
		assert.Contains(t, shown, "leslie history\n")
	})
}

func TestAnInterruptedWaitForADecisionSaysThatTheRequestStands(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	cmd := process(t, b, nil, "transfer", "main", "--direction", "request_approval", "--scope", "deploy", "--wait")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said := make([]byte, len("leslie: appr-"))
	_, err = io.ReadFull(stderr, said)
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	rest, err := io.ReadAll(stderr)
	require.NoError(t, err)
	assert.Equal(t, 130, exitStatus(t, cmd.Wait()))
	assertTellsWhatStands(t, string(rest))
	assert.Contains(t, string(rest), "hint: The request stays open")
}

// editing is a person whose editor is open. Its file is below temp, so a test can see
// what is left.
func editing(t *testing.T, editor string) (d *dialogue, b *bench, temp string) {
	t.Helper()
	b = diverged(t)
	temp = filepath.Join(b.Home, "temp")
	require.NoError(t, os.Mkdir(temp, 0o755))
	env := []string{noColours, "TMPDIR=" + temp, "EDITOR=" + script(t, b, "editor", editor)}
	d = converseIn(t, b, env, "merge", "--sources", "child", "--target", "main")
	d.until(askChoice, 1)
	d.types("edit\n")
	d.until("the editor is open", 1)
	return d, b, temp
}

// keptText returns the only file that an editor left in the folder temp.
func keptText(t *testing.T, temp string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(temp, "*", "plan.md"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	raw, err := os.ReadFile(files[0])
	require.NoError(t, err)
	return string(raw)
}

func TestCtrlCInTheEditorIsTheEditors(t *testing.T) {
	t.Parallel()
	d, b, temp := editing(t, `trap 'echo edited > "$1"; exit 0' INT
echo the editor is open
read line
`)
	interrupt(t, d.terminal)
	d.until(askChoice, 2)
	d.types("ours\n")
	d.until(askReview, 1)
	d.types("yes\n")
	shown, status := d.end()
	assert.Zero(t, status, shown)
	assert.Equal(t, "one\nedited\nthree\nfour of main\nfive\n", planOf(t, b))
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, left, "what was taken is not kept beside")
}

func TestWhatWasTypedOutlivesItsEditor(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, d *dialogue){
		"Ctrl-C":  func(t *testing.T, d *dialogue) { interrupt(t, d.terminal) },
		"failure": func(_ *testing.T, d *dialogue) { d.types("\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, b, temp := editing(t, "echo half > \"$1\"\necho the editor is open\nread line\nexit 1\n")
			end(t, d)
			d.until(askChoice, 2)
			interrupt(t, d.terminal) // it is leslie's again
			shown, status := d.end()
			assert.Equal(t, 130, status, shown)
			assert.Contains(t, shown, "what was typed is kept in "+temp)
			assert.Equal(t, "half\n", keptText(t, temp))
			assert.Equal(t, mergeOurs, planOf(t, b))
		})
	}
}

func TestAnEditorIsAskedToEndWhenLeslieIs(t *testing.T) {
	t.Parallel()
	d, _, temp := editing(t, `trap 'echo saved > "$1"; exit 0' TERM
echo the editor is open
read line
`)
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGTERM))
	shown, status := d.end()
	assert.Equal(t, 130, status, shown)
	assert.Contains(t, shown, "what was typed is kept in "+temp)
	assert.Equal(t, "saved\n", keptText(t, temp))
}

// Closing the terminal ends leslie, and therefore its agent, which has its own session;
// with nohup leslie continues.
func TestAMergeUnderNohupOutlivesItsTerminal(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	fifo := filepath.Join(b.Home, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	agent := script(t, b, "agent", "echo > "+fifo+"\nread line < "+fifo+"\n"+bothSides)
	cmd := process(t, b, nil, "merge", "--sources", "child", "--target", "main", "--conflict-strategy", "agent-first", "--agent", agent)
	leslie := cmd.Path
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh", leslie}, cmd.Args[1:]...)
	require.NoError(t, cmd.Start())
	_, err := os.ReadFile(fifo) // the agent runs
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	require.NoError(t, os.WriteFile(fifo, []byte("on\n"), 0o600))
	assert.Zero(t, exitStatus(t, cmd.Wait()))
	assert.Equal(t, mergeBoth, planOf(t, b))
}
