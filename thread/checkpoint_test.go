package thread_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

func checkpointIDs(t thread.Thread) (out []string) {
	for _, c := range t.Checkpoints {
		out = append(out, string(c.ID))
	}
	return out
}

func TestACheckpointRecordsContentTimeAndActor(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "thread-abcd1111")
	stamp := w.stamp(thread.Agent)
	c, th, err := w.Checkpoint(thread.NewCheckpoint{ID: "ckpt-1", Thread: "thread-abcd", Name: "before", Manifest: "m1", Files: 3}, stamp)
	require.NoError(t, err)
	want := thread.Checkpoint{
		ID: "ckpt-1", Name: "before", Manifest: "m1", Files: 3,
		Created: thread.Attribution{At: stamp.Time, As: thread.Agent, Actor: "ann"}, At: w.Revision + 1,
	}
	assert.Equal(t, want, c)
	assert.Equal(t, []thread.Checkpoint{want}, th.Checkpoints)
	assert.Equal(t, stamp.Time, th.Updated)
	assert.Equal(t, w.Revision+1, th.Revision)
	assert.False(t, c.Automatic())
}

func TestACheckpointNeedsALiveThreadAndANewName(t *testing.T) {
	t.Parallel()
	for _, status := range thread.Statuses() {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			w := standing(t, status)
			_, _, err := w.Checkpoint(thread.NewCheckpoint{ID: "ckpt-1", Thread: "it"}, w.stamp(thread.User))
			if !status.Terminated() {
				require.NoError(t, err)
				return
			}
			failed(t, err, codes.NotWritable, map[string]any{"threadId": thread.ThreadID("it")})
			assert.Empty(t, w.Changes())
		})
	}
	w := withThreads(t, "it", "other")
	w.did(thread.User, "checkpoint", w.checkpointing(thread.NewCheckpoint{ID: "ckpt-1", Thread: "it", Name: "before"}))
	_, _, err := w.Checkpoint(thread.NewCheckpoint{ID: "ckpt-2", Thread: "it", Name: "before"}, w.stamp(thread.User))
	e := failed(t, err, codes.AlreadyExists, map[string]any{"id": "before", "threadId": thread.ThreadID("it")})
	assert.Equal(t, []string{"leslie status it"}, e.Next())
	assert.Empty(t, w.Changes())
	_, _, err = w.Checkpoint(thread.NewCheckpoint{ID: "ckpt-2", Thread: "other", Name: "before"}, w.stamp(thread.User))
	assert.NoError(t, err, "another thread's names are its own")
	_, _, err = w.Checkpoint(thread.NewCheckpoint{ID: "ckpt-3", Thread: "it"}, w.stamp(thread.User))
	assert.NoError(t, err)
	_, _, err = w.Checkpoint(thread.NewCheckpoint{ID: "ckpt-4", Thread: "it"}, w.stamp(thread.User))
	assert.NoError(t, err, "no name is no name that is taken")
}

func TestACheckpointNameMustNotLookLikeAnID(t *testing.T) {
	t.Parallel()
	for name, fine := range map[string]bool{
		"": true, "before": true, "vor dem Umbau, 2. Anlauf": true, strings.Repeat("ü", 200): true,
		strings.Repeat("ü", 201): false, "ckpt-before": false, "ckpt-": false, "my ckpt-": true,
	} {
		assert.Equal(t, fine, thread.CheckpointNameFault(name) == "", "%.20q: %s", name, thread.CheckpointNameFault(name))
	}
}

func TestACheckpointIsFoundByIDNameOrPrefix(t *testing.T) {
	t.Parallel()
	th := thread.Thread{ID: "it", Checkpoints: []thread.Checkpoint{
		{ID: "ckpt-abcd1111"}, {ID: "ckpt-abcd2222", Name: "before"}, {ID: "ckpt-wxyz1111", Name: "abcd"}, {ID: "ckpt-wxyz"},
	}}
	for arg, want := range map[string]string{
		"ckpt-abcd1111": "ckpt-abcd1111", "ckpt-abcd1": "ckpt-abcd1111", "before": "ckpt-abcd2222", "abcd": "ckpt-wxyz1111",
		"ckpt-wxyz": "ckpt-wxyz", "ckpt-wxyz1": "ckpt-wxyz1111",
	} {
		got, err := th.CheckpointOf(arg)
		require.NoError(t, err, arg)
		assert.Equal(t, thread.CheckpointID(want), got.ID, arg)
	}
	for _, arg := range []string{"", "nope", "ck", "befor", "ckpt-zzzz1111"} {
		_, err := th.CheckpointOf(arg)
		e := failed(t, err, codes.CheckpointNotFound, map[string]any{"checkpointId": arg, "threadId": thread.ThreadID("it")})
		assert.Equal(t, []string{"leslie checkpoint list it", "leslie status it"}, e.Next(), arg)
	}
	_, err := th.CheckpointOf("befor")
	failed(t, err, codes.CheckpointNotFound, map[string]any{"nearest": "before"})
	_, err = th.CheckpointOf("ckpt-wxyz1112")
	failed(t, err, codes.CheckpointNotFound, map[string]any{"nearest": "ckpt-wxyz1111"})
	_, err = th.CheckpointOf("ckpt-abcd")
	e := failed(t, err, codes.AmbiguousID, map[string]any{"count": 2, "candidates": []thread.CheckpointID{"ckpt-abcd1111", "ckpt-abcd2222"}})
	assert.Equal(t, []string{"leslie status it"}, e.Next())
}

func TestTheNewestHundredAutomaticCheckpointsStay(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	w.did(thread.User, "checkpoint", w.checkpointing(thread.NewCheckpoint{ID: "ckpt-named", Thread: "it", Name: "first"}),
		w.checkpointing(thread.NewCheckpoint{ID: "ckpt-asked", Thread: "it"}))
	rollback := func(n int) func(thread.Stamp) error {
		return w.checkpointing(thread.NewCheckpoint{ID: thread.CheckpointID(fmt.Sprintf("ckpt-%03d", n)), Thread: "it", Undo: "u"})
	}
	var op thread.Operation
	for n := range 103 {
		op = w.did(thread.User, "rollback", rollback(n))
	}
	got := checkpointIDs(w.get("it"))
	require.Len(t, got, 102)
	assert.Equal(t, []string{"ckpt-named", "ckpt-asked", "ckpt-003"}, got[:3], "what was asked for stays, however old")
	assert.Equal(t, "ckpt-102", got[101])

	w.undone(thread.User, op)
	got = checkpointIDs(w.get("it"))
	assert.Equal(t, []string{"ckpt-named", "ckpt-asked", "ckpt-002"}, got[:3], "what made room for it is there again")
	assert.Equal(t, "ckpt-101", got[101])
}

func TestCheckpointsAreUndoneOneByOne(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	first := w.did(thread.User, "checkpoint", w.checkpointing(thread.NewCheckpoint{ID: "ckpt-1", Thread: "it", Name: "one"}))
	w.did(thread.User, "checkpoint", w.checkpointing(thread.NewCheckpoint{ID: "ckpt-2", Thread: "it"}))
	_, undo := w.undone(thread.User, first)
	assert.Equal(t, []string{"ckpt-2"}, checkpointIDs(w.get("it")), "a later one does not stand on it")
	w.refused(thread.User, first, "its checkpoint 'ckpt-1' is gone: it was undone, or dropped for newer ones")

	w.did(thread.User, "checkpoint", w.checkpointing(thread.NewCheckpoint{ID: "ckpt-3", Thread: "it", Name: "one"}))
	w.refused(thread.User, undo, "another checkpoint has the id or the name of 'ckpt-1'")
}

func TestTheUndoOfARollbackListsTheReplacedFiles(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	op := w.did(thread.User, "rollback", w.checkpointing(thread.NewCheckpoint{ID: "ckpt-1", Thread: "it", Undo: "list-1"}))
	w.did(thread.User, "rollback", w.checkpointing(thread.NewCheckpoint{ID: "ckpt-2", Thread: "it", Undo: "list-2"}))
	in, undo := w.undone(thread.User, op)
	assert.Equal(t, []thread.Replaced{{ThreadID: "it", List: "list-1"}}, in.Replaced)
	w.refused(thread.User, undo, "it restored files")
	asked := w.did(thread.User, "checkpoint", w.checkpointing(thread.NewCheckpoint{ID: "ckpt-3", Thread: "it"}))
	in, _ = w.undone(thread.User, asked)
	assert.Empty(t, in.Replaced, "a checkpoint replaced nothing")
	second := w.did(thread.User, "rollback", w.checkpointing(thread.NewCheckpoint{ID: "ckpt-4", Thread: "it", Undo: "list-4"}))
	w.moved("it", thread.Done)
	_, err := w.Invert(second, w.stamp(thread.User))
	failed(t, err, codes.NotWritable, nil)
}
