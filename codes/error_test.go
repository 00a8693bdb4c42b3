package codes_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/fact"
)

func TestMessagesMatchTheContract(t *testing.T) {
	t.Parallel()
	id := func(key string) fact.Fact { return fact.Of(key, "x-1") }
	cases := []struct {
		name string
		err  *codes.Error
		want string
	}{
		{"T101", codes.ThreadNotFound.New(fact.Of("threadId", "thread-xyz")),
			"Thread 'thread-xyz' not found. It may have been archived or the ID is incorrect."},
		{"T102", codes.InvalidTransition.New(fact.Of("from", "completed"), fact.Of("to", "active")),
			"Invalid state transition from completed to active. The thread was not changed."},
		{"T108", codes.Claimed.New(id("threadId"), fact.Of("holder", "ada"), fact.Of("until", time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC))),
			"Thread 'x-1' is claimed by ada until 2026-02-09T16:00:00Z. The claim expires then unless its holder renews it."},
		{"T109", codes.WaitTimeout.New(fact.Of("duration", 100*time.Second)),
			"Nothing happened within 1m40s. Only the wait ended."},
		{"T203", codes.ScopeNotFound.New(fact.Of("path", "plan.md"), id("threadId")),
			"'plan.md' matches no artifact of 'x-1'. A scope names exact paths, folders or globs inside the thread's folder."},
		{"T404 without a reason", codes.ApprovalDenied.New(fact.Of("operation", "git_push"), fact.Of("actor", "ada"), fact.Of("reason", "")),
			"git_push was denied by ada. Repeating the request does not change the decision."},
		{"T501", codes.LockFailed.New(fact.Of("attempts", 10)),
			"File lock failed after 10 attempts. Nothing was changed."},
		{"T502 whose reason ends a sentence", codes.ParseError.New(fact.Of("reason", "unexpected end.")),
			"JSON parse error: unexpected end. Nothing was changed, and no file was deleted."},
		{"T903", codes.InvalidArgument.New(fact.Of("reason", "unknown flag --al (did you mean --all?)")),
			"unknown flag --al (did you mean --all?)"},
		{"T904", codes.Interrupted.New(),
			"Interrupted. The call ended before its work was done."},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, c.err.Error())
		})
	}
}

func TestTheSubjectFillsTheIDInTheMessage(t *testing.T) {
	t.Parallel()
	for _, e := range codes.Table() {
		facts := make([]fact.Fact, 0, len(e.Details()))
		for _, key := range e.Details() {
			facts = append(facts, fact.Of(key, "v-"+key))
		}
		err := e.Code.New(facts...)
		assert.NotContains(t, err.Error(), "{", "%s states %v", e.Code, e.Details())
		assert.NotContains(t, err.Hint(), "{", "%s states %v", e.Code, e.Details())
		if e.Next != "" {
			require.Len(t, err.Next(), 1, "%s", e.Code)
			assert.NotContains(t, err.Next()[0], "{", "%s", e.Code)
		}
	}
}

func TestTheHintIsFilledWithTheFacts(t *testing.T) {
	t.Parallel()
	err := codes.InvalidTransition.New(fact.Of("current", "suspended"))
	assert.Equal(t, "Thread is in suspended state", err.Hint())
	assert.Equal(t, "Wait for ada", err.WithHint("Wait for ada").Hint())
}

func TestNextComesFromTheCallOrElseFromTheTable(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		err  *codes.Error
		want []string
	}{
		{"a line without facts", codes.ThreadNotFound.New(), []string{"leslie list"}},
		{"a line with a fact", codes.InvalidTransition.New(fact.Of("threadId", "thread-xyz")), []string{"leslie status thread-xyz"}},
		{"a fact that is not stated", codes.MergeConflict.New(fact.Of("count", 2)), nil},
		{"a fact that a shell would run", codes.NotWritable.New(fact.Of("threadId", "x; rm -rf y")), nil},
		{"a code whose calls compose it", codes.AmbiguousID.New(), nil},
		{"a code that has none", codes.MistakeLimit.New(), nil},
		{"the call's own", codes.ThreadNotFound.New().WithNext("leslie status thread-xyy", "leslie list"), []string{"leslie status thread-xyy", "leslie list"}},
		{"the call wants none", codes.ThreadNotFound.New().WithNext(), []string{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, c.err.Next())
		})
	}
}

func TestWithChangesACopy(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk")
	first := codes.WriteFailed.Wrap(cause, fact.Of("path", "a"), fact.Of("reason", "full"))
	withFacts := first.With(fact.Of("path", "b"), fact.Of("changed", false))
	withHint := first.WithHint("h")
	withNext := first.WithNext("leslie list")
	withCause := first.WithCause(fs.ErrExist)

	assert.Equal(t, fact.New(fact.Of("path", "b"), fact.Of("reason", "full"), fact.Of("changed", false)), withFacts.Facts())
	assert.Equal(t, "h", withHint.Hint())
	assert.Equal(t, []string{"leslie list"}, withNext.Next())
	assert.ErrorIs(t, withCause, fs.ErrExist)
	assert.NotErrorIs(t, withCause, cause)
	for _, e := range []*codes.Error{withFacts, withHint, withNext} {
		assert.Equal(t, codes.WriteFailed, e.Code())
		assert.Equal(t, cause, e.Unwrap())
	}

	assert.Equal(t, fact.New(fact.Of("path", "a"), fact.Of("reason", "full")), first.Facts())
	assert.Equal(t, codes.WriteFailed.Entry().Hint, first.Hint())
	assert.Equal(t, []string{"leslie doctor"}, first.Next())
	assert.Equal(t, cause, first.Unwrap())
}

func TestAnErrorSharesNoMemoryWithItsCaller(t *testing.T) {
	t.Parallel()
	facts := []fact.Fact{fact.Of("threadId", "thread-a")}
	made, wrapped := codes.ThreadNotFound.New(facts...), codes.ThreadNotFound.Wrap(nil, facts...)
	lines := []string{"leslie list"}
	with := made.WithNext(lines...)
	facts[0] = fact.Of("threadId", "thread-b")
	lines[0] = "leslie stats"
	assert.Equal(t, "thread-a", made.Facts().Text("threadId"))
	assert.Equal(t, "thread-a", wrapped.Facts().Text("threadId"))
	with.Next()[0] = "leslie doctor"
	assert.Equal(t, []string{"leslie list"}, with.Next())
}

func TestWrapKeepsTheCauseReachable(t *testing.T) {
	t.Parallel()
	inner := codes.ParseError.Wrap(&fs.PathError{Op: "open", Path: "p", Err: fs.ErrPermission}, fact.Of("reason", "r"))
	err := fmt.Errorf("load: %w", codes.ReadFailed.Wrap(inner, fact.Of("path", "p"), fact.Of("reason", "r")))

	assert.ErrorIs(t, err, fs.ErrPermission)
	assert.ErrorIs(t, err, codes.ReadFailed.New(), "an empty error of a code matches it")
	assert.ErrorIs(t, err, codes.ParseError.New(), "an inner code too")
	assert.NotErrorIs(t, err, codes.LockFailed.New())
	var path *fs.PathError
	require.ErrorAs(t, err, &path)

	assert.Equal(t, codes.ReadFailed, codes.Of(err).Code(), "the outermost code counts")
	assert.True(t, codes.Has(err, codes.ReadFailed))
	assert.False(t, codes.Has(err, codes.ParseError))
	assert.NotContains(t, codes.Of(err).Error(), "permission", "the cause is not part of the message")
}

func TestAReasonLeavesOutThePathAndTheCode(t *testing.T) {
	t.Parallel()
	cause := &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrPermission}
	for want, err := range map[string]error{
		"permission denied": fmt.Errorf("reading: %w", cause),
		"no space left":     codes.WriteFailed.Wrap(cause, fact.Of("path", "/x"), fact.Of("reason", "no space left")),
		"plain":             errors.New(" plain\n"),
	} {
		assert.Equal(t, want, codes.Reason(err))
	}
}

func TestAnErrorWithoutACodeHasNone(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("plain")} {
		assert.Nil(t, codes.Of(err))
		assert.False(t, codes.Has(err, codes.Unknown))
	}
}

func TestExitStatusFollowsTheGroupOfTheCode(t *testing.T) {
	t.Parallel()
	groups := map[byte]int{'1': 11, '2': 12, '3': 13, '4': 14, '5': 15, '6': 16, '7': 17, '8': 18, '9': 1}
	own := map[codes.Code]int{codes.InvalidArgument: 2, codes.Interrupted: 130}
	for _, e := range codes.Table() {
		want, ok := own[e.Code]
		if !ok {
			want = groups[e.Code[1]]
		}
		assert.Equal(t, want, e.Code.ExitStatus(), "%s", e.Code)
	}
	for _, unknown := range []codes.Code{"", "T", "T001", "T1", "W101", "T1011"} {
		assert.Equal(t, 1, unknown.ExitStatus(), "%q", unknown)
	}
}

func TestAMessageAboutOneThingIsInTheSingular(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*codes.Error{
		"Merge conflict: 1 conflict unresolved":  codes.MergeConflict.New(fact.Of("count", 1)),
		"Merge conflict: 2 conflicts unresolved": codes.MergeConflict.New(fact.Of("count", 2)),
		"1 thread of 'ship' is not terminated":   codes.ThreadsNotTerminated.New(fact.Of("count", 1), fact.Of("objectiveId", "ship")),
		"File lock failed after 1 attempt.":      codes.LockFailed.New(fact.Of("attempts", 1)),
	} {
		assert.Contains(t, e.Error(), want)
	}
}
