package store

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store/internal/journal"
	"leslie/thread"
	"leslie/warnings"
)

// week is how long an answer is kept.
const week = 7 * 24 * time.Hour

func request(t testing.TB, s *Store, id, name string) Commit {
	t.Helper()
	call := callNamed(name)
	call.Request = id
	c, err := s.Update(context.Background(), call, create(name))
	require.NoError(t, err)
	return c
}

func TestARequestIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	first := request(t, s, "id", "obj-a")
	assert.True(t, first.Changed)
	add(t, s, "obj-b")
	before := listing(t, s)
	again := request(t, s, "id", "obj-a")
	assert.False(t, again.Changed)
	assert.JSONEq(t, `{"objectiveId":"obj-a"}`, string(again.Replay))
	assert.Equal(t, first.Operation, again.Operation)
	assert.True(t, hasWarning(again.Warnings, warnings.RequestReplayed))
	assert.Equal(t, before, listing(t, s))
}

func TestARequestIdBelongsToOneCall(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	request(t, s, "id", "obj-a")
	call := callNamed("obj-b")
	call.Request = "id"
	_, err := s.Update(context.Background(), call, create("obj-b"))
	e := requireCode(t, codes.InvalidArgument, err)
	assert.Equal(t, "id", e.Facts().Text("requestId"))
	_, err = s.Answered(context.Background(), call)
	requireCode(t, codes.InvalidArgument, err)
}

func TestTheEarlyLookSeesAnAnswerThatHasNoFileYet(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	call := callNamed("obj-a")
	call.Request = "id"
	c, err := s.Answered(context.Background(), call)
	require.NoError(t, err)
	assert.Nil(t, c)
	request(t, s, "id", "obj-a")
	require.NoError(t, os.RemoveAll(s.Path(RequestsDir)))
	c, err = s.Answered(context.Background(), call)
	require.NoError(t, err)
	require.NotNil(t, c)
	assert.JSONEq(t, `{"objectiveId":"obj-a"}`, string(c.Replay))
}

func TestADamagedAnswerDoesNotMakeACallRunTwice(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	request(t, s, "id", "obj-a")
	add(t, s, "obj-b")
	put(t, s, requestFile("id"), []byte("{"))
	again := request(t, s, "id", "obj-a")
	assert.False(t, again.Changed)
	assert.Equal(t, thread.OperationID("op-obj-a"), again.Operation)
}

func TestAnAnswerIsForgottenAfterAWeek(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	request(t, s, "id", "obj-a")
	later := with(s, Options{Now: func() time.Time { return noon.Add(week + time.Second) }})
	call := callNamed("obj-b")
	call.Request = "id"
	c, err := later.Update(context.Background(), call, create("obj-b"))
	require.NoError(t, err)
	assert.True(t, c.Changed)
}

func TestOldAnswersAreRemovedNowAndThen(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	request(t, s, "old", "obj-old")
	request(t, s, "young", "obj-young")
	require.NoError(t, os.Chtimes(s.Path(requestFile("old")), noon.Add(-week-time.Hour), noon.Add(-week-time.Hour)))
	require.NoError(t, os.Chtimes(s.Path(requestFile("young")), noon, noon))
	for i, name := range names(forgetEvery) {
		assert.Equal(t, i < forgetEvery-2, exists(s.Path(requestFile("old"))), "revision %d", i+2)
		add(t, s, name)
	}
	assert.True(t, exists(s.Path(requestFile("young"))))
}

func TestARequestIdOfAnyBytesIsKept(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	for _, id := range []string{"../../x", "a/b", "\x00\n", "ü", "-", string(make([]byte, 5000))} {
		name := "obj-" + string(requestFile(id)[9:20])
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
	s := newStore(t, Options{})
	call := callNamed("obj-a")
	call.Request = "id"
	folder := thread.Step{Do: thread.StepMakeDir, To: ThreadsDir + "/made"}
	rule := func(st *thread.State) (Outcome, error) {
		st.Plan(folder)
		return create("obj-a")(st)
	}
	broken := Open(s.Root(), Options{Before: func(a Action, path string) error {
		if a == ActMkdir {
			return os.ErrPermission
		}
		return nil
	}})
	first, err := broken.Update(context.Background(), call, rule)
	require.NoError(t, err)
	require.True(t, hasWarning(first.Warnings, warnings.NotSettled))

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
	s := newStore(t, Options{})
	request(t, s, "id", "obj-a")
	before := listing(t, s)
	same, other := callNamed("obj-a"), callNamed("obj-b")
	same.Request, other.Request = "id", "id"
	require.NoError(t, s.Keep(context.Background(), same, 1, json.RawMessage(`{"objectiveId":"late"}`)))
	requireCode(t, codes.InvalidArgument, s.Keep(context.Background(), other, 1, json.RawMessage(`{}`)))
	assert.Equal(t, before, listing(t, s), "the first answer stands")
}

func TestAnAnswerWithoutAnOperationLeavesAStoreHealthy(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	call := callNamed("obj-a")
	call.Request = "id"
	require.NoError(t, s.Keep(context.Background(), call, 0, json.RawMessage(`{}`)))
	d, err := s.Diagnose(context.Background())
	require.NoError(t, err)
	assert.True(t, d.Healthy, "%v", d.Findings)
}
