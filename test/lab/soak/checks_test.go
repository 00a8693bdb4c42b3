//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
	"leslie/test/lab"
)

func noon(after time.Duration) time.Time {
	return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(after)
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// requireSays asserts that a check finds this problem alone, none for "".
func requireSays(t *testing.T, says string, problems []string) {
	t.Helper()
	if says == "" {
		require.Empty(t, problems)
		return
	}
	require.Len(t, problems, 1)
	require.Contains(t, problems[0], says)
}

func TestEachOperationBelongsToACallAndEachAnswerHasOne(t *testing.T) {
	t.Parallel()
	op := func(seq int64, at time.Duration) lab.Operation {
		return lab.Operation{Seq: seq, Time: noon(at), As: "user", Actor: "w01", Command: "spawn", Changes: []lab.Change{{Record: "threads/t", After: raw("{}")}}}
	}
	answered := callRecord{actor: "w01", command: "spawn", begin: noon(0), end: noon(time.Second), changed: true, revision: 7, made: "threads/t"}
	with := func(edit func(*callRecord)) []callRecord {
		c := answered
		edit(&c)
		return []callRecord{c}
	}
	earlier, killed := answered, answered
	earlier.revision, killed.changed, killed.killed = 6, false, true
	for name, tc := range map[string]struct {
		ops   []lab.Operation
		calls []callRecord
		says  string
	}{
		"acknowledged and there":      {[]lab.Operation{op(7, 0)}, []callRecord{answered}, ""},
		"acknowledged and lost":       {nil, []callRecord{answered}, "has no operation"},
		"acknowledged as another":     {[]lab.Operation{op(8, 0)}, []callRecord{answered}, "its operation is 8"},
		"acknowledged as an earlier":  {[]lab.Operation{op(6, 0)}, []callRecord{answered}, "its operation is 6"},
		"acknowledged and twice":      {[]lab.Operation{op(6, 0), op(7, 0)}, []callRecord{answered}, "it made 2 operations"},
		"of several the last":         {[]lab.Operation{op(6, 0), op(7, 0)}, with(func(c *callRecord) { c.many = true }), ""},
		"requested by nobody":         {[]lab.Operation{op(7, time.Minute)}, nil, "no call requested"},
		"requested by another":        {[]lab.Operation{{Seq: 7, Time: noon(0), Actor: "w02", Command: "spawn"}}, with(func(c *callRecord) { c.changed = false }), "no call requested"},
		"another command":             {[]lab.Operation{{Seq: 7, Time: noon(0), Actor: "w01", Command: "done"}}, with(func(c *callRecord) { c.changed = false }), "no call requested"},
		"leslie's own":                {[]lab.Operation{{Seq: 7, Actor: "leslie", As: "system", Command: "lapse"}}, nil, ""},
		"nothing changed, and it did": {[]lab.Operation{op(7, 0)}, with(func(c *callRecord) { c.changed = false }), "nothing changed"},
		"failed and kept a part":      {[]lab.Operation{op(7, 0)}, with(func(c *callRecord) { c.failed, c.revision = true, 0 }), ""},
		"killed before":               {nil, with(func(c *callRecord) { c.killed, c.changed = true, false }), ""},
		"killed after":                {[]lab.Operation{op(7, 0)}, with(func(c *callRecord) { c.killed, c.changed = true, false }), ""},
		"killed and twice":            {[]lab.Operation{op(7, 0), op(8, 0)}, with(func(c *callRecord) { c.killed, c.changed = true, false }), "killed, it made 2"},
		"it made something else":      {[]lab.Operation{op(7, 0)}, with(func(c *callRecord) { c.made = "threads/other" }), "its operation did not"},
		"two calls in one moment":     {[]lab.Operation{op(6, 0), op(7, 0)}, []callRecord{killed, answered}, ""},
		"two answers in one moment":   {[]lab.Operation{op(6, 0), op(7, 0)}, []callRecord{earlier, answered}, ""},
		"it waited":                   {[]lab.Operation{op(5, 0)}, with(func(c *callRecord) { c.waited = true }), ""},
		"it waited and was first":     {[]lab.Operation{op(8, 0)}, with(func(c *callRecord) { c.waited = true }), "its operation is 8"},
		"it claims what it does not":  {[]lab.Operation{op(7, 0)}, with(func(c *callRecord) { c.made, c.holds = "", "t" }), "did not make"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems, unanswered := assign(tc.ops, tc.calls)
			requireSays(t, tc.says, problems)
			assert.Equal(t, len(tc.ops) > 0 && tc.calls != nil && tc.calls[0].killed, unanswered > 0)
		})
	}
}

func TestAnAnswerIsNotOlderThanAnEarlierOne(t *testing.T) {
	t.Parallel()
	g := newRun(&lab.Project{}, setup{}, io.Discard)
	a, b := g.newWorker(1), g.newWorker(2)
	told := func(s string) lab.Outcome {
		doc, _ := harness.Read([]byte(s))
		return lab.Outcome{Stdout: []byte(s), Doc: doc}
	}
	seven := told(`{"success":true,"revision":7,"data":{"changed":true}}`)
	require.Empty(t, a.checkRevision(line{}, seven, 0))
	assert.Equal(t, int64(7), g.reported.Load())
	assert.Contains(t, b.checkRevision(line{}, seven, 0), "acknowledged to w01 already")
	six := told(`{"success":true,"revision":6}`)
	assert.Empty(t, g.newWorker(3).checkRevision(line{}, six, 6), "it may have read before")
	assert.Contains(t, a.checkRevision(line{}, six, 0), "older than 7", "its own")
	assert.Contains(t, g.newWorker(4).checkRevision(line{}, six, 7), "older than 7", "another's, which ended before it began")
	assert.Empty(t, a.checkRevision(line{}, told(`{"success":true,"revision":2,"warnings":[{"code":"W901"}]}`), 7), "an answer from before")
}

func TestALostDuplicateOrTornLineIsFound(t *testing.T) {
	t.Parallel()
	w := newRun(&lab.Project{}, setup{}, io.Discard).newWorker(3)
	one, two := w.Line(), w.Line()
	require.NotEqual(t, one, two)
	line, _ := lab.Missing([]string{one, two}, one+two)
	assert.Empty(t, line)
	line, times := lab.Missing([]string{one, two}, one)
	assert.Equal(t, two, line)
	assert.Zero(t, times)
	_, times = lab.Missing([]string{one}, one+one)
	assert.Equal(t, 2, times)
	assert.Empty(t, lab.Torn(one+two))
	assert.NotEmpty(t, lab.Torn(one+two[:len(two)-1]), "an end is cut off")
	assert.NotEmpty(t, lab.Torn(one[:9]+two), "two halves")
	assert.NotEmpty(t, lab.Torn("<<<<<<< target\n"))
}

func TestAGroupThatLacksALineIsFound(t *testing.T) {
	t.Parallel()
	p := &lab.Project{Dir: t.TempDir()}
	w := newRun(p, setup{}, io.Discard).newWorker(0)
	lines := []string{w.Line(), w.Line(), w.Line()}
	folder := p.Path("threads/group")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "context", "inherited"), 0o755))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	write("context/inherited/x.md", "not an artifact\n")
	write(sharedFile, template([]int{0, 1})+lines[0]+lines[1])
	write("w00.md", lines[2])
	assert.Empty(t, lineProblem(p, "group", lines))
	write("w00.md", lines[1])
	assert.Contains(t, lineProblem(p, "group", lines), "a merged line 2 times")
	write("w00.md", "")
	assert.Contains(t, lineProblem(p, "group", lines), "a merged line 0 times")
	write("w00.md", lines[2]+"a piece")
	assert.Contains(t, lineProblem(p, "group", lines), "torn line")
}

func TestMissingOrReorderedOperationsAreFound(t *testing.T) {
	t.Parallel()
	want := []string{"op-a", "op-b"}
	assert.Empty(t, diffOperations("it has", want, want))
	assert.Contains(t, diffOperations("it has", want, []string{"op-a"}), "no operation 2")
	assert.Contains(t, diffOperations("it has", want, []string{"op-b", "op-a"}), "op-b as operation 1")
	assert.Contains(t, diffOperations("it has", want, []string{"op-a", "op-b", "op-b"}), "operation 3")
}

func TestAViolationEndsTheRunAndIsReportedWithItsSeed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	g := newRun(&lab.Project{}, setup{seed: 41, processes: 1}, &out)
	w := g.newWorker(1)
	w.remember(line{Argv: []string{"spawn", "--intent", "a b"}}, lab.Outcome{})
	g.violate(w, "a line is lost")
	assert.True(t, g.ended.Load())
	assert.False(t, g.report.end(g))
	assert.Contains(t, out.String(), "VIOLATION (w01, -seed 41): a line is lost\n")
	assert.Contains(t, out.String(), `leslie spawn --intent "a b"`)
	assert.Contains(t, out.String(), "1 violations")
}

func TestTheLastLinesRepeatTheViolations(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	g := newRun(&lab.Project{}, setup{seed: 7}, &out)
	g.violate(nil, "a line is lost")
	assert.Equal(t, 1, strings.Count(out.String(), "a line is lost"), "at once")
	assert.False(t, g.report.end(g))
	_, last, found := strings.Cut(out.String(), "1 violations\n")
	require.True(t, found)
	assert.Equal(t, "VIOLATION (the pause, -seed 7): a line is lost\n", last)
}

func TestAnObserverEndsAsItWasEnded(t *testing.T) {
	t.Parallel()
	assert.NoError(t, endOf(-1, nil))
	assert.NoError(t, endOf(130, []byte(`{"success":false,"error":{"code":"T904"}}`)))
	assert.Error(t, endOf(0, nil), "nothing ended it")
	assert.Error(t, endOf(1, []byte("x")))
	assert.Error(t, endOf(-1, []byte("panic: x")))
}
