package store_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/doctor"
	"leslie/store/internal/statefile"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

// This file reads states that newer versions of leslie wrote.

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
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, "obj-new")
	_, err := s.Update(ctx, teststore.CallNamed("spawn"), func(st *thread.State) (store.Outcome, error) {
		st.Threads.Put(thread.Thread{
			ID: "left", ObjectiveID: "obj-new", Created: thread.Attribution{At: teststore.Clock()}, Updated: teststore.Clock(),
			Injections: []thread.Injection{{ID: "inj-1", Type: "message", Seen: &thread.Attribution{At: teststore.Clock()}}},
		})
		return store.Outcome{}, nil
	})
	require.NoError(t, err)
	const question = `"q-1":{"questionId":"q-1","threadId":"","question":"Which?","status":"","created":{"at":"2026-02-09T12:00:00Z","as":"user","actor":"ann"},"revision":3,"tone":[{"x":1}]}`
	newer(t, s,
		`"questions":{`+"\n}", `"questions":{`+"\n"+question+"\n}",
		`"quarantined":[]`, `"sessions":{`+"\n"+`"s-1":{"a":"b","quarantined":[]}`+"\n},\n"+`"mood":"fine",`+"\n"+`"quarantined":[]`,
		`"threadId":"left",`, `"threadId":"left","colour":{"deep":[1,2]},`,
		`"seen":`, `"mark":7,"seen":`,
		`"type":"message"`, `"type":"message","why":"<because>"`,
	)
	was := recordsOfState(t, s)
	left, there := thread.LineOf(was[thread.TableThreads], "left")
	require.True(t, there)
	require.Contains(t, string(left.JSON), `"why":"<because>"`)

	call := teststore.CallNamed("edit")
	_, err = s.Update(ctx, call, func(st *thread.State) (store.Outcome, error) {
		l, _ := st.Threads.Get("left")
		assert.Equal(t, l, st.Threads.Put(l), "written back as it is, it is no change")
		l.Title = "Another title"
		l.Injections = append(slices.Clone(l.Injections), thread.Injection{ID: "inj-2", Type: "message"})
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
