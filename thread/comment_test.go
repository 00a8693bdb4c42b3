package thread_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

// commented comments on a line of a thread's file.
func (w *fixture) commented(id, on, path string) thread.Comment {
	w.t.Helper()
	c, err := w.Comment(thread.NewComment{ID: thread.CommentID(id), Thread: on, Path: path, Lines: thread.Lines{2, 3}, Quote: "x", Text: "Why " + id + "?"}, w.stamp(thread.User))
	require.NoError(w.t, err)
	w.commit()
	return c
}

func TestAnOpenCommentKeepsAThreadFromBeingDoneAndMerged(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it", "other")
	all := func(thread.Comment) bool { return true }
	require.NoError(t, w.Reviewed([]thread.ThreadID{"other", "it"}, all))
	w.commented("c-1", "it", "plan.md")
	it, err := w.Thread("it")
	require.NoError(t, err)
	assert.Equal(t, thread.Unread{Comments: 1}, w.UnreadOf(it))
	_, waits := w.UnreadOf(it).Warning("it")
	assert.False(t, waits, "it is no message until it is sent")
	failed(t, w.UnreadOf(it).Refusal("it"), codes.UnreadMessages, map[string]any{"count": 0, "comments": 1})
	failed(t, w.Reviewed([]thread.ThreadID{"other", "it"}, all), codes.CommentsOpen, map[string]any{"threadId": thread.ThreadID("it"), "count": 1})
	require.NoError(t, w.Reviewed([]thread.ThreadID{"it"}, func(c thread.Comment) bool { return c.Path != "plan.md" }), "the merge does not bring it")

	sent, err := w.SendComments("it", []thread.CommentID{"c-1"}, thread.NewInjection{ID: "inj-1", Thread: "it", Type: thread.InjectFeedback, Content: "Why?"}, w.stamp(thread.User))
	require.NoError(t, err)
	w.commit()
	c, err := w.AnyComment("c-1")
	require.NoError(t, err)
	assert.Equal(t, sent.ID, c.Message)
	it, err = w.Thread("it")
	require.NoError(t, err)
	assert.Equal(t, thread.Unread{Count: 1, Comments: 1}, w.UnreadOf(it))

	c, err = w.ResolveComment("c-1", w.stamp(thread.Agent))
	require.NoError(t, err)
	assert.Equal(t, thread.Agent, c.Resolved.As)
	w.commit()
	require.NoError(t, w.Reviewed([]thread.ThreadID{"it"}, all))
	again, err := w.ResolveComment("c-1", w.stamp(thread.User))
	require.NoError(t, err)
	assert.Equal(t, thread.Agent, again.Resolved.As, "who resolved it first did")
	assert.Empty(t, w.Changes())
}

func TestTheSameCommentAgainIsTheOneThatThereIs(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it", "other")
	first := w.commented("c-1", "it", "plan.md")
	c, err := w.Comment(thread.NewComment{ID: "c-2", Thread: "it", Path: "plan.md", Lines: thread.Lines{2, 3}, Quote: "x", Text: "Why c-1?"}, w.stamp(thread.User))
	require.NoError(t, err)
	assert.Equal(t, first.ID, c.ID)
	assert.Empty(t, w.Changes())
	for i := range 199 {
		w.commented(fmt.Sprint("c-x", i), "it", "plan.md")
	}
	_, err = w.Comment(thread.NewComment{ID: "c-more", Thread: "it", Path: "plan.md", Text: "more"}, w.stamp(thread.User))
	failed(t, err, codes.TooLarge, map[string]any{"threadId": thread.ThreadID("it")})
	w.commented("c-other", "other", "plan.md")
	w.moved("it", thread.Done)
	assert.Len(t, w.OpenComments(""), 1, "what an ended thread was told waits for nobody")
	_, err = w.Comment(thread.NewComment{ID: "c-late", Thread: "it", Path: "plan.md", Text: "late"}, w.stamp(thread.User))
	failed(t, err, codes.NotWritable, nil)
	_, err = w.AnyComment("c-nobody")
	failed(t, err, codes.CommentNotFound, map[string]any{"commentId": "c-nobody"})
}

func TestCommentsAreArchivedWithTheirThreadAndComeBackWithIt(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	w.commented("c-1111", "it", "plan.md")
	w.moved("it", thread.Done)
	op := w.did(thread.User, "archive", w.moving("it", thread.Archive))
	assert.Empty(t, w.CommentsOf("it"))
	c, err := w.AnyComment("c-11")
	require.NoError(t, err)
	assert.Equal(t, "plan.md", c.Path)
	all, err := w.AllComments("it")
	require.NoError(t, err)
	assert.Len(t, all, 1)
	_, err = w.ResolveComment("c-1111", w.stamp(thread.User))
	failed(t, err, codes.NotWritable, map[string]any{"threadId": thread.ThreadID("it")})
	assert.True(t, op.Concerns("it"))
	w.undone(thread.User, op)
	assert.Len(t, w.CommentsOf("it"), 1)
}

func TestUndoOfACommentAndOfItsResolution(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	made := w.did(thread.User, "comment", func(stamp thread.Stamp) error {
		_, err := w.Comment(thread.NewComment{ID: "c-1", Thread: "it", Path: "plan.md", Text: "x"}, stamp)
		return err
	})
	resolved := w.did(thread.User, "comment resolve", func(stamp thread.Stamp) error { _, err := w.ResolveComment("c-1", stamp); return err })
	assert.Empty(t, w.OpenComments("it"))
	w.undone(thread.User, resolved)
	assert.Len(t, w.OpenComments("it"), 1)
	w.undone(thread.User, made)
	assert.Empty(t, w.CommentsOf("it"))
}
