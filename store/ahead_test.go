package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/ledger"
	"leslie/store"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/teststore"
	"leslie/thread"
	"leslie/warnings"
)

// This file tests writing to a project on several machines when others have written before:
// what they did goes to the disk together with the own operation, once the log has that.

// othersWrite makes three operations on a machine: one with a request id, a thread, and a
// message to it.
func othersWrite(t *testing.T, s *store.Store) (request store.Call) {
	t.Helper()
	request = teststore.CallNamed("obj-theirs")
	request.Request = "try-theirs"
	_, err := s.Update(context.Background(), request, teststore.Create("obj-theirs"))
	require.NoError(t, err)
	spawnThread(t, s, "t1")
	message := thread.Step{Do: thread.StepAppend, To: "threads/t1/.meta/messages.jsonl", Line: `{"text":"hello"}`}
	_, err = s.Update(context.Background(), teststore.CallNamed("obj-message"), func(st *thread.State) (store.Outcome, error) {
		st.Plan(message)
		return teststore.Create("obj-message")(st)
	})
	require.NoError(t, err)
	return request
}

func TestTheLogHasAnOperationBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.machine(t, "a"), c.machine(t, "b")
	othersWrite(t, a)
	var order []string
	c.engine.After = func(call, _ string) error {
		if call == "append" {
			order = append(order, call)
		}
		return nil
	}
	s := teststore.With(b, store.Options{Link: c.link(t, "b"), Before: func(a store.Action, path string) error {
		if order = append(order, "disk"); strings.HasSuffix(path, store.StateFile) && a == store.ActRename {
			order = append(order, "state")
		}
		return nil
	}})
	made, err := s.Update(context.Background(), teststore.CallNamed("obj-own"), teststore.Create("obj-own"))
	require.NoError(t, err)
	assert.Empty(t, made.Warnings)
	assert.Equal(t, "append", order[0])
	assert.Equal(t, 1, count(order, "append"))
	assert.Equal(t, 1, count(order, "state"), "one new state has all of it")
	c.engine.After = nil
	assert.Equal(t, `{"text":"hello"}`, strings.TrimSpace(readFile(t, b, "t1", ".meta/messages.jsonl")))
	h, err := b.History(context.Background(), store.HistoryQuery{})
	require.NoError(t, err)
	assert.Len(t, h.Operations, 4)
	requireAlike(t, a, b)
}

func count(all []string, one string) (n int) {
	for _, x := range all {
		if x == one {
			n++
		}
	}
	return n
}

// What a call is refused because of, or finds nothing to change because of, is on disk when
// it answers.
func TestWhatARefusalRestsOnIsOnDisk(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]func(*thread.State) (store.Outcome, error){
		"refused":           func(*thread.State) (store.Outcome, error) { return store.Outcome{}, codes.ObjectiveNotFound.New() },
		"nothing to change": func(*thread.State) (store.Outcome, error) { return store.Outcome{}, nil },
	} {
		c := newCluster(t)
		a, b := c.machine(t, "a"), c.machine(t, "b")
		othersWrite(t, a)
		made, err := b.Update(context.Background(), teststore.CallNamed("obj-own"), rule)
		assert.Equal(t, name == "refused", codes.Has(err, codes.ObjectiveNotFound))
		_, view, failed := teststore.Seen(b)
		require.NoError(t, failed)
		assert.Equal(t, thread.Revision(3), view.Revision, name)
		if err == nil {
			assert.Equal(t, view.Revision, made.Revision, name)
		}
		requireAlike(t, a, b)
	}
}

// A request that another machine answered is answered before it is on this disk, too.
func TestARequestIsKnownBeforeItIsOnDisk(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.machine(t, "a"), c.machine(t, "b")
	request := othersWrite(t, a)
	request.Stamp.Operation = "op-again"
	again, err := b.Update(context.Background(), request, teststore.Create("obj-again"))
	require.NoError(t, err)
	assert.JSONEq(t, `{"objectiveId":"obj-theirs"}`, string(again.Replay))
	assert.True(t, teststore.HasWarning(again.Warnings, warnings.RequestReplayed))
	requireAlike(t, a, b)
}

// A writer that is killed at any step, or whose disk fails at one, leaves a copy that
// agrees with the log, and readers see a beginning of the log at each step.
func TestAWriterBehindOthersIsKilledAtAnyStep(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{true, false} {
		for step := 1; ; step++ {
			c := newCluster(t)
			a, b := c.machine(t, "a"), c.machine(t, "b")
			theirs := othersWrite(t, a)
			n := 0
			s := teststore.With(b, store.Options{Link: c.link(t, "b"), Before: func(store.Action, string) error {
				beginsLikeTheLog(t, b)
				if n++; n == step || killed && n > step {
					return errors.New("fails")
				}
				return nil
			}})
			own := teststore.CallNamed("obj-own")
			own.Request = "try-own"
			made, err := s.Update(context.Background(), own, teststore.Create("obj-own"))
			whole := teststore.With(b, store.Options{Link: c.link(t, "b")})
			beginsLikeTheLog(t, whole)
			for _, call := range []store.Call{theirs, own} {
				call.Stamp.Operation = "op-again"
				again, failed := whole.Update(context.Background(), call, teststore.Create("obj-again"))
				require.NoError(t, failed, "step %d", step)
				assert.Equal(t, err == nil && made.Changed || call.Request != "try-own", again.Replay != nil, "step %d", step)
			}
			assert.Equal(t, `{"text":"hello"}`, strings.TrimSpace(readFile(t, b, "t1", ".meta/messages.jsonl")), "step %d", step)
			requireAlike(t, a, whole)
			if step > n {
				assert.Greater(t, n, 15, "steps were counted")
				break
			}
		}
	}
}

// beginsLikeTheLog checks that a reader sees a state that the log went through.
func beginsLikeTheLog(t *testing.T, s *store.Store) {
	t.Helper()
	found, view, err := teststore.Seen(s)
	require.NoError(t, err)
	assert.False(t, teststore.HasWarning(view.Warnings, warnings.Recovered))
	all := [][]string{nil, {"obj-theirs"}, {"obj-theirs", "ship"}, {"obj-message", "obj-theirs", "ship"}, {"obj-message", "obj-own", "obj-theirs", "ship"}}
	require.Less(t, int(view.Revision), len(all))
	assert.True(t, slices.Equal(all[view.Revision], found), "%d: %q", view.Revision, found)
}

// What rules look up outside the state is on disk when they run: the archive, and folders
// that others removed.
func TestWhatRulesReadOutsideTheStateIsOnDisk(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.machine(t, "a")
	spawnThread(t, a, "t1")
	b := c.machine(t, "b")
	writeFile(t, b, "t1", "plan.md", "1\n")
	_, err := a.Update(context.Background(), teststore.CallNamed("obj-gone"), func(st *thread.State) (store.Outcome, error) {
		st.Threads.Delete("t1")
		st.Plan(thread.Step{Do: thread.StepRemove, To: "threads/t1"})
		return teststore.Create("obj-gone")(st)
	})
	require.NoError(t, err)
	gone := false
	_, err = b.Update(context.Background(), teststore.CallNamed("obj-b"), func(st *thread.State) (store.Outcome, error) {
		gone = !saferoot.Exists(b.Path("threads/t1"))
		return teststore.Create("obj-b")(st)
	})
	require.NoError(t, err)
	assert.True(t, gone, "when the rule ran for the last time")
	requireAlike(t, a, b)
}

// Whoever is too late several times has all that came first in the end.
func TestWhoeverIsLateSeveralTimesHasAllThatCameFirst(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.machine(t, "a"), c.machine(t, "b")
	othersWrite(t, a)
	ran := 0
	made, err := b.Update(context.Background(), teststore.CallNamed("obj-own"), func(st *thread.State) (store.Outcome, error) {
		if ran++; ran <= 3 { // each time another machine is faster
			teststore.Add(t, a, "obj-fast-"+string(rune('a'+ran)))
		}
		return teststore.Create("obj-own")(st)
	})
	require.NoError(t, err)
	assert.Equal(t, thread.Revision(7), made.Revision)
	text, err := json.Marshal(made.Warnings)
	require.NoError(t, err)
	assert.Equal(t, "null", string(text))
	requireAlike(t, a, b)
}

// Files that another machine published go to the folder of a thread that is not on disk yet.
func TestFilesOfAThreadThatIsInMemoryAreFetched(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.machine(t, "a"), c.machine(t, "b")
	spawnThread(t, a, "t1")
	writeFile(t, a, "t1", "plan.md", "1\n")
	publishFiles(t, a, "t1", "first")
	_, err := b.Update(context.Background(), teststore.CallNamed("obj-b"), func(st *thread.State) (store.Outcome, error) {
		st.HandOn("t1")
		return teststore.Create("obj-b")(st)
	})
	require.NoError(t, err)
	assert.Equal(t, "1\n", readFile(t, b, "t1", "plan.md"))
	requireAlike(t, a, b)
	assert.Empty(t, fetch(t, b, "t1"))
}

// An answer that is only in memory counts for the first of several operations, too.
func TestNothingIsDoneForARequestThatIsAnsweredInMemory(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.machine(t, "a"), c.machine(t, "b")
	request := othersWrite(t, a)
	call := teststore.CallNamed("obj-own")
	call.Unless = &request
	made, err := b.Update(context.Background(), call, teststore.Create("obj-own"))
	require.ErrorIs(t, err, store.ErrAnswered)
	assert.False(t, made.Changed)
	first, err := b.Answered(context.Background(), request)
	require.NoError(t, err)
	assert.NotNil(t, first, "it is on disk")
}

// Ask says where the log ends: Update begins there, and nothing is on this disk before the
// log has the operation. A Refresh in between uses the same answer.
func TestAskedUpdateBeginsWhereTheLogEnds(t *testing.T) {
	t.Parallel()
	for _, refreshed := range []bool{false, true} {
		c := newCluster(t)
		a, b := c.machine(t, "a"), c.machine(t, "b")
		othersWrite(t, a)
		l := c.link(t, "b")
		counted := &turns{Ledger: l.Ledger}
		l.Ledger = counted
		calls := map[string]int{}
		c.engine.After = func(call, _ string) error { calls[call]++; return nil }
		s := teststore.With(b, store.Options{Link: l})
		before := teststore.Listing(t, s)
		end, err := s.Ask(context.Background())
		require.NoError(t, err)
		assert.Equal(t, before, teststore.Listing(t, s))
		if refreshed {
			_, err := s.Refresh(context.Background(), end)
			require.NoError(t, err)
		}
		ran := 0
		call := teststore.CallNamed("obj-own")
		call.LogEnd = end
		made, err := s.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
			ran++
			return teststore.Create("obj-own")(st)
		})
		require.NoError(t, err)
		assert.Equal(t, thread.Revision(4), made.Revision)
		assert.Equal(t, 1, ran, "on the log's end at once")
		assert.Equal(t, 1, calls["head"])
		assert.Equal(t, 1, counted.taken, "another machine wrote just now")
		c.engine.After = nil
		requireAlike(t, a, b)
	}
}

// An answer that did not come is not waited for twice.
func TestARemoteThatIsSilentIsAskedOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.machine(t, "a")
	teststore.Add(t, a, "obj-1")
	asked := 0
	c.engine.Before = func(call, _ string) error {
		if asked++; call != "head" {
			t.Error(call)
		}
		return ledger.ErrUnreachable
	}
	end, err := a.Ask(context.Background())
	teststore.RequireCode(t, codes.RemoteUnreachable, err)
	notes, err := a.Refresh(context.Background(), end)
	require.NoError(t, err)
	assert.True(t, teststore.HasWarning(notes, warnings.CacheOld))
	assert.Equal(t, 1, asked)
}

// Lines of many messages are on disk together: one after the other each waits for the disk.
func TestLinesOfManyMessagesAreMadeDurableTogether(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.machine(t, "a")
	ids := []string{"t1", "t2", "t3"}
	for _, id := range ids {
		spawnThread(t, a, id)
	}
	b := c.machine(t, "b")
	for _, id := range ids {
		_, err := a.Update(context.Background(), teststore.CallNamed("obj-"+id), func(st *thread.State) (store.Outcome, error) {
			st.Plan(thread.Step{Do: thread.StepAppend, To: "threads/" + id + "/.meta/messages.jsonl", Line: `{}`})
			return teststore.Create("obj-" + id)(st)
		})
		require.NoError(t, err)
	}
	var lines []string
	s := teststore.With(b, store.Options{Link: c.link(t, "b"), Before: func(a store.Action, path string) error {
		if strings.HasSuffix(path, "messages.jsonl") && a != store.ActCreate {
			lines = append(lines, string(a))
		}
		return nil
	}})
	refresh(t, s)
	assert.Equal(t, []string{"write", "write", "write", "fsync", "fsync", "fsync"}, lines)
	requireAlike(t, a, b)
}
