package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/doctor"
	"leslie/store/internal/jsonl"
	"leslie/store/internal/scan"
	"leslie/store/internal/state"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

// wordy is a store whose thread has an intent of 60 KB and was suspended and resumed
// thirty times, with the operation that spawned it.
func wordy(t testing.TB) (s *store.Store, spawn store.Call) {
	t.Helper()
	s = teststore.New(t, store.Options{})
	teststore.Add(t, s, "obj-a")
	intent := strings.Repeat("Say \"it\" at <length>. ", 60<<10/22)
	spawn = teststore.CallNamed("spawn")
	var err error
	spawn.Params, err = jsonl.Marshal(map[string]string{"id": "wordy", "intent": intent})
	require.NoError(t, err)
	spawn.Request = "try/1"
	rule := func(act func(*thread.State) error) func(*thread.State) (store.Outcome, error) {
		return func(st *thread.State) (store.Outcome, error) {
			return store.Outcome{Thread: "wordy", Answer: json.RawMessage(`{"data":1}`)}, act(st)
		}
	}
	_, err = s.Update(context.Background(), spawn, rule(func(st *thread.State) error {
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: scan.Place("wordy", "")})
		_, err := st.Spawn(thread.NewThread{ID: "wordy", Objective: "obj-a", Title: "T", Intent: intent}, spawn.Stamp)
		return err
	}))
	require.NoError(t, err)
	for i := range 60 {
		action := []thread.Action{thread.Suspend, thread.Resume}[i%2]
		call := teststore.CallNamed(fmt.Sprint("act-", i))
		_, err := s.Update(context.Background(), call, rule(func(st *thread.State) error {
			_, err := st.Lifecycle("wordy", action, fmt.Sprint("reason ", i), call.Stamp)
			return err
		}))
		require.NoError(t, err)
	}
	return s, spawn
}

func TestALongIntentIsWrittenOnce(t *testing.T) {
	t.Parallel()
	s, _ := wordy(t)
	text := "Say \\\"it\\\" at <length>. Say"
	const one = 60 << 10 / 22
	lines := strings.Count(string(teststore.Read(t, s, store.JournalFile)), text)
	assert.LessOrEqual(t, lines, one, "in the journal")
	assert.LessOrEqual(t, strings.Count(string(teststore.Read(t, s, store.StateFile)), text), one, "and in the state")
	assert.Less(t, len(teststore.Read(t, s, store.JournalFile)), 160<<10)
}

// What is left out of the journal is given back wherever the journal is needed.
func TestSlimLinesGiveEverythingBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	origin, spawn := wordy(t)
	records := recordsOfState(t, origin)
	for name, lose := range map[string]func(s *store.Store){
		"the state": func(s *store.Store) { teststore.Put(t, s, store.StateFile, []byte("{")) },
		"both, and it is rebuilt": func(s *store.Store) {
			teststore.Put(t, s, store.StateFile, []byte("{"))
			teststore.Put(t, s, store.BackupFile, []byte("{"))
			_, err := doctor.Doctor{Store: s}.Repair(ctx, teststore.RepairCall())
			require.NoError(t, err)
		},
	} {
		s := teststore.Copy(t, origin)
		lose(s)
		assert.Equal(t, records, recordsOfState(t, s), name)
		teststore.Add(t, s, "obj-next")
		d, err := doctor.Doctor{Store: s}.Diagnose(ctx)
		require.NoError(t, err)
		assert.True(t, d.Healthy, "%s: %v", name, d.Findings)
	}

	h, err := origin.History(ctx, store.HistoryQuery{})
	require.NoError(t, err)
	first := h.Operations[len(h.Operations)-2]
	assert.Equal(t, string(spawn.Params), string(first.Params))
	c, err := origin.Answered(ctx, spawn)
	require.NoError(t, err, "the call is known by its parameters")
	require.NotNil(t, c)
	teststore.Put(t, origin, state.AnswerFile("try/1"), []byte("{"))
	c, err = origin.Answered(ctx, spawn)
	require.NoError(t, err, "from the journal, too")
	require.NotNil(t, c)
	assert.JSONEq(t, `{"data":1}`, string(c.Replay))

	undo := teststore.CallNamed("undo")
	_, err = origin.Update(ctx, undo, func(st *thread.State) (store.Outcome, error) {
		_, err := st.Invert(h.Operations[0], undo.Stamp)
		return store.Outcome{Thread: "wordy"}, err
	})
	require.NoError(t, err)
	var th thread.Thread
	line, _ := thread.LineOf(recordsOfState(t, origin)[thread.TableThreads], "wordy")
	require.NoError(t, json.Unmarshal(line.JSON, &th))
	assert.Equal(t, thread.Suspended, th.Status)
	assert.Equal(t, "reason 58", th.Reason)
	assert.Greater(t, len(th.Intent), 59<<10)
}
