package store_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/doctor"
	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/state"
	"leslie/store/internal/teststore"
	"leslie/thread"
	"leslie/warnings"
)

// week is how long an answer is kept.
const week = 7 * 24 * time.Hour

func request(t testing.TB, s *store.Store, id, name string) store.Commit {
	t.Helper()
	call := teststore.CallNamed(name)
	call.Request = id
	c, err := s.Update(context.Background(), call, teststore.Create(name))
	require.NoError(t, err)
	return c
}

func TestARequestIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	first := request(t, s, "id", "obj-a")
	assert.True(t, first.Changed)
	teststore.Add(t, s, "obj-b")
	before := teststore.Listing(t, s)
	again := request(t, s, "id", "obj-a")
	assert.False(t, again.Changed)
	assert.JSONEq(t, `{"objectiveId":"obj-a"}`, string(again.Replay))
	assert.Equal(t, first.Operation, again.Operation)
	assert.True(t, teststore.HasWarning(again.Warnings, warnings.RequestReplayed))
	assert.Equal(t, before, teststore.Listing(t, s))
}

func TestARequestIdBelongsToOneCall(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	request(t, s, "id", "obj-a")
	call := teststore.CallNamed("obj-b")
	call.Request = "id"
	_, err := s.Update(context.Background(), call, teststore.Create("obj-b"))
	e := teststore.RequireCode(t, codes.InvalidArgument, err)
	assert.Equal(t, "id", e.Facts().Text("requestId"))
	_, err = s.Answered(context.Background(), call)
	teststore.RequireCode(t, codes.InvalidArgument, err)
}

func TestTheEarlyLookSeesAnAnswerThatHasNoFileYet(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	call := teststore.CallNamed("obj-a")
	call.Request = "id"
	c, err := s.Answered(context.Background(), call)
	require.NoError(t, err)
	assert.Nil(t, c)
	request(t, s, "id", "obj-a")
	require.NoError(t, os.RemoveAll(s.Path(store.RequestsDir)))
	c, err = s.Answered(context.Background(), call)
	require.NoError(t, err)
	require.NotNil(t, c)
	assert.JSONEq(t, `{"objectiveId":"obj-a"}`, string(c.Replay))
}

func TestADamagedAnswerDoesNotMakeACallRunTwice(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	request(t, s, "id", "obj-a")
	teststore.Add(t, s, "obj-b")
	teststore.Put(t, s, state.AnswerFile("id"), []byte("{"))
	again := request(t, s, "id", "obj-a")
	assert.False(t, again.Changed)
	assert.Equal(t, thread.OperationID("op-obj-a"), again.Operation)
}

func TestAnAnswerIsForgottenAfterAWeek(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	request(t, s, "id", "obj-a")
	later := teststore.With(s, store.Options{Now: func() time.Time { return teststore.Clock().Add(week + time.Second) }})
	call := teststore.CallNamed("obj-b")
	call.Request = "id"
	c, err := later.Update(context.Background(), call, teststore.Create("obj-b"))
	require.NoError(t, err)
	assert.True(t, c.Changed)
}

func TestOldAnswersAreRemovedNowAndThen(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	request(t, s, "old", "obj-old")
	request(t, s, "young", "obj-young")
	require.NoError(t, os.Chtimes(s.Path(state.AnswerFile("old")), teststore.Clock().Add(-week-time.Hour), teststore.Clock().Add(-week-time.Hour)))
	require.NoError(t, os.Chtimes(s.Path(state.AnswerFile("young")), teststore.Clock(), teststore.Clock()))
	for i, name := range teststore.Names(64) {
		assert.Equal(t, i < 64-2, saferoot.Exists(s.Path(state.AnswerFile("old"))), "revision %d", i+2)
		teststore.Add(t, s, name)
	}
	assert.True(t, saferoot.Exists(s.Path(state.AnswerFile("young"))))
}

func TestARequestIdOfAnyBytesIsKept(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	for _, id := range []string{"../../x", "a/b", "\x00\n", "ü", "-", string(make([]byte, 5000))} {
		name := "obj-" + string(state.AnswerFile(id)[9:20])
		first := request(t, s, id, name)
		again := request(t, s, id, name)
		assert.True(t, first.Changed)
		assert.False(t, again.Changed, "%q", id)
	}
}

func TestTheDigestDoesNotDependOnSpaces(t *testing.T) {
	t.Parallel()
	a := journal.Digest("spawn", json.RawMessage(`{"a": 1}`))
	assert.Equal(t, a, journal.Digest("spawn", json.RawMessage(`{"a":1}`)))
	assert.NotEqual(t, a, journal.Digest("spawn", json.RawMessage(`{"a":2}`)))
	assert.NotEqual(t, a, journal.Digest("done", json.RawMessage(`{"a":1}`)))
}

// A process that dies between the commit and its file work leaves an answer
// that tells of files which are not there yet: only a writer may repeat it.
func TestTheEarlyLookKeepsSilentWhileFilesAreMissing(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	call := teststore.CallNamed("obj-a")
	call.Request = "id"
	folder := thread.Step{Do: thread.StepMakeDir, To: store.ThreadsDir + "/made"}
	rule := func(st *thread.State) (store.Outcome, error) {
		st.Plan(folder)
		return teststore.Create("obj-a")(st)
	}
	broken := store.Open(s.Root(), store.Options{Before: func(a store.Action, path string) error {
		if a == store.ActMkdir {
			return os.ErrPermission
		}
		return nil
	}})
	first, err := broken.Update(context.Background(), call, rule)
	require.NoError(t, err)
	require.True(t, teststore.HasWarning(first.Warnings, warnings.NotSettled))

	early, err := s.Answered(context.Background(), call)
	require.NoError(t, err)
	assert.Nil(t, early)
	again, err := s.Update(context.Background(), call, rule)
	require.NoError(t, err)
	assert.NotNil(t, again.Replay)
	assert.DirExists(t, s.Path(folder.To))
}

func TestAnAnswerWithoutAnOperationBelongsToOneCall(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	request(t, s, "id", "obj-a")
	before := teststore.Listing(t, s)
	same, other := teststore.CallNamed("obj-a"), teststore.CallNamed("obj-b")
	same.Request, other.Request = "id", "id"
	require.NoError(t, s.Keep(context.Background(), same, 1, json.RawMessage(`{"objectiveId":"late"}`)))
	teststore.RequireCode(t, codes.InvalidArgument, s.Keep(context.Background(), other, 1, json.RawMessage(`{}`)))
	assert.Equal(t, before, teststore.Listing(t, s), "the first answer stands")
}

func TestAnAnswerWithoutAnOperationLeavesAStoreHealthy(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	call := teststore.CallNamed("obj-a")
	call.Request = "id"
	require.NoError(t, s.Keep(context.Background(), call, 0, json.RawMessage(`{}`)))
	d, err := doctor.Doctor{Store: s}.Diagnose(context.Background())
	require.NoError(t, err)
	assert.True(t, d.Healthy, "%v", d.Findings)
}
