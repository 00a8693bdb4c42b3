//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These tests merge with a person at a real pseudo-terminal.

// Versions of a file that main and its child have both changed, in two places.
const (
	mergeBase   = "one\ntwo\nthree\nfour\nfive\n"
	mergeOurs   = "one\ntwo of main\nthree\nfour of main\nfive\n"
	mergeTheirs = "one\ntwo of child\nthree\nfour of child\nfive\n"
	mergeBoth   = "one\ntwo of main\ntwo of child\nthree\nfour of main\nfour of child\nfive\n"
)

// diverged returns a project in which child and main are in conflict over plan.md.
func diverged(t *testing.T) *bench {
	t.Helper()
	b := newProject(t)
	b.write(t, ".leslie/threads/main/plan.md", mergeBase)
	b.must(t, "spawn", "--intent", "child", "--id", "child", "--parent", "main", "--inherit", "full")
	b.write(t, ".leslie/threads/main/plan.md", mergeOurs)
	b.write(t, ".leslie/threads/child/plan.md", mergeTheirs)
	return b
}

func planOf(t *testing.T, b *bench) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.Dir, ".leslie/threads/main/plan.md"))
	require.NoError(t, err)
	return string(raw)
}

// script writes a shell script and returns the command that runs it.
func script(t *testing.T, b *bench, name, text string) string {
	t.Helper()
	path := filepath.Join(b.Home, name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
	return path
}

// noColours has the screen without colours, so that a text is found in it.
const noColours = "NO_COLOR=1"

// typing runs leslie on a pseudo-terminal on which somebody types these lines, and
// returns what was shown and the exit status.
func typing(t *testing.T, b *bench, env, lines []string, args ...string) (shown string, status int) {
	t.Helper()
	cmd := process(t, b, env, args...)
	terminal, wait := startOnTerminal(t, cmd, nil)
	defer terminal.Close()
	_, err := io.WriteString(terminal, strings.Join(append(lines, ""), "\n"))
	require.NoError(t, err)
	var out bytes.Buffer
	// Linux answers EIO once the last process has left the terminal.
	if _, err := io.Copy(&out, terminal); err != nil && !errors.Is(err, syscall.EIO) {
		require.NoError(t, err)
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), exitStatus(t, wait())
}

// Questions as the terminal shows them.
const (
	askAllow  = "Conflict detected. Allow Agent to attempt auto-resolution?"
	askChoice = "[q]uit [?]:"
	askAgent  = "a[g]ent"
	askReview = "Apply it? [y]es [n]o [d]iff [l]ater [?]:"
)

// bothSides answers every conflict with both sides.
const bothSides = `grep -v -e '^<<<<<<< ' -e '^=======$' -e '^>>>>>>> ' "$MERGED" | sed '/^||||||| /,/^\(two\|four\)$/d' > text
cat text > "$MERGED"
`

func TestThePersonAtTheTerminalIsAsked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, strategy string
		agent          string // the text of its script, "" for none
		editor         string
		lines          []string
		status         int
		want           string // of plan.md
		allow, choice  int    // how often each question is asked
	}{
		{"ours and theirs", "interactive", "", "", []string{"ours", "theirs"}, 0, "one\ntwo of main\nthree\nfour of child\nfive\n", 0, 2},
		{"base and both", "interactive", "", "", []string{"base", "both"}, 0, "one\ntwo\nthree\nfour of main\nfour of child\nfive\n", 0, 2},
		{"letters", "interactive", "", "", []string{"O", "t"}, 0, "one\ntwo of main\nthree\nfour of child\nfive\n", 0, 2},
		{"a word that is none is asked again", "interactive", "", "", []string{"mine", "", "ours", "ours"}, 0, mergeOurs, 0, 4},
		{"edit", "interactive", "", "grep -q 'two of child' \"$1\" && echo edited > \"$1\"", []string{"edit", "ours"}, 0, "one\nedited\nthree\nfour of main\nfive\n", 0, 2},
		{"edit shows the sides between markers", "interactive", "", "test \"$(grep -c -e '^<<<<<<< target main plan.md 1/2' -e '^||||||| base spawn of child' -e '^=======$' -e '^>>>>>>> source child' \"$1\")\" = 4 && echo edited > \"$1\"", []string{"edit", "ours"}, 0, "one\nedited\nthree\nfour of main\nfive\n", 0, 2},
		{"an editor that saves nothing answers nothing", "interactive", "", "exit 0", []string{"edit", "theirs", "ours"}, 0, "one\ntwo of child\nthree\nfour of main\nfive\n", 0, 3},
		{"an editor that leaves markers answers nothing", "interactive", "", "echo more >> \"$1\"", []string{"edit", "theirs", "ours"}, 0, "one\ntwo of child\nthree\nfour of main\nfive\n", 0, 3},
		{"a letter that could mean two words is asked again", "interactive", "", "", []string{"b", "bo", "b", "base"}, 0, "one\ntwo of main\ntwo of child\nthree\nfour\nfive\n", 0, 4},
		{"an editor that fails answers nothing", "interactive", "", "exit 1", []string{"edit", "quit"}, 13, mergeOurs, 0, 2},
		{"skip", "interactive", "", "", []string{"skip", "theirs"}, 13, mergeOurs, 0, 2},
		{"quit", "interactive", "", "", []string{"quit"}, 13, mergeOurs, 0, 1},
		{"yes", "interactive", bothSides, "", []string{"yes"}, 0, mergeBoth, 1, 0},
		{"all", "interactive", bothSides, "", []string{"all"}, 0, mergeBoth, 1, 0},
		{"no", "interactive", bothSides, "", []string{"no", "theirs", "theirs"}, 0, mergeTheirs, 1, 2},
		{"no, then the agent after all", "interactive", bothSides, "", []string{"no", "agent"}, 0, mergeBoth, 1, 1},
		{"yes, and it declines", "interactive", "exit 1", "", []string{"yes", "ours", "ours"}, 0, mergeOurs, 1, 2},
		{"agent-first succeeds", "agent-first", bothSides, "", nil, 0, mergeBoth, 0, 0},
		{"agent-first declines", "agent-first", "exit 1", "", []string{"theirs", "theirs"}, 0, mergeTheirs, 0, 2},
		{"agent-first without an agent", "agent-first", "", "", []string{"theirs", "theirs"}, 0, mergeTheirs, 0, 2},
		{"human", "human", bothSides, "", []string{"theirs", "ours"}, 0, "one\ntwo of child\nthree\nfour of main\nfive\n", 0, 2},
		{"strict", "strict", bothSides, "", nil, 13, mergeOurs, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := diverged(t)
			args := []string{"merge", "--sources", "child", "--target", "main", "--conflict-strategy", tt.strategy}
			if tt.agent != "" {
				args = append(args, "--agent", script(t, b, "agent", tt.agent))
			}
			env := []string{noColours, "TMPDIR=" + b.Home, "EDITOR=" + script(t, b, "editor", tt.editor)}
			lines := tt.lines
			if tt.status == 0 {
				lines = append(slices.Clone(lines), "yes")
			}
			shown, status := typing(t, b, env, lines, args...)
			assert.Equal(t, tt.status, status, shown)
			assert.Equal(t, tt.want, planOf(t, b), shown)
			assert.Equal(t, tt.allow, strings.Count(shown, askAllow), shown)
			assert.Equal(t, tt.choice, strings.Count(shown, askChoice), shown)
			offered := tt.choice > 0 && tt.agent != "" && tt.strategy != "human"
			assert.Equal(t, offered, strings.Contains(shown, askAgent), "agent is offered exactly when there is one: %s", shown)
			assert.Equal(t, tt.status == 0, strings.Contains(shown, askReview), "what was decided is confirmed: %s", shown)
			if tt.allow+tt.choice > 0 {
				for _, side := range []string{"two of main", "two of child", "base: spawn of child"} {
					assert.Contains(t, shown, side)
				}
			}
			b.must(t, "merge", "list", "--format", "json")
			pending := tt.status == 13 && tt.strategy != "strict"
			assert.Equal(t, pending, strings.Contains(b.out.String(), `"total":1`), &b.out)
		})
	}
}

func TestAfterEachAnswerItIsSaidWhatWasDecided(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	env := []string{noColours, "EDITOR=" + script(t, b, "editor", "echo edited > \"$1\"")}
	shown, status := typing(t, b, env, []string{"b", "base", "e", "y"}, "merge", "--sources", "child", "--target", "main")
	assert.Zero(t, status, shown)
	for _, line := range []string{"'b' could mean base or both", "plan.md 1/2: base", "plan.md 2/2: edited"} {
		assert.Contains(t, shown, line+"\n")
	}
	assert.Equal(t, "one\ntwo\nthree\nedited\nfive\n", planOf(t, b))
}

// The editor is only for text; a modify/delete conflict has no text for which an unsaved
// buffer could be the answer.
func TestWhatIsNotTextIsNotEdited(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name               string
		base, ours, theirs string // "" for no file
		lines              []string
		edited             bool
		status             int
		want, said         string
	}{
		{"binary", "\x00base", "\x00ours", "\x00theirs", []string{"edit", "theirs"}, false, 0, "\x00theirs", "edit does not fit here: the file is not shown as text"},
		{"modify/delete, not saved", "base\n", "ours\n", "", []string{"edit", "quit"}, true, 13, "ours\n", "plan.md 1/1 stays as it was: nothing was changed in the editor"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			b.write(t, ".leslie/threads/main/plan.md", tt.base)
			b.must(t, "spawn", "--intent", "child", "--id", "child", "--parent", "main", "--inherit", "full")
			b.write(t, ".leslie/threads/main/plan.md", tt.ours)
			if tt.theirs == "" {
				require.NoError(t, os.Remove(filepath.Join(b.Dir, ".leslie/threads/child/plan.md")))
			} else {
				b.write(t, ".leslie/threads/child/plan.md", tt.theirs)
			}
			ran := filepath.Join(b.Home, "ran")
			shown, status := typing(t, b, []string{noColours, "EDITOR=" + script(t, b, "editor", "touch "+ran)}, tt.lines, "merge", "--sources", "child", "--target", "main")
			assert.Equal(t, tt.status, status, shown)
			assert.Contains(t, shown, tt.said)
			assert.Equal(t, tt.want, planOf(t, b), shown)
			_, err := os.Stat(ran)
			assert.Equal(t, tt.edited, err == nil, "the editor ran")
		})
	}
}

// TestWhatWasAnsweredIsKept: the person leaves and continues later.
func TestWhatWasAnsweredIsKept(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	shown, status := typing(t, b, []string{noColours}, []string{"theirs", "quit"}, "merge", "--sources", "child", "--target", "main")
	require.Equal(t, 13, status, shown)
	assert.Equal(t, mergeOurs, planOf(t, b))
	b.must(t, "merge", "list", "--format", "json")
	id, _ := document(t, b.out.Bytes()).Data["items"].([]any)[0].(map[string]any)["mergeId"].(string)
	shown, status = typing(t, b, []string{noColours}, []string{"ours", "yes"}, "merge", "continue", id)
	assert.Zero(t, status, shown)
	assert.Equal(t, 1, strings.Count(shown, askChoice), shown)
	assert.Equal(t, "one\ntwo of child\nthree\nfour of main\nfive\n", planOf(t, b))
}

func TestTheLineThatBeganAMergeGoesOnWithIt(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	_, status := typing(t, b, []string{noColours}, []string{"theirs", "quit"}, "merge", "child", "main")
	require.Equal(t, 13, status)
	shown, status := typing(t, b, []string{noColours}, []string{"ours", "yes"}, "merge", "child", "main")
	assert.Zero(t, status, shown)
	assert.Contains(t, shown, "the merge of child into main was pending: it goes on\n")
	assert.Equal(t, 1, strings.Count(shown, askChoice), shown)
	assert.Equal(t, "one\ntwo of child\nthree\nfour of main\nfive\n", planOf(t, b))
}

func TestWhatSomebodyElseDecidedAtAPromptStands(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	d := converse(t, b, "merge", "--sources", "child", "--target", "main")
	d.until(askChoice, 1)
	b.must(t, "merge", "list", "--format", "json")
	id, _ := document(t, b.out.Bytes()).Data["items"].([]any)[0].(map[string]any)["mergeId"].(string)
	b.must(t, "merge", "resolve", id, "--take", "both")
	d.types("ours\n")
	d.until(askReview, 1)
	d.types("yes\n")
	shown, status := d.end()
	assert.Zero(t, status, shown)
	assert.Contains(t, shown, "has been decided in the meantime")
	assert.Equal(t, 1, strings.Count(shown, askChoice), shown)
	assert.Equal(t, mergeBoth, planOf(t, b))
}

func TestNobodyIsAskedWhereNobodyIsThere(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  []string
		args []string
	}{
		{"an agent's marker", []string{"CLAUDECODE=1"}, nil},
		{"--as agent", nil, []string{"--as", "agent"}},
		{"--no-input", nil, []string{"--no-input"}},
		{"LESLIE_NO_INPUT", []string{"LESLIE_NO_INPUT=1"}, nil},
		{"JSON", nil, []string{"--format", "json"}},
	}
	for _, strategy := range []string{"interactive", "agent-first", "human", "strict"} {
		for _, tt := range tests {
			t.Run(strategy+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				b := diverged(t)
				args := append([]string{"merge", "--sources", "child", "--target", "main", "--conflict-strategy", strategy}, tt.args...)
				shown, status := typing(t, b, append([]string{noColours}, tt.env...), []string{"theirs", "theirs"}, args...)
				assert.Equal(t, 13, status, shown)
				assert.NotContains(t, shown, askChoice)
				assert.NotContains(t, shown, askAllow)
				assert.Equal(t, mergeOurs, planOf(t, b))
			})
		}
	}
}

// TestAnAgentThatFailsLeavesTheTarget: under interactive, with a person who accepts the
// agent's help and then leaves, and under agent-first.
func TestAnAgentThatFailsLeavesTheTarget(t *testing.T) {
	t.Parallel()
	const aLongTime = "1h" // for an agent that ends
	tests := []struct{ name, agent, reason, limit, waits string }{
		{"declines", "exit 1", "it declined", aLongTime, ""},
		{"fails", "exit 9", "it ended with 9", aLongTime, ""},
		{"leaves markers", "sed '/^=======/d' \"$MERGED\" > text; cat text > \"$MERGED\"", "marker", aLongTime, ""},
		{"drops a side", "cat \"$REMOTE\" > \"$MERGED\"", "of main", aLongTime, ""},
		{"edits outside", bothSides + "sed 's/^five/FIVE/' \"$MERGED\" > text; cat text > \"$MERGED\"", "outside the conflicts", aLongTime, ""},
		{"writes nothing", "exit 0", "not answered", aLongTime, ""},
		{"empties the file", ": > \"$MERGED\"", ".", aLongTime, ""},
		{"is killed", "kill -9 $$", "killed", aLongTime, schedule},
		{"asks for another try for ever", "exit 75", "75", aLongTime, schedule},
		{"hangs", "exec sleep 1000", "no answer within", "300ms", ""},
	}
	for _, strategy := range []string{"interactive", "agent-first"} {
		for _, tt := range tests {
			t.Run(strategy+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				b := diverged(t)
				lines := map[string][]string{"interactive": {"yes", "quit"}, "agent-first": {"quit"}}[strategy]
				before := tree(t, filepath.Join(b.Dir, ".leslie/threads"))
				waits := filepath.Join(b.Home, "waits")
				env := []string{noColours, testWaits + "=" + waits}
				shown, status := typing(t, b, env, lines, "merge", "--sources", "child", "--target", "main",
					"--conflict-strategy", strategy, "--agent", script(t, b, "agent", tt.agent), "--agent-timeout", tt.limit)
				assert.Equal(t, 13, status, shown)
				at := strings.Index(shown, "the agent did not resolve plan.md: ")
				require.NotEqual(t, -1, at, shown)
				assert.Contains(t, shown[at:], tt.reason)
				assert.Less(t, at, strings.Index(shown, askAgent), "at once: %s", shown)
				assert.NotContains(t, shown, "W303", "and once")
				assert.Equal(t, 1, strings.Count(shown, askAgent), "the person is asked then: %s", shown)
				assert.Equal(t, before, tree(t, filepath.Join(b.Dir, ".leslie/threads")))
				waited, _ := os.ReadFile(waits)
				assert.Equal(t, tt.waits, string(waited))
			})
		}
	}
}

// TestAnAgentsProcessesEndWithIt: a remaining child could write later. Every process of
// the agent has the pipe open, so the pipe ends with the last of them.
func TestAnAgentsProcessesEndWithIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, end, limit string }{{"at the timeout", "wait", "1s"}, {"when it has ended", "exit 1", "1h"}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := diverged(t)
			fifo := filepath.Join(b.Home, "fifo")
			require.NoError(t, syscall.Mkfifo(fifo, 0o600))
			reader, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			require.NoError(t, err)
			defer reader.Close()
			agent := script(t, b, "agent", "exec 9> "+fifo+"\necho alive >&9\nsleep 1000 &\n"+tt.end)
			status := b.leslie("merge", "--sources", "child", "--target", "main", "--conflict-strategy", "agent-first",
				"--agent", agent, "--agent-timeout", tt.limit, "--format", "json")
			require.Equal(t, 13, status, b.out.String())
			require.NoError(t, reader.SetReadDeadline(time.Now().Add(20*time.Second)))
			said, err := io.ReadAll(reader)
			require.NoError(t, err, "a process of the agent lives on")
			assert.Contains(t, string(said), "alive")
			assert.Equal(t, mergeOurs, planOf(t, b))
		})
	}
}

// TestAnInterruptEndsTheWaitForAnAnswer: the merge stays pending.
func TestAnInterruptEndsTheWaitForAnAnswer(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	cmd := process(t, b, []string{noColours}, "merge", "--sources", "child", "--target", "main")
	terminal, wait := startOnTerminal(t, cmd, nil)
	defer terminal.Close()
	var shown strings.Builder
	typed := false
	for buf := make([]byte, 4096); ; {
		n, err := terminal.Read(buf)
		shown.Write(buf[:n])
		if !typed && strings.Contains(shown.String(), askChoice) {
			typed = true
			interrupt(t, terminal)
		}
		if err != nil {
			break
		}
	}
	assert.Equal(t, 130, exitStatus(t, wait()), shown.String())
	assert.Contains(t, shown.String(), "interrupted; the merge is left pending; go on with leslie merge continue merge-")
	assert.NotContains(t, shown.String(), "error")
	assert.Equal(t, mergeOurs, planOf(t, b))
	b.must(t, "merge", "list", "--format", "json")
	assert.Contains(t, b.out.String(), `"total":1`)
}

// TestACallerThatIsCutOffFindsItsMergeAgain: leslie records the merge before it asks
// anybody.
func TestACallerThatIsCutOffFindsItsMergeAgain(t *testing.T) {
	t.Parallel()
	for sig, status := range map[syscall.Signal]int{syscall.SIGTERM: 130, syscall.SIGHUP: 130, syscall.SIGKILL: -1} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			if signal.Ignored(sig) {
				t.Skip("the tests were started without this signal, as by nohup")
			}
			b := diverged(t)
			fifo := filepath.Join(b.Home, "fifo")
			require.NoError(t, syscall.Mkfifo(fifo, 0o600))
			agent := script(t, b, "agent", "echo $$ > "+fifo+"\nread forever < "+fifo+"\n")
			cmd := process(t, b, []string{"TMPDIR=" + b.Home}, "merge", "--sources", "child", "--target", "main", "--conflict-strategy", "agent-first", "--agent", agent)
			require.NoError(t, cmd.Start())
			pid, err := os.ReadFile(fifo) // the agent runs
			require.NoError(t, err)
			require.NoError(t, cmd.Process.Signal(sig))
			_ = cmd.Wait()
			assert.Equal(t, status, cmd.ProcessState.ExitCode())
			if sig == syscall.SIGKILL { // nobody was left to end the agent
				require.NoError(t, endProcess(strings.TrimSpace(string(pid))))
			}
			assert.Equal(t, mergeOurs, planOf(t, b))
			b.must(t, "merge", "list", "--format", "json")
			assert.Contains(t, b.out.String(), `"total":1`)
			id, _ := document(t, b.out.Bytes()).Data["items"].([]any)[0].(map[string]any)["mergeId"].(string)
			b.must(t, "merge", "resolve", id, "--take", "theirs")
			b.must(t, "merge", "continue", id)
			assert.Equal(t, mergeTheirs, planOf(t, b))
		})
	}
}

func endProcess(pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	return syscall.Kill(n, syscall.SIGKILL)
}

// What somebody took back is not applied again without a question, even if nothing is open.
func TestReusedDecisionsGoToTheReview(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	shown, status := typing(t, b, []string{noColours}, []string{"theirs", "ours", "yes"}, "merge", "child", "main")
	require.Zero(t, status, shown)
	b.must(t, "undo")
	shown, status = typing(t, b, []string{noColours}, []string{"later"}, "merge", "child", "main")
	assert.Equal(t, 13, status, shown)
	assert.NotContains(t, shown, askChoice, "nothing is open")
	assert.Equal(t, 1, strings.Count(shown, askReview), shown)
	assert.Contains(t, shown, "  change  plan.md  1 theirs, 1 ours\n")
	assert.Equal(t, mergeOurs, planOf(t, b))
	shown, status = typing(t, b, []string{noColours}, []string{"no", "theirs", "yes"}, "merge", "continue")
	assert.Zero(t, status, shown)
	assert.Contains(t, shown, "decided so far: ours")
	assert.Contains(t, shown, "  change  plan.md  2 theirs\n")
	assert.Equal(t, mergeTheirs, planOf(t, b))
}
