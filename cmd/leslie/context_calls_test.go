package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/threadcmd"
)

// asAgent makes the calls those of an agent that speaks for a thread.
func (b *bench) asAgent(actor, speaksFor string) {
	b.vars["LESLIE_AS"], b.vars["LESLIE_ACTOR"], b.vars["LESLIE_THREAD"] = "agent", actor, speaksFor
}

func (b *bench) context(t *testing.T, args ...string) (block string, revision int) {
	t.Helper()
	b.must(t, append([]string{"context", "--format", "json"}, args...)...)
	a := document(t, b.out.Bytes())
	block, _ = a.Data["context"].(string)
	require.True(t, strings.HasPrefix(block, "<thread_context ") && strings.HasSuffix(block, "\n</thread_context>"), "%.80q", block)
	return block, *a.Revision
}

func TestOnlyTheThreadsOwnAgentMarksInjectionsAsSeen(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "inject", "main", "--type", "feedback", "--content", "later")
	b.must(t, "inject", "main", "--type", "priority", "--urgency", "immediate", "--content", "now", "--format", "json")
	told := *document(t, b.out.Bytes()).Revision
	look := func(args ...string) {
		t.Helper()
		block, revision := b.context(t, args...)
		assert.Equal(t, told, revision)
		assert.Less(t, strings.Index(block, "  | now"), strings.Index(block, "  | later"))
		assert.Contains(t, block, "  | now")
	}
	look("main")
	look("--thread", "main") // a person
	b.asAgent("a1", "")
	look("main")
	b.asAgent("a1", "part")
	look("main")
	b.asAgent("a1", "main")
	b.context(t, "part")

	look2, revision := b.context(t)
	assert.Contains(t, look2, "  | now")
	assert.Equal(t, told, revision, "what the agent changes next is guarded by what it knows")
	b.must(t, "update", "main", "--title", "New", "--expect-revision", fmt.Sprint(revision))
	block, _ := b.context(t)
	assert.NotContains(t, block, "injections:")

	b.must(t, "history", "--limit", "2", "--format", "json")
	op := document(t, b.out.Bytes()).Data["items"].([]any)[1].(map[string]any)
	assert.Equal(t, []any{"seen", "system", "main"}, []any{op["command"], op["as"], op["threadId"]})
	b.must(t, "status", "main", "--format", "json")
	injections := document(t, b.out.Bytes()).Data["injections"].([]any)
	require.Len(t, injections, 2)
	for _, in := range injections {
		in := in.(map[string]any)
		assert.Equal(t, map[string]any{"as": "agent", "actor": "a1"}, in["seenBy"])
		assert.NotContains(t, in, "content")
	}
	raw, err := os.ReadFile(filepath.Join(b.Dir, ".leslie/threads/main/.meta/injections.jsonl"))
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(raw), "\n"), "the thread's folder keeps them all")
}

func TestWhatDidNotFitIntoTheContextComesNext(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	for i := range 8 {
		b.must(t, "inject", "main", "--type", "data", "--content", fmt.Sprintf("number %d %s", i, strings.Repeat("x", 2500)))
	}
	b.asAgent("a1", "main")
	var got []string
	calls := 0
	for range 8 {
		block, _ := b.context(t)
		if !strings.Contains(block, "injections:") {
			break
		}
		calls++
		for line := range strings.Lines(block) {
			if said, ok := strings.CutPrefix(line, "  | number "); ok {
				got = append(got, said[:1])
			}
		}
	}
	assert.Equal(t, "0 1 2 3 4 5 6 7", strings.Join(slices.Compact(got), " "))
	assert.Len(t, got, 8, "each came once")
	assert.Equal(t, 3, calls)
}

func TestAStoppedAgentIsShownWhatItDidNotSee(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "inject", "main", "--type", "feedback", "--content", "look again")
	b.asAgent("a1", "main")
	for range 5 {
		b.leslie("status", "nope-nope")
	}
	block, _ := b.context(t)
	require.Contains(t, block, "stopped: 5 failed commands in a row")
	assert.Contains(t, block, "  | look again")
	block, _ = b.context(t)
	assert.Contains(t, block, "  | look again", "nothing is written for it until a person has looked")
}

func TestSeenConstraintsFitBesideWhatIsUnseen(t *testing.T) {
	t.Parallel()
	for _, unseen := range []int{0, 1, 2, 3} {
		b := newProject(t)
		for i := range 12 {
			b.must(t, "inject", "main", "--type", "constraint", "--content", fmt.Sprintf("rule %d %s", i, strings.Repeat("é<", 200)))
		}
		b.asAgent("a1", "main")
		for range 3 { // until all have been shown
			b.context(t)
		}
		for range unseen {
			b.must(t, "inject", "main", "--type", "data", "--content", strings.Repeat("y", 2800))
		}
		b.must(t, "update", "main", "--title", strings.Repeat("t", 200))
		block, _ := b.context(t)
		assert.LessOrEqual(t, threadcmd.Width(block), threadcmd.MaxContext)
		assert.Equal(t, unseen, strings.Count(block, "  | yyy"))
		assert.True(t, strings.HasSuffix(block, "</thread_context>"))
		if unseen == 3 {
			continue // they leave too little room
		}
		seen := block[strings.Index(block, "constraints seen before"):strings.Index(block, "goal:")]
		assert.LessOrEqual(t, threadcmd.Width(seen), threadcmd.MaxSeen)
		assert.Regexp(t, `\n\(\d+ more: \.leslie/threads/main/`, seen)
	}
}
