package store_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/doctor"
	"leslie/store/internal/statefile"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

// This file reads what others wrote: a store of version 2.0, which the last leslie of
// that version made in a real session, and states of newer versions.

func recordsOfState(t testing.TB, s *store.Store) thread.Records {
	t.Helper()
	out := thread.Records{}
	_, err := s.View(context.Background(), func(st *thread.State) error {
		for _, table := range thread.Tables() {
			out[table] = slices.Clone(st.Lines(table))
		}
		return nil
	})
	require.NoError(t, err)
	return out
}

func TestAStoreOfTheVersionBeforeIsReadAndUpgraded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := teststore.Version2(t, "testdata/v2.json")
	was := teststore.Readable(t, s)
	records := recordsOfState(t, s)
	old := teststore.Read(t, s, store.StateFile)
	require.Contains(t, string(old), `{"version":"2.0"`)
	for _, table := range []string{thread.TableObjectives, thread.TableThreads, thread.TableReferences, thread.TableApprovals, thread.TableMerges} {
		assert.NotEmpty(t, records[table], table)
	}
	before, err := s.History(ctx, store.HistoryQuery{})
	require.NoError(t, err)
	d, err := doctor.Doctor{Store: s}.Diagnose(ctx)
	require.NoError(t, err)
	assert.True(t, d.Healthy, "%v", d.Findings)
	assert.True(t, slices.ContainsFunc(d.Findings, func(f doctor.Finding) bool { return f.Code == "T506" && f.Info }), "doctor says so")

	c, err := s.Update(ctx, teststore.CallNamed("obj-new"), teststore.Create("obj-new"))
	require.NoError(t, err)
	assert.Empty(t, c.Warnings)
	assert.Contains(t, string(teststore.Read(t, s, store.StateFile)), `{"version":"3.0"`)
	assert.Equal(t, string(old), string(teststore.Read(t, s, store.UpgradedFile)), "the state of the version before is kept")

	now := recordsOfState(t, s)
	now[thread.TableObjectives] = slices.DeleteFunc(now[thread.TableObjectives], func(l thread.Line) bool { return l.ID == "obj-new" })
	assert.Equal(t, records, now, "no byte of a record is another")
	teststore.RequireKept(t, was, teststore.Readable(t, s))
	after, err := s.History(ctx, store.HistoryQuery{})
	require.NoError(t, err)
	assert.Equal(t, before.Operations, after.Operations[1:])
	d, err = doctor.Doctor{Store: s}.Diagnose(ctx)
	require.NoError(t, err)
	assert.True(t, d.Healthy, "%v", d.Findings)

	teststore.Add(t, s, "obj-third")
	assert.Equal(t, string(old), string(teststore.Read(t, s, store.UpgradedFile)))
	requireNoGap(t, s)
}

// A request of the version before is answered as it was.
func TestARequestOfTheVersionBeforeIsAnsweredStill(t *testing.T) {
	t.Parallel()
	s := teststore.Version2(t, "testdata/v2.json")
	ctx := context.Background()
	h, err := s.History(ctx, store.HistoryQuery{})
	require.NoError(t, err)
	asked := 0
	for _, op := range h.Operations {
		if op.RequestID == "" {
			continue
		}
		asked++
		call := store.Call{Stamp: thread.Stamp{Operation: "op-again", Time: op.Time}, Command: op.Command, Params: op.Params, Request: op.RequestID}
		for again := range 2 {
			c, err := s.Answered(ctx, call)
			require.NoError(t, err)
			require.NotNil(t, c)
			assert.Equal(t, op.ID, c.Operation)
			assert.NotEqual(t, "null", string(c.Replay))
			teststore.Add(t, s, fmt.Sprint("obj-", asked, "-", again))
		}
	}
	assert.Equal(t, 3, asked)
}

// Every way in which the upgrade can be cut off leaves the one or the other.
func TestAnUpgradeThatIsCutOffIsMadeByTheNextWrite(t *testing.T) {
	t.Parallel()
	origin := teststore.Version2(t, "testdata/v2.json")
	old := teststore.Read(t, origin, store.StateFile)
	for cut := 1; ; cut++ {
		s := teststore.Copy(t, origin)
		n := 0
		opts := store.Options{Now: teststore.Clock, Before: func(store.Action, string) error {
			if n++; n >= cut {
				return syscall.EIO
			}
			return nil
		}}
		_, err := teststore.RunWith(s.Root(), opts, teststore.CallNamed("obj-new"), teststore.Create("obj-new"))
		teststore.Add(t, s, "obj-next")
		assert.Contains(t, string(teststore.Read(t, s, store.StateFile)), `{"version":"3.0"`)
		kept := teststore.Read(t, s, store.UpgradedFile)
		assert.Equal(t, string(old), string(kept), "cut off at %d", cut)
		if err == nil {
			require.Greater(t, cut, 8)
			return
		}
	}
}

// A state of version 2.0 whose main file is damaged is recovered, and upgraded then.
func TestADamagedStateOfTheVersionBeforeIsRecovered(t *testing.T) {
	t.Parallel()
	s := teststore.Version2(t, "testdata/v2.json")
	records := recordsOfState(t, s)
	teststore.Put(t, s, store.StateFile, []byte("{"))
	assert.Equal(t, records, recordsOfState(t, s))
	r, err := doctor.Doctor{Store: s}.Repair(context.Background(), teststore.RepairCall())
	require.NoError(t, err)
	assert.True(t, r.After.Healthy, "%v", r.After.Findings)
	assert.Equal(t, records, recordsOfState(t, s))
	require.NoError(t, os.Remove(s.Path(store.StateFile)))
	require.NoError(t, os.Remove(s.Path(store.BackupFile)))
	_, err = doctor.Doctor{Store: s}.Repair(context.Background(), teststore.RepairCall())
	require.NoError(t, err)
	assert.Equal(t, records, recordsOfState(t, s), "the journal of the version before gives everything back")
}

// newer puts the state's file there as a newer leslie would have written it.
func newer(t testing.TB, s *store.Store, changes ...string) {
	t.Helper()
	text := strings.NewReplacer(append(changes, `{"version":"3.0"`, `{"version":"3.1"`)...).Replace(string(teststore.Read(t, s, store.StateFile)))
	data := []byte(text)
	statefile.Sum(data)
	require.True(t, statefile.Whole(data))
	teststore.Put(t, s, store.StateFile, data)
}

func TestWhatANewerLeslieWroteIsCarried(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := teststore.Version2(t, "testdata/v2.json")
	teststore.Add(t, s, "obj-new")
	const question = `"q-1":{"questionId":"q-1","threadId":"","question":"Which?","status":"","created":{"at":"2026-02-09T12:00:00Z","as":"user","actor":"ann"},"revision":3,"tone":[{"x":1}]}`
	newer(t, s,
		`"questions":{`+"\n}", `"questions":{`+"\n"+question+"\n}",
		`"quarantined":[]`, `"sessions":{`+"\n"+`"s-1":{"a":"b","quarantined":[]}`+"\n},\n"+`"mood":"fine",`+"\n"+`"quarantined":[]`,
		`"threadId":"left",`, `"threadId":"left","colour":{"deep":[1,2]},`,
		`"seen":`, `"mark":7,"seen":`,
		`"how":"spawn"`, `"how":"spawn","why":"<because>"`,
	)
	was := recordsOfState(t, s)
	left, there := thread.LineOf(was[thread.TableThreads], "left")
	require.True(t, there)
	require.Contains(t, string(left.JSON), `"why":"<because>"`)

	call := teststore.CallNamed("edit")
	_, err := s.Update(ctx, call, func(st *thread.State) (store.Outcome, error) {
		l, _ := st.Threads.Get("left")
		assert.Equal(t, l, st.Threads.Put(l), "written back as it is, it is no change")
		l.Title = "Another title"
		l.Checkpoints = append(slices.Clone(l.Checkpoints), thread.Checkpoint{ID: "ckpt-x", Manifest: "", Created: thread.Attribution{At: teststore.Clock()}})
		st.Threads.Put(l)
		q, _ := st.Questions.Get("q-1")
		st.Questions.Put(q)
		return store.Outcome{Thread: "left"}, nil
	})
	require.NoError(t, err)
	state := string(teststore.Read(t, s, store.StateFile))
	assert.Contains(t, state, `{"version":"3.1"`)
	assert.Contains(t, state, question)
	assert.Contains(t, state, `"sessions":{`+"\n"+`"s-1":{"a":"b","quarantined":[]}`+"\n},\n"+`"mood":"fine",`+"\n"+`"quarantined":[]`)
	now, _ := thread.LineOf(recordsOfState(t, s)[thread.TableThreads], "left")
	assert.Contains(t, string(now.JSON), `"title":"Another title"`)
	assert.Contains(t, string(now.JSON), `"colour":{"deep":[1,2]}`)
	assert.Contains(t, string(now.JSON), `"why":"<because>"`)

	teststore.Put(t, s, store.StateFile, []byte("{"))
	assert.Contains(t, string(mustLine(t, s, "left")), `"colour":{"deep":[1,2]}`, "recovered from the backup and the journal")
	teststore.Add(t, s, "obj-next")
	assert.Contains(t, string(teststore.Read(t, s, store.StateFile)), `"mood":"fine"`)
	r, err := doctor.Doctor{Store: s}.Repair(ctx, teststore.RepairCall()) // whose journal knows nothing of what the test wrote
	require.NoError(t, err)
	assert.True(t, r.After.Healthy, "%v", r.After.Findings)
	assert.Contains(t, string(teststore.Read(t, s, store.StateFile)), question)
}

func mustLine(t testing.TB, s *store.Store, id string) []byte {
	t.Helper()
	line, there := thread.LineOf(recordsOfState(t, s)[thread.TableThreads], id)
	require.True(t, there)
	return bytes.Clone(line.JSON)
}
