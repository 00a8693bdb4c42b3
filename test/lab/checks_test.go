//go:build unix

package lab

import (
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
	made := Operation{Seq: 1, Changes: []Change{{Record: "threads/t", After: raw(`{"a":1}`)}}}
	taken := func(seq int64, at time.Duration, before, after json.RawMessage) Operation {
		return Operation{Seq: seq, Time: noon(at), Changes: []Change{{Record: "threads/t", Before: before, After: after}}}
	}
	for name, tc := range map[string]struct {
		ops  []Operation
		says string
	}{
		"nothing":                   {nil, ""},
		"one after the other":       {[]Operation{made, taken(2, 0, raw(`{"a":1}`), raw("null"))}, ""},
		"a gap":                     {[]Operation{made, {Seq: 3}}, "it follows operation 1"},
		"a number twice":            {[]Operation{made, {Seq: 1}}, "it follows operation 1"},
		"a lost change":             {[]Operation{made, taken(2, 0, raw(`{"a":0}`), raw(`{"a":2}`))}, "is lost"},
		"a record made twice":       {[]Operation{made, taken(2, 0, nil, raw(`{"a":2}`))}, "is lost"},
		"a request twice":           {[]Operation{{Seq: 1, RequestID: "r"}, {Seq: 2, RequestID: "r"}}, "was carried out by operation 1"},
		"a thread that is claimed":  {[]Operation{taken(1, 0, nil, held("a", time.Hour)), taken(2, time.Minute, held("a", time.Hour), held("b", 2*time.Hour))}, "which a holds"},
		"a claim that expired":      {[]Operation{taken(1, 0, nil, held("a", time.Second)), taken(2, time.Minute, held("a", time.Second), held("b", time.Hour))}, ""},
		"a claim that was released": {[]Operation{taken(1, 0, nil, held("a", time.Hour)), taken(2, 0, held("a", time.Hour), raw("{}")), taken(3, 0, raw("{}"), held("b", time.Hour))}, ""},
		"a claim that is renewed":   {[]Operation{taken(1, 0, nil, held("a", time.Hour)), taken(2, 0, held("a", time.Hour), held("a", 2*time.Hour))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := NewModel()
			var problems []string
			for _, op := range tc.ops {
				problems = append(problems, m.Apply(op)...)
			}
			requireSays(t, tc.says, problems)
		})
	}
}

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
			o := Outcome{Status: tc.status, Killed: tc.killed, Stdout: []byte(tc.stdout), Stderr: []byte(tc.stderr)}
			o.Doc, _ = harness.Read(o.Stdout)
			got := Line{May: "T101"}.Wrong(o)
			if tc.says == "" {
				assert.Empty(t, got)
				return
			}
			assert.Contains(t, got, tc.says)
		})
	}
	assert.NotEmpty(t, Line{}.Wrong(Outcome{Err: errors.New("it took too long")}))
}

func TestAStreamHasOnlyJSONLinesAndOneError(t *testing.T) {
	t.Parallel()
	l := Line{Stream: true, May: "T101"}
	gone := `{"success":false,"error":{"code":"T101","details":{"operation":"observe","changed":false}}}`
	assert.Empty(t, l.Wrong(Outcome{Stdout: []byte("{\"seq\":1}\n{\"seq\":2}\n")}))
	assert.Empty(t, l.Wrong(Outcome{Status: 11, Stderr: []byte(gone)}))
	assert.Contains(t, l.Wrong(Outcome{Stdout: []byte("{\"seq\":1}\n{\"se\n")}), "not JSON")
	assert.Contains(t, l.Wrong(Outcome{Status: 11}), "not one error")
}

func TestRecordsThatDifferFromTheJournalAreFound(t *testing.T) {
	t.Parallel()
	want := map[string]json.RawMessage{"threads/a": raw(`{"x":1}`), "threads/b": raw(`{}`)}
	m := &Model{Live: want}
	assert.Empty(t, m.Differing(want))
	requireSays(t, "is not what the journal says", m.Differing(map[string]json.RawMessage{"threads/a": raw(`{"x":2}`), "threads/b": raw(`{}`)}))
	requireSays(t, "not in the state", m.Differing(map[string]json.RawMessage{"threads/a": raw(`{"x":1}`)}))
	requireSays(t, "not in the journal", NewModel().Differing(map[string]json.RawMessage{"threads/b": raw(`{}`)}))
}

func TestLiveRecordsCountBeforeArchivedOnes(t *testing.T) {
	t.Parallel()
	m := NewModel()
	m.Archived["threads/a"], m.Archived["threads/b"] = raw(`{"status":"archived"}`), raw(`{"status":"archived"}`)
	m.Live["threads/a"] = raw(`{"status":"active"}`)
	assert.Equal(t, map[string]string{"a": "active", "b": "archived"}, m.Statuses())
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

func TestAPauseWaitsForTheLastDeadlineOfAnOpenRequest(t *testing.T) {
	t.Parallel()
	m := NewModel()
	assert.True(t, m.LastDeadline().IsZero(), "there is none")
	m.Live["approvals/appr-a"] = json.RawMessage(`{"status":"open","deadline":"2026-02-09T16:00:01Z"}`)
	m.Live["approvals/appr-b"] = json.RawMessage(`{"status":"open","deadline":"2026-02-09T16:00:02Z"}`)
	m.Live["approvals/appr-c"] = json.RawMessage(`{"status":"skipped","deadline":"2026-02-09T16:00:09Z"}`)
	m.Live["approvals/appr-d"] = json.RawMessage(`{"status":"open"}`)
	m.Live["threads/t"] = json.RawMessage(`{"status":"open","deadline":"2026-02-09T16:00:09Z"}`)
	assert.Equal(t, time.Date(2026, 2, 9, 16, 0, 2, 0, time.UTC), m.LastDeadline())
}

func TestLeftoversAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "tmp"), 0o755))
	assert.Empty(t, Leftovers(dir))
	for _, name := range []string{".thread_relations.json5577006791947779410", "operations.jsonl.set-aside-20261120T120000Z", "tmp/op-aaaaaaaa"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	found := strings.Join(Leftovers(dir), "\n")
	assert.Equal(t, 2, strings.Count(found, "\n"), "%s", found)
}
