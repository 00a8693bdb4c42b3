//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

func noon(after time.Duration) time.Time {
	return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(after)
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// held returns a thread's record with a claim.
func held(by string, until time.Duration) json.RawMessage {
	return raw(`{"threadId":"t","claim":{"holder":"` + by + `","until":"` + noon(until).Format(time.RFC3339Nano) + `"}}`)
}

func TestOperationsThatCannotFollowEachOtherAreFound(t *testing.T) {
	t.Parallel()
	made := operation{Seq: 1, Changes: []change{{Record: "threads/t", After: raw(`{"a":1}`)}}}
	taken := func(seq int64, at time.Duration, before, after json.RawMessage) operation {
		return operation{Seq: seq, Time: noon(at), Changes: []change{{Record: "threads/t", Before: before, After: after}}}
	}
	for name, tc := range map[string]struct {
		ops  []operation
		says string
	}{
		"nothing":                   {nil, ""},
		"one after the other":       {[]operation{made, taken(2, 0, raw(`{"a":1}`), raw("null"))}, ""},
		"a gap":                     {[]operation{made, {Seq: 3}}, "it follows operation 1"},
		"a number twice":            {[]operation{made, {Seq: 1}}, "it follows operation 1"},
		"a lost change":             {[]operation{made, taken(2, 0, raw(`{"a":0}`), raw(`{"a":2}`))}, "is lost"},
		"a record made twice":       {[]operation{made, taken(2, 0, nil, raw(`{"a":2}`))}, "is lost"},
		"a request twice":           {[]operation{{Seq: 1, RequestID: "r"}, {Seq: 2, RequestID: "r"}}, "was carried out by operation 1"},
		"a thread that is claimed":  {[]operation{taken(1, 0, nil, held("a", time.Hour)), taken(2, time.Minute, held("a", time.Hour), held("b", 2*time.Hour))}, "which a holds"},
		"a claim that expired":      {[]operation{taken(1, 0, nil, held("a", time.Second)), taken(2, time.Minute, held("a", time.Second), held("b", time.Hour))}, ""},
		"a claim that was released": {[]operation{taken(1, 0, nil, held("a", time.Hour)), taken(2, 0, held("a", time.Hour), raw("{}")), taken(3, 0, raw("{}"), held("b", time.Hour))}, ""},
		"a claim that is renewed":   {[]operation{taken(1, 0, nil, held("a", time.Hour)), taken(2, 0, held("a", time.Hour), held("a", 2*time.Hour))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newModel()
			var problems []string
			for _, op := range tc.ops {
				problems = append(problems, w.apply(op)...)
			}
			requireSays(t, tc.says, problems)
		})
	}
}

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
	op := func(seq int64, at time.Duration) operation {
		return operation{Seq: seq, Time: noon(at), As: "user", Actor: "w01", Command: "spawn", Changes: []change{{Record: "threads/t", After: raw("{}")}}}
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
		ops   []operation
		calls []callRecord
		says  string
	}{
		"acknowledged and there":      {[]operation{op(7, 0)}, []callRecord{answered}, ""},
		"acknowledged and lost":       {nil, []callRecord{answered}, "has no operation"},
		"acknowledged as another":     {[]operation{op(8, 0)}, []callRecord{answered}, "its operation is 8"},
		"acknowledged as an earlier":  {[]operation{op(6, 0)}, []callRecord{answered}, "its operation is 6"},
		"acknowledged and twice":      {[]operation{op(6, 0), op(7, 0)}, []callRecord{answered}, "it made 2 operations"},
		"of several the last":         {[]operation{op(6, 0), op(7, 0)}, with(func(c *callRecord) { c.many = true }), ""},
		"requested by nobody":         {[]operation{op(7, time.Minute)}, nil, "no call requested"},
		"requested by another":        {[]operation{{Seq: 7, Time: noon(0), Actor: "w02", Command: "spawn"}}, with(func(c *callRecord) { c.changed = false }), "no call requested"},
		"another command":             {[]operation{{Seq: 7, Time: noon(0), Actor: "w01", Command: "done"}}, with(func(c *callRecord) { c.changed = false }), "no call requested"},
		"leslie's own":                {[]operation{{Seq: 7, Actor: "leslie", As: "system", Command: "lapse"}}, nil, ""},
		"nothing changed, and it did": {[]operation{op(7, 0)}, with(func(c *callRecord) { c.changed = false }), "nothing changed"},
		"failed and kept a part":      {[]operation{op(7, 0)}, with(func(c *callRecord) { c.failed, c.revision = true, 0 }), ""},
		"killed before":               {nil, with(func(c *callRecord) { c.killed, c.changed = true, false }), ""},
		"killed after":                {[]operation{op(7, 0)}, with(func(c *callRecord) { c.killed, c.changed = true, false }), ""},
		"killed and twice":            {[]operation{op(7, 0), op(8, 0)}, with(func(c *callRecord) { c.killed, c.changed = true, false }), "killed, it made 2"},
		"it made something else":      {[]operation{op(7, 0)}, with(func(c *callRecord) { c.made = "threads/other" }), "its operation did not"},
		"two calls in one moment":     {[]operation{op(6, 0), op(7, 0)}, []callRecord{killed, answered}, ""},
		"two answers in one moment":   {[]operation{op(6, 0), op(7, 0)}, []callRecord{earlier, answered}, ""},
		"it waited":                   {[]operation{op(5, 0)}, with(func(c *callRecord) { c.waited = true }), ""},
		"it waited and was first":     {[]operation{op(8, 0)}, with(func(c *callRecord) { c.waited = true }), "its operation is 8"},
		"it claims what it does not":  {[]operation{op(7, 0)}, with(func(c *callRecord) { c.made, c.holds = "", "t" }), "did not make"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems, unanswered := assign(tc.ops, tc.calls)
			requireSays(t, tc.says, problems)
			assert.Equal(t, len(tc.ops) > 0 && tc.calls != nil && tc.calls[0].killed, unanswered > 0)
		})
	}
}

func TestAnAnswerThatBreaksTheContractIsFound(t *testing.T) {
	t.Parallel()
	failed := func(code, message string) string {
		return `{"success":false,"error":{"code":"` + code + `","message":"` + message + `","details":{"operation":"spawn","changed":false}}}`
	}
	for name, tc := range map[string]struct {
		status         int
		killed         bool
		stdout, stderr string
		says           string
	}{
		"done":                         {stdout: `{"success":true,"data":{}}`},
		"failed as it may":             {status: 11, stdout: failed("T101", "Thread 'x' not found.")},
		"the lock":                     {status: 15, stdout: failed("T501", "File lock failed")},
		"nothing":                      {says: "not one JSON document"},
		"two documents":                {stdout: `{"success":true} {"success":true}`, says: "not one JSON document"},
		"text":                         {stdout: "created", says: "not one JSON document"},
		"a status that does not agree": {status: 1, stdout: `{"success":true}`, says: "does not agree"},
		"a status of another code":     {status: 12, stdout: failed("T101", "x"), says: "exit status 12 with T101"},
		"an internal error":            {status: 1, stdout: failed("T901", "x"), says: "unexpected error T901"},
		"a code that is not meant":     {status: 13, stdout: failed("T301", "x"), says: "unexpected error T301"},
		"a Go error":                   {status: 11, stdout: failed("T101", "open /x: no such file or directory"), says: "internal error text"},
		"a panic":                      {status: 2, stderr: "panic: x\n\ngoroutine 1 [running]:\n", says: "not one JSON document"},
		"a recovery":                   {stdout: `{"success":true,"warnings":[{"code":"W502"}]}`, says: "it warns: W502"},
		"unfinished work":              {stdout: `{"success":true,"warnings":[{"code":"W505","context":{"what":"fsync"}}]}`, says: "it warns: W505"},
		"output on stderr":             {stdout: `{"success":true}`, stderr: "hello\n", says: "stderr: hello"},
		"waiting for the lock":         {stdout: `{"success":true}`, stderr: "leslie: waiting for the lock x, which another process holds\n"},
		"killed":                       {killed: true, status: -1},
		"killed after its answer":      {killed: true, status: -1, stdout: `{"success":true}`},
		"killed in its answer":         {killed: true, status: -1, stdout: `{"succ`, says: "in the middle"},
		"changed is missing":           {status: 11, stdout: `{"success":false,"error":{"code":"T101","details":{}}}`, says: "lack operation or changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := outcome{Status: tc.status, Killed: tc.killed, Stdout: []byte(tc.stdout), Stderr: []byte(tc.stderr)}
			o.Doc, _ = harness.Read(o.Stdout)
			got := line{may: "T101"}.wrong(o)
			if tc.says == "" {
				assert.Empty(t, got)
				return
			}
			assert.Contains(t, got, tc.says)
		})
	}
	assert.NotEmpty(t, line{}.wrong(outcome{Err: errors.New("it took too long")}))
}

func TestAStreamHasOnlyJSONLinesAndOneError(t *testing.T) {
	t.Parallel()
	l := line{stream: true, may: "T101"}
	gone := `{"success":false,"error":{"code":"T101","details":{"operation":"observe","changed":false}}}`
	assert.Empty(t, l.wrong(outcome{Stdout: []byte("{\"seq\":1}\n{\"seq\":2}\n")}))
	assert.Empty(t, l.wrong(outcome{Status: 11, Stderr: []byte(gone)}))
	assert.Contains(t, l.wrong(outcome{Stdout: []byte("{\"seq\":1}\n{\"se\n")}), "not JSON")
	assert.Contains(t, l.wrong(outcome{Status: 11}), "not one error")
	assert.NoError(t, endOf(-1, nil))
	assert.NoError(t, endOf(130, []byte(`{"success":false,"error":{"code":"T904"}}`)))
	assert.Error(t, endOf(0, nil), "nothing ended it")
	assert.Error(t, endOf(1, []byte("x")))
	assert.Error(t, endOf(-1, []byte("panic: x")))
}

func TestAnAnswerIsNotOlderThanAnEarlierOne(t *testing.T) {
	t.Parallel()
	g := &soakRun{}
	a, b := g.newWorker(1), g.newWorker(2)
	told := func(s string) outcome {
		doc, _ := harness.Read([]byte(s))
		return outcome{Stdout: []byte(s), Doc: doc}
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
	w := (&soakRun{}).newWorker(3)
	one, two := w.line(), w.line()
	require.NotEqual(t, one, two)
	line, _ := missing([]string{one, two}, one+two)
	assert.Empty(t, line)
	line, times := missing([]string{one, two}, one)
	assert.Equal(t, two, line)
	assert.Zero(t, times)
	_, times = missing([]string{one}, one+one)
	assert.Equal(t, 2, times)
	assert.Empty(t, torn(one+two))
	assert.NotEmpty(t, torn(one+two[:len(two)-1]), "an end is cut off")
	assert.NotEmpty(t, torn(one[:9]+two), "two halves")
	assert.NotEmpty(t, torn("<<<<<<< target\n"))
}

func TestAGroupThatLacksALineIsFound(t *testing.T) {
	t.Parallel()
	p := &project{dir: t.TempDir()}
	w := (&soakRun{project: p}).newWorker(0)
	lines := []string{w.line(), w.line(), w.line()}
	folder := p.path("threads/group")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "context", "inherited"), 0o755))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	write("context/inherited/x.md", "not an artifact\n")
	write(sharedFile, template([]int{0, 1})+lines[0]+lines[1])
	write("w00.md", lines[2])
	assert.Empty(t, p.lineProblem("group", lines))
	write("w00.md", lines[1])
	assert.Contains(t, p.lineProblem("group", lines), "a merged line 2 times")
	write("w00.md", "")
	assert.Contains(t, p.lineProblem("group", lines), "a merged line 0 times")
	write("w00.md", lines[2]+"a piece")
	assert.Contains(t, p.lineProblem("group", lines), "torn line")
}

func TestRecordsThatDifferFromTheJournalAreFound(t *testing.T) {
	t.Parallel()
	want := map[string]json.RawMessage{"threads/a": raw(`{"x":1}`), "threads/b": raw(`{}`)}
	assert.Empty(t, diffRecords(want, want))
	requireSays(t, "is not what the journal says", diffRecords(want, map[string]json.RawMessage{"threads/a": raw(`{"x":2}`), "threads/b": raw(`{}`)}))
	requireSays(t, "not in the state", diffRecords(want, map[string]json.RawMessage{"threads/a": raw(`{"x":1}`)}))
	requireSays(t, "not in the journal", diffRecords(map[string]json.RawMessage{}, map[string]json.RawMessage{"threads/b": raw(`{}`)}))
}

func TestLiveRecordsCountBeforeArchivedOnes(t *testing.T) {
	t.Parallel()
	w := newModel()
	w.archived["threads/a"], w.archived["threads/b"] = raw(`{"status":"archived"}`), raw(`{"status":"archived"}`)
	w.live["threads/a"] = raw(`{"status":"active"}`)
	assert.Equal(t, map[string]string{"a": "active", "b": "archived"}, w.statuses())
}

func TestMissingOrReorderedOperationsAreFound(t *testing.T) {
	t.Parallel()
	want := []string{"op-a", "op-b"}
	assert.Empty(t, diffOperations("it has", want, want))
	assert.Contains(t, diffOperations("it has", want, []string{"op-a"}), "no operation 2")
	assert.Contains(t, diffOperations("it has", want, []string{"op-b", "op-a"}), "op-b as operation 1")
	assert.Contains(t, diffOperations("it has", want, []string{"op-a", "op-b", "op-b"}), "operation 3")
}

func TestAnIncompleteJournalLineIsFound(t *testing.T) {
	t.Parallel()
	ops, err := parseJournal([]byte("{\"seq\":1}\n{\"seq\":2}\n"))
	require.NoError(t, err)
	assert.Len(t, ops, 2)
	_, err = parseJournal([]byte("{\"seq\":1}\n{\"seq\":2}"))
	require.Error(t, err)
	ops, err = parseJournal([]byte("{\"seq\":1}\n{\"se\n{\"seq\":2}\n"))
	require.NoError(t, err, "a kill left its beginning, and the line follows")
	assert.Len(t, ops, 2)
	for _, steps := range []string{`"p`, `"pending":`, `"pending":[{"do":"mk`} {
		ops, err = parseJournal([]byte(`{"seq":1,` + steps + "\n" + `{"seq":1,"sum":"x"}` + "\n"))
		require.NoError(t, err, "the steps of the incomplete line %s are done", steps)
		assert.Len(t, ops, 1)
	}
	_, err = parseJournal([]byte(`{"seq":1,"pending":[` + "\n" + `{"seq":2,"sum":"x"}` + "\n"))
	require.Error(t, err, "a different operation follows")
	_, err = parseJournal([]byte(`{"seq":1,"pa` + "\n" + `{"seq":1,"sum":"x"}` + "\n"))
	require.Error(t, err, "the line has lost something else")
	for _, text := range []string{"{\"se\n", "{\"seq\":1}\n{\"se\n", "{\"se\n{\"se\n{\"seq\":1}\n", "{\"x\":\n{\"seq\":1}\n", "{\"seq\":1}\n{\"se"} {
		_, err = parseJournal([]byte(text))
		require.Error(t, err, "%q", text)
	}
}

func TestLeftoversAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "tmp"), 0o755))
	assert.Empty(t, leftovers(dir))
	for _, name := range []string{".thread_relations.json5577006791947779410", "operations.jsonl.set-aside-20261120T120000Z", "tmp/op-aaaaaaaa"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	found := strings.Join(leftovers(dir), "\n")
	assert.Equal(t, 2, strings.Count(found, "\n"), "%s", found)
}

func TestAViolationEndsTheRunAndIsReportedWithItsSeed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	g := newRun(&project{}, setup{seed: 41, processes: 1}, &out)
	w := g.newWorker(1)
	w.remember(line{argv: []string{"spawn", "--intent", "a b"}}, outcome{})
	g.violate(w, "a line is lost")
	assert.True(t, g.ended.Load())
	assert.False(t, g.report.end(g))
	assert.Contains(t, out.String(), "VIOLATION (w01, -seed 41): a line is lost\n")
	assert.Contains(t, out.String(), `leslie spawn --intent "a b"`)
	assert.Contains(t, out.String(), "1 violations")
}

func TestAPauseWaitsForTheLastDeadlineOfAnOpenRequest(t *testing.T) {
	t.Parallel()
	w := newModel()
	assert.True(t, w.lastDeadline().IsZero(), "there is none")
	w.live["approvals/appr-a"] = json.RawMessage(`{"status":"open","deadline":"2026-02-09T16:00:01Z"}`)
	w.live["approvals/appr-b"] = json.RawMessage(`{"status":"open","deadline":"2026-02-09T16:00:02Z"}`)
	w.live["approvals/appr-c"] = json.RawMessage(`{"status":"skipped","deadline":"2026-02-09T16:00:09Z"}`)
	w.live["approvals/appr-d"] = json.RawMessage(`{"status":"open"}`)
	w.live["threads/t"] = json.RawMessage(`{"status":"open","deadline":"2026-02-09T16:00:09Z"}`)
	assert.Equal(t, time.Date(2026, 2, 9, 16, 0, 2, 0, time.UTC), w.lastDeadline())
}

func TestTheLastLinesRepeatTheViolations(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	g := newRun(&project{}, setup{seed: 7}, &out)
	g.violate(nil, "a line is lost")
	assert.Equal(t, 1, strings.Count(out.String(), "a line is lost"), "at once")
	assert.False(t, g.report.end(g))
	_, last, found := strings.Cut(out.String(), "1 violations\n")
	require.True(t, found)
	assert.Equal(t, "VIOLATION (the pause, -seed 7): a line is lost\n", last)
}
