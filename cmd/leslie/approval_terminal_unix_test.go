//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These tests decide with a person at a real pseudo-terminal.

// Questions as the terminal shows them.
const (
	askDecision = "Your decision?"
	askReason   = "Why? (may be left empty)"
	askAnyway   = "Approve it as it is now?"
	askApply    = "Apply this merge? [y]es [n]o [d]iff [l]ater [?]:"
)

// asks lets an agent ask for a capability and returns the id of the request.
func (b *bench) asks(t *testing.T, id, scope string, more ...string) string {
	t.Helper()
	b.must(t, append([]string{"transfer", id, "--direction", "request_approval", "--scope", scope, "--as", "agent", "--actor", "bot", "--format", "json"}, more...)...)
	approval, _ := document(t, b.out.Bytes()).Data["approvalId"].(string)
	require.NotEmpty(t, approval)
	return approval
}

// verdicts returns the statuses of all requests by capability, with the reason that was
// given.
func (b *bench) verdicts(t *testing.T) map[string]string {
	t.Helper()
	b.must(t, "approvals", "--all", "--format", "json")
	out := map[string]string{}
	items, _ := document(t, b.out.Bytes()).Data["items"].([]any)
	for _, item := range items {
		g, _ := item.(map[string]any)
		scope, _ := g["scope"].([]any)
		name, _ := scope[0].(string)
		status, _ := g["status"].(string)
		if why, ok := g["verdict"].(string); ok {
			status += ": " + why
		}
		out[name] = status
	}
	return out
}

func TestAPersonGoesThroughWhatWaits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		lines []string
		args  []string
		want  map[string]string
		asked int
		left  string
	}{
		{"one after the other", []string{"approve", "deny", "Not on a Friday", "later"}, nil,
			map[string]string{"deploy": "approved", "code_edit": "denied: Not on a Friday", "delete_file": "open"}, 3, "1 still open"},
		{"letters, and none of the words", []string{"a", "yes", "", "D", "", "approve"}, nil,
			map[string]string{"deploy": "approved", "code_edit": "denied", "delete_file": "approved"}, 5, "no open requests"},
		{"quit", []string{"later", "quit"}, nil,
			map[string]string{"deploy": "open", "code_edit": "open", "delete_file": "open"}, 2, "3 still open"},
		{"a reason for all", []string{"deny", "approve", "deny"}, []string{"--reason", "says Kim"},
			map[string]string{"deploy": "denied: says Kim", "code_edit": "approved: says Kim", "delete_file": "denied: says Kim"}, 3, "no open requests"},
		{"the terminal is closed", []string{"deny", "\x04"}, nil,
			map[string]string{"deploy": "open", "code_edit": "open", "delete_file": "open"}, 1, "3 still open"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			b.write(t, ".leslie/threads/main/plan.md", "plan\n")
			b.asks(t, "main", "deploy", "--reason", "ship \x1b[2J 1.2", "--timeout", "1h")
			b.asks(t, "part", "code_edit")
			b.asks(t, "main", "delete_file")
			b.write(t, ".leslie/threads/main/plan.md", "another plan\n")
			shown, status := typing(t, b, nil, tt.lines, append([]string{"approve"}, tt.args...)...)
			assert.Zero(t, status, shown)
			assert.Equal(t, tt.want, b.verdicts(t), shown)
			assert.Equal(t, tt.asked, strings.Count(shown, askDecision), shown)
			for _, text := range []string{"1 of 3", "asks for \x1b[1mdeploy", "thread: Write the parser", `reason: ship \x1b[2J 1.2`, "then block", "asked by: bot (agent)", tt.left} {
				assert.Contains(t, shown, text)
			}
			b.requireOneOperationEach(t)
			first, _, _ := strings.Cut(shown, askDecision)
			assert.Contains(t, first, "changed since it was asked for:\x1b[0m\n    plan.md\n", "what has changed is shown before the question")
		})
	}
}

// requireOneOperationEach asserts that no two decisions are one operation.
func (b *bench) requireOneOperationEach(t *testing.T) {
	t.Helper()
	b.must(t, "history", "--limit", "0", "--format", "json")
	items, _ := document(t, b.out.Bytes()).Data["items"].([]any)
	seen := map[any]bool{}
	for _, item := range items {
		id := item.(map[string]any)["operationId"]
		require.False(t, seen[id], "%v stands for two operations", id)
		seen[id] = true
	}
}

func TestApproveWithoutAnythingThatWaitsSaysSo(t *testing.T) {
	t.Parallel()
	shown, status := typing(t, newProject(t), nil, nil, "approve")
	assert.Zero(t, status, shown)
	assert.Contains(t, shown, "no open requests")
}

// requestedMerge returns a project in which an agent asks to merge clean changes of
// every sort, and the child for a capability.
func requestedMerge(t *testing.T) *bench {
	t.Helper()
	b := newProject(t)
	b.write(t, ".leslie/threads/main/plan.md", "one\ntwo\nthree\n")
	b.write(t, ".leslie/threads/main/logo.png", "\x00main")
	b.write(t, ".leslie/threads/main/old.md", "old\n")
	b.must(t, "spawn", "--intent", "child", "--id", "child", "--parent", "main", "--inherit", "full",
		"--title", "Design the whole API, with names that are long enough for two lines of a narrow terminal")
	b.write(t, ".leslie/threads/child/plan.md", "one\ntwo of child\nthree\nfour\n")
	b.write(t, ".leslie/threads/child/logo.png", "\x00child")
	b.write(t, ".leslie/threads/child/計画.md", "計画\n")
	require.NoError(t, os.Remove(filepath.Join(b.Dir, ".leslie/threads/child/old.md")))
	require.Equal(t, 14, b.leslie("merge", "--sources", "child", "--target", "main", "--require-approval", "--as", "agent", "--actor", "bot"), &b.err)
	b.asks(t, "child", "deploy", "--reason", "Ship 1.2 before the weekend, because everybody waits for the names")
	return b
}

func TestAPersonSeesWhatAMergeWouldDoBeforeTheyApproveIt(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{60, 80, 100} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			b := requestedMerge(t)
			s := openTerminal(t, b, columns, 80)
			s.start("approve")
			s.waitFor("[?]:")
			for _, answer := range []string{"?", "perhaps", "diff"} {
				s.send(answer + "\r")
				s.waitFor("[?]:")
			}
			s.send("approve\r")
			s.waitFor("2 of 2")
			s.waitFor("[?]:")
			s.send("f\r") // there is no diff of what is no merge
			s.waitFor("[?]:")
			s.send("later\r")
			assert.Zero(t, s.wait())
			s.golden(fmt.Sprintf("approve-%d", columns))
		})
	}
}

func TestAMergeThatChangedSinceItsRequestIsShownWithWhatChanged(t *testing.T) {
	t.Parallel()
	b := requestedMerge(t)
	b.write(t, ".leslie/threads/child/plan.md", "one\ntwo of child, again\nthree\n")
	s := openTerminal(t, b, 80, 60)
	s.start("approve")
	s.waitFor("[?]:")
	s.golden("approve-changed")
	s.send("diff\r")
	s.waitFor("+two of child, again")
	s.waitFor("[?]:")
	s.send("quit\r")
	assert.Zero(t, s.wait())

	s.clear()
	b.must(t, "approvals", "--format", "json")
	items, _ := document(t, b.out.Bytes()).Data["items"].([]any)
	id, _ := items[0].(map[string]any)["approvalId"].(string)
	s.start("approve", id)
	s.waitFor("[?]:")
	s.golden("approve-changed-by-id")
	s.send("no\r")
	assert.Zero(t, s.wait())
	assert.Equal(t, "open", b.verdicts(t)["approve_merge"])
}

func TestToGoThroughTakesNoFlagForOneOperation(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.asks(t, "main", "deploy")
	shown, status := typing(t, b, nil, []string{"approve"}, "approve", "--request-id", "r", "--expect-revision", "9", "--apply")
	assert.Equal(t, 2, status, shown)
	assert.Contains(t, shown, "--request-id cannot be used without the id of a request")
	assert.Contains(t, shown, "--apply cannot be used without the id of a request")
	assert.Equal(t, map[string]string{"deploy": "open"}, b.verdicts(t))
}

func TestChangedArtifactsAreAskedAboutBeforeTheyAreApproved(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answer, want string
		changed      bool
		asked        int
	}{{"yes", "approved", true, 1}, {"no", "open", true, 1}, {"\x04", "open", true, 1}, {"", "approved", false, 0}} {
		t.Run(tt.want+" after "+strings.ReplaceAll(tt.answer, "\x04", "the end"), func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			b.write(t, ".leslie/threads/main/plan.md", "plan\n")
			id := b.asks(t, "main", "deploy")
			if tt.changed {
				b.write(t, ".leslie/threads/main/other.md", "new\n")
			}
			shown, status := typing(t, b, nil, []string{tt.answer}, "approve", id)
			assert.Zero(t, status, shown)
			assert.Equal(t, tt.asked, strings.Count(shown, askAnyway), shown)
			assert.Equal(t, tt.changed, strings.Contains(shown, "    other.md\n"), shown)
			assert.NotContains(t, shown, "W402", "it was asked, not warned of")
			assert.Equal(t, map[string]string{"deploy": tt.want}, b.verdicts(t))
		})
	}
}

// Without a person nothing is asked, and nothing counts as consent.
func TestNobodyIsAskedToApproveWhereNobodyIsThere(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		env        []string
		args       []string
		one, merge int    // exit status of approve A, of a merge
		verdict    string // after approve A
	}{
		{"an agent's marker", []string{"CLAUDECODE=1"}, nil, 14, 14, "open"},
		{"--as agent", nil, []string{"--as", "agent"}, 14, 14, "open"},
		{"--as system", nil, []string{"--as", "system"}, 14, 14, "open"},
		{"--no-input", nil, []string{"--no-input"}, 0, 14, "approved"},
		{"LESLIE_NO_INPUT", []string{"LESLIE_NO_INPUT=1"}, nil, 0, 14, "approved"},
		{"JSON", nil, []string{"--format", "json"}, 0, 14, "approved"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			id := b.asks(t, "main", "deploy")
			b.write(t, ".leslie/threads/main/other.md", "new\n")
			run := func(status int, args ...string) string {
				shown, got := typing(t, b, tt.env, []string{"approve", "yes", "yes"}, append(args, tt.args...)...)
				assert.Equal(t, status, got, shown)
				for _, question := range []string{askDecision, askAnyway, askApply} {
					assert.NotContains(t, shown, question)
				}
				return shown
			}
			run(2, "approve")
			assert.Equal(t, "open", b.verdicts(t)["deploy"])
			shown := run(tt.one, "approve", id)
			assert.Equal(t, tt.verdict, b.verdicts(t)["deploy"])
			assert.Equal(t, tt.one == 0, strings.Contains(shown, "W402"), shown)
			b.write(t, ".leslie/threads/part/plan.md", "part\n")
			run(tt.merge, "merge", "--sources", "part", "--target", "main", "--require-approval")
			assert.Equal(t, "open", b.verdicts(t)["approve_merge"])
			assert.NoFileExists(t, filepath.Join(b.Dir, ".leslie/threads/main/plan.md"))
		})
	}
}

func TestThePersonAtTheTerminalApprovesAMergeThereAndThen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		lines   []string
		status  int
		verdict string
		merged  bool
	}{
		{"yes", []string{"yes"}, 0, "approved", true},
		{"a word that is none, then y", []string{"approve", "y"}, 0, "approved", true},
		{"no", []string{"no", "Wrong way"}, 14, "denied: Wrong way", false},
		{"later", []string{"later"}, 14, "open", false},
		{"the terminal is closed", []string{"\x04"}, 14, "open", false},
	}
	for _, tt := range tests {
		for _, begun := range []string{"here", "by an agent"} {
			t.Run(tt.name+", begun "+begun, func(t *testing.T) {
				t.Parallel()
				b := newProject(t)
				b.write(t, ".leslie/threads/part/plan.md", "part\n")
				args := []string{"merge", "--sources", "part", "--target", "main", "--require-approval"}
				if begun == "by an agent" {
					require.Equal(t, 14, b.leslie(append(args, "--as", "agent", "--format", "json")...))
					id, _ := document(t, b.out.Bytes()).Error.Details["mergeId"].(string)
					args = []string{"merge", "continue", id}
				}
				shown, status := typing(t, b, []string{noColours}, tt.lines, args...)
				assert.Equal(t, tt.status, status, shown)
				assert.Contains(t, shown, askApply)
				assert.Contains(t, shown, "  add  plan.md  taken\n", "what it would do is shown")
				assert.Equal(t, map[string]string{"approve_merge": tt.verdict}, b.verdicts(t))
				plan := filepath.Join(b.Dir, ".leslie/threads/main/plan.md")
				if tt.merged {
					assert.FileExists(t, plan)
				} else {
					assert.NoFileExists(t, plan)
				}
				b.must(t, "merge", "list", "--format", "json")
				assert.Equal(t, !tt.merged, strings.Contains(b.out.String(), `"total":1`), &b.out)
				b.must(t, "status", "main", "--format", "json")
				assert.Equal(t, tt.verdict == "open", document(t, b.out.Bytes()).Data["status"] == "waiting_human")
			})
		}
	}
}

func TestConflictsAreAskedAboutBeforeTheMergeIs(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	shown, status := typing(t, b, []string{noColours}, []string{"ours", "theirs", "yes"}, "merge", "--sources", "child", "--target", "main", "--require-approval")
	assert.Zero(t, status, shown)
	assert.Less(t, strings.LastIndex(shown, askChoice), strings.Index(shown, askApply))
	assert.Contains(t, shown, "  change  plan.md  1 ours, 1 theirs\n")
	assert.Equal(t, "one\ntwo of main\nthree\nfour of child\nfive\n", planOf(t, b))
}

// If only people may resolve conflicts, the prompt offers no agent, and runs none.
func TestNoAgentIsOfferedWhereConflictsAreAPersons(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	b.write(t, ".leslie/config.json", `{"policy": {"resolve_conflict": "require_human"}}`)
	agent := script(t, b, "agent", "touch "+filepath.Join(b.Home, "ran")+"\n"+bothSides)
	shown, status := typing(t, b, []string{noColours}, []string{"agent", "ours", "theirs", "yes"}, "merge", "--sources", "child", "--target", "main", "--agent", agent)
	assert.Zero(t, status, shown)
	assert.NotContains(t, shown, askAllow)
	assert.Contains(t, shown, askChoice)
	assert.NotContains(t, shown, askAgent, "nor does the menu offer it")
	assert.NoFileExists(t, filepath.Join(b.Home, "ran"))
	assert.Equal(t, "one\ntwo of main\nthree\nfour of child\nfive\n", planOf(t, b))
}

// dialogue is leslie on a pseudo-terminal, driven by what it shows.
type dialogue struct {
	t        *testing.T
	cmd      *exec.Cmd
	wait     func() error // for it
	terminal *os.File
	shown    strings.Builder
}

func converse(t *testing.T, b *bench, args ...string) *dialogue {
	t.Helper()
	return converseIn(t, b, []string{noColours}, args...)
}

func converseIn(t *testing.T, b *bench, env []string, args ...string) *dialogue {
	t.Helper()
	d := &dialogue{t: t, cmd: process(t, b, env, args...)}
	d.terminal, d.wait = startOnTerminal(t, d.cmd, nil)
	t.Cleanup(func() { _ = d.terminal.Close() })
	return d
}

// until reads until the text has been shown n times.
func (d *dialogue) until(text string, n int) {
	d.t.Helper()
	for buf := make([]byte, 4096); strings.Count(d.shown.String(), text) < n; {
		read, err := d.terminal.Read(buf)
		d.shown.Write(buf[:read])
		require.NoError(d.t, err, "it ended before it showed %q: %s", text, d.shown.String())
	}
}

func (d *dialogue) types(text string) {
	d.t.Helper()
	_, err := io.WriteString(d.terminal, text)
	require.NoError(d.t, err)
}

func (d *dialogue) end() (shown string, status int) {
	d.t.Helper()
	// Linux answers EIO once the last process has left the terminal.
	if _, err := io.Copy(&d.shown, d.terminal); err != nil && !errors.Is(err, syscall.EIO) {
		require.NoError(d.t, err)
	}
	return strings.ReplaceAll(d.shown.String(), "\r\n", "\n"), exitStatus(d.t, d.wait())
}

func TestADecisionThatSomebodyElseTookMeanwhileStands(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	first := b.asks(t, "main", "deploy")
	second := b.asks(t, "part", "code_edit")
	b.asks(t, "part", "delete_file")
	d := converse(t, b, "approve")
	d.until(askDecision, 1)
	b.must(t, "deny", first, "--reason", "faster")
	b.must(t, "approve", second, "--reason", "faster")
	d.types("approve\n")
	d.until(askDecision, 2) // about the third: the second is not asked about any more
	d.types("approve\n")
	shown, status := d.end()
	assert.Zero(t, status, shown)
	assert.Equal(t, 2, strings.Count(shown, "has been decided in the meantime"), shown)
	assert.Equal(t, map[string]string{"deploy": "denied: faster", "code_edit": "approved: faster", "delete_file": "approved"}, b.verdicts(t))
}

func TestAMergeThatSomebodyDeniedMeanwhileIsNotApplied(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.write(t, ".leslie/threads/part/plan.md", "part\n")
	d := converse(t, b, "merge", "--sources", "part", "--target", "main", "--require-approval")
	d.until(askApply, 1)
	b.must(t, "approvals", "--format", "json")
	items, _ := document(t, b.out.Bytes()).Data["items"].([]any)
	id, _ := items[0].(map[string]any)["approvalId"].(string)
	b.must(t, "deny", id, "--reason", "faster")
	d.types("yes\n")
	shown, status := d.end()
	assert.Equal(t, 11, status, shown)
	assert.Contains(t, shown, "code=T102")
	assert.Equal(t, map[string]string{"approve_merge": "denied: faster"}, b.verdicts(t))
	assert.NoFileExists(t, filepath.Join(b.Dir, ".leslie/threads/main/plan.md"))
}

func TestAnInterruptDecidesNothing(t *testing.T) {
	t.Parallel()
	for name, question := range map[string]string{"approve": askDecision, "one": askAnyway, "merge": askApply} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			id := b.asks(t, "main", "deploy")
			b.write(t, ".leslie/threads/main/other.md", "new\n")
			b.write(t, ".leslie/threads/part/plan.md", "part\n")
			args := map[string][]string{
				"approve": {"approve"}, "one": {"approve", id},
				"merge": {"merge", "--sources", "part", "--target", "main", "--require-approval"},
			}[name]
			d := converse(t, b, args...)
			d.until(question, 1)
			interrupt(t, d.terminal)
			shown, status := d.end()
			assert.Equal(t, 130, status, shown)
			assert.Equal(t, name != "merge", strings.Contains(shown, "code=T904"), shown)
			for scope, verdict := range b.verdicts(t) {
				assert.Equal(t, "open", verdict, scope)
			}
			assert.NoFileExists(t, filepath.Join(b.Dir, ".leslie/threads/main/plan.md"))
		})
	}
}

// A person waits at the terminal without limit; leslie reports at once what it waits for.
func TestAPersonWhoWaitsIsToldForWhat(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	d := converse(t, b, "transfer", "main", "--direction", "request_approval", "--scope", "deploy", "--wait")
	d.until("waits for a person: leslie approve appr-", 1)
	b.must(t, "approvals", "--format", "json")
	items, _ := document(t, b.out.Bytes()).Data["items"].([]any)
	require.Len(t, items, 1, "the request was recorded before the wait")
	id, _ := items[0].(map[string]any)["approvalId"].(string)
	b.must(t, "deny", id, "--reason", "no")
	shown, status := d.end()
	assert.Equal(t, 14, status, shown)
	assert.Contains(t, shown, "deploy was denied by kim: no")
}

// With the id of a request, approve and deny decide; with that of a thread they show its
// open requests and ask, and touch no other.
func TestApproveAndDenyAskWithoutTheIDOfARequest(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"approve", "deny"} {
		for name, operands := range map[string][]string{"no id": nil, "a thread": {"main"}} {
			t.Run(command+" with "+name, func(t *testing.T) {
				t.Parallel()
				b := newProject(t)
				b.must(t, "transfer", "main", "--scope", "deploy")
				shown, status := typing(t, b, []string{noColours}, []string{"quit"}, append([]string{command}, operands...)...)
				assert.Zero(t, status, shown)
				assert.Contains(t, shown, "Your decision?")
				assert.Contains(t, shown, "1 still open; run leslie "+command+" again")
				b.must(t, "transfer", "part", "--scope", "deploy")
				lines := []string{"deny", "no", "quit"}
				shown, status = typing(t, b, []string{noColours}, lines, append([]string{command}, operands...)...)
				assert.Zero(t, status, shown)
				b.must(t, "status", "part", "--format", "json")
				assert.Contains(t, b.out.String(), `"status":"waiting_human"`, "the other thread still waits")
			})
		}
	}
}

// Whatever is typed as the number of a choice is one that was offered.
func TestANumberThatWasNotOfferedIsNoAnswer(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "ask", "main", "--question", "Which?", "--choice", "red", "--choice", "blue", "--format", "json")
	id := regexp.MustCompile("q-[0-9a-z]+").FindString(b.out.String())
	for _, number := range []string{"3", "0", "17"} {
		shown, status := typing(t, b, []string{noColours}, nil, "answer", id, number)
		assert.Equal(t, 2, status, shown)
		assert.Contains(t, shown, "was not offered: choose red, blue")
	}
	shown, status := typing(t, b, []string{noColours}, nil, "answer", id, "2")
	assert.Zero(t, status, shown)
	b.must(t, "questions", "--all", "--format", "json")
	assert.Contains(t, b.out.String(), `"answer":"blue"`)
}
