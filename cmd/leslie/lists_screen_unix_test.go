//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// These tests look at lists on a person's screen.

// newBusyProject returns a project with threads of every status, hard titles, a claim,
// tags, requests, questions and pending merges, made over some days.
func newBusyProject(t *testing.T) *bench {
	t.Helper()
	b := newProject(t)
	now := b.Now()
	b.Env.Now = func() time.Time { return now }
	later := func(d time.Duration, args ...string) {
		now = now.Add(d)
		b.must(t, args...)
	}
	later(time.Hour, "spawn", "--intent", "x", "--id", "wide", "--title", "日本語のタイトルは二つのセルを使うので、切る場所が問題になる")
	later(24*time.Hour, "spawn", "--intent", "x", "--id", "emoji", "--title", "👩\u200d💻 and 🇩🇪 and e\u0301e\u0301e\u0301 in one title", "--parent", "main", "--executor", "human")
	later(time.Hour, "spawn", "--intent", "x", "--id", "long", "--title", strings.Repeat("0123456789", 8), "--parent", "main")
	later(time.Hour, "spawn", "--intent", "x", "--id", "hostile", "--title", "\x1b[2J\x1b[31mred\x1b[0m \u202eevil")
	later(time.Hour, "spawn", "--intent", "Write the release notes", "--id", "thread-a1b2c3d4", "--parent", "wide", "--tags", "docs,release")
	later(0, "suspend", "long")
	later(0, "cancel", "hostile")
	b.write(t, ".leslie/threads/part/docs/deeply/nested/notes.md", "mine\n")
	b.write(t, ".leslie/threads/main/docs/deeply/nested/notes.md", "theirs\n")
	now = now.Add(time.Hour)
	assert.Equal(t, 13, b.leslie("merge", "--sources", "part", "--target", "main"), "a conflict")
	later(0, "checkpoint", "main", "--name", "before the 日本語 release")
	later(0, "reference", "--from", "wide", "--target", "main", "--scope", "docs")
	later(0, "claim", "thread-a1b2c3d4", "--as", "agent", "--actor", "bot")
	later(0, "transfer", "emoji", "--direction", "request_approval", "--scope", "deploy", "--reason",
		"The release has to be out by Friday, and only a person may start it.", "--as", "agent", "--actor", "bot")
	later(0, "ask", "wide", "--question", "Which port should the server use when 8080 is taken by another program on the same machine?",
		"--choice", "8081", "--choice", "none", "--as", "agent", "--actor", "bot")
	later(3*time.Minute, "done", "part")
	later(2*time.Minute, "objective", "create", "Something else altogether", "--id", "other")
	return b
}

// TestListsFitTheScreen draws every list in three widths.
func TestListsFitTheScreen(t *testing.T) {
	t.Parallel()
	lists := map[string][]string{
		"list":           {"list"},
		"list-tree":      {"list", "--tree"},
		"list-ready":     {"list", "--ready"},
		"graph":          {"graph"},
		"list-iso":       {"list", "--time", "iso"},
		"objective-list": {"objective", "list"},
		"merge-list":     {"merge", "list"},
		"approvals":      {"approvals"},
		"questions":      {"questions"},
		"artifacts":      {"artifacts", "part"},
		"reference-list": {"reference", "list"},
		"checkpoints":    {"checkpoint", "list", "main"},
		"history":        {"history", "--limit", "12"},
		"status":         {"status"},
	}
	b := newBusyProject(t)
	for _, width := range []int{60, 80, 100} {
		s := openTerminal(t, b, width, 40)
		s.run("list") // and hear what began to wait
		for name, args := range lists {
			s.clear()
			s.run(args...)
			from := ""
			if name == "status" {
				from = "revision: " // behind the path of the project
			}
			s.goldenFrom(from, fmt.Sprintf("%s-%d", name, width))
		}
	}
}

func TestOnlyAPersonAtATerminalGetsADrawnList(t *testing.T) {
	t.Parallel()
	b := newBusyProject(t)
	b.must(t, "list")
	plain := b.out.String()
	assert.NotContains(t, plain, "UPDATED")
	for name, tt := range map[string]struct{ env, args []string }{
		"an agent":        {[]string{"CLAUDECODE=1", b.clock()}, []string{"list"}},
		"acting as agent": {[]string{b.clock()}, []string{"list", "--as", "agent"}},
	} {
		shown, status := onTerminal(t, b, tt.env, tt.args...)
		assert.Zero(t, status, name)
		assert.Equal(t, plain, shown, name)
	}
	piped, err := process(t, b, []string{b.clock()}, "list", "--color", "always").Output()
	assert.NoError(t, err)
	assert.Equal(t, plain, string(piped), "a pipe, always coloured")
}

func TestStatusesHaveQuietColours(t *testing.T) {
	t.Parallel()
	b := newBusyProject(t)
	s := openTerminal(t, b, 100, 40)
	s.run("list")
	s.clear()
	s.run("list") // without what began to wait
	assert.Equal(t, "dim", s.style("THREAD"))
	assert.Equal(t, "bold", s.style("suspended"))
	assert.Equal(t, "green", s.style("completed"))
	assert.Equal(t, "dim", s.style("cancelled"))
	assert.Empty(t, s.style("active"))
	coloured := s.lines()
	for _, args := range [][]string{{"list", "--color", "never"}, {"list"}} {
		env := []string{"NO_COLOR=1"}
		if len(args) > 1 {
			env = nil
		}
		s := openTerminal(t, b, 100, 40, env...)
		s.run(args...)
		assert.Empty(t, s.style("suspended"))
		assert.Equal(t, coloured, s.lines(), "only the colours differ")
	}
}

// shownThreads are the first words of a list's lines, without its header and end.
func shownThreads(lines []string) (ids []string) {
	for _, line := range lines[1:] {
		if words := strings.Fields(line); !strings.HasPrefix(line, "(") && len(words) > 1 && words[0] != "leslie:" {
			ids = append(ids, words[0])
		}
	}
	return ids
}

func TestAPersonSeesFirstWhatWaitsAndLastWhatEnded(t *testing.T) {
	t.Parallel()
	b := newBusyProject(t)
	s := openTerminal(t, b, 100, 40)
	s.run("list") // and hear what began to wait
	s.clear()
	s.run("list")
	assert.Equal(t, []string{"emoji", "long", "main", "thread-a1b2c3d4", "wide", "part", "hostile"}, shownThreads(s.lines()))
	s.clear()
	s.run("list", "--tree")
	assert.Equal(t, []string{"main", "emoji", "long", "part", "wide", "thread-a1b2c3d4", "hostile"}, shownThreads(s.lines()), "a parent comes with the most urgent below it")
	b.must(t, "list", "--format", "json")
	items, _ := document(t, b.out.Bytes()).Data["items"].([]any)
	first, _ := items[0].(map[string]any)
	assert.Equal(t, "main", first["threadId"], "others see the order of creation")
}

// TestTheNewestThreadIsOnTheFirstScreen: although more than the limit wait, and many
// others changed later.
func TestTheNewestThreadIsOnTheFirstScreen(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	now := b.Now()
	b.Env.Now = func() time.Time { now = now.Add(time.Second); return now }
	var lines strings.Builder
	for i := range 198 {
		fmt.Fprintf(&lines, `["spawn", "--intent", "Thread %d", "--id", "t%03d"]`+"\n", i, i)
	}
	b.write(t, "spawn.jsonl", lines.String())
	b.must(t, "batch", "spawn.jsonl")
	lines.Reset()
	for i := range 60 {
		fmt.Fprintf(&lines, `["suspend", "t%03d"]`+"\n", i)
	}
	b.write(t, "suspend.jsonl", lines.String())
	b.must(t, "batch", "suspend.jsonl")
	b.must(t, "spawn", "--intent", "The newest", "--id", "newest")
	b.must(t, "update", "t150", "--title", "Changed later")
	s := openTerminal(t, b, 80, 60)
	s.run("list") // and hear what began to wait
	s.clear()
	s.run("list")
	lines200 := s.lines()
	ids := shownThreads(lines200)
	assert.Len(t, ids, 50)
	assert.NotContains(t, ids, "newest", "60 wait, and they come first")
	for _, limit := range []string{"1", "2", "59", "60"} {
		s.clear()
		s.run("list", "--limit", limit)
		assert.NotContains(t, shownThreads(s.lines()), "newest", "--limit %s", limit)
	}
	s.clear()
	s.run("list", "--limit", "61")
	assert.Contains(t, shownThreads(s.lines()), "newest")
	assert.Contains(t, lines200, "(50 of 201 shown; --limit 0 shows all)")
	s.clear()
	s.run("list", "--limit", "3", "--status", "active")
	assert.Equal(t, []string{"t150", "newest"}, shownThreads(s.lines())[:2], "the latest change first")
}
