package thread_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

// questioned opens a question of a thread to a person.
func (w *fixture) questioned(id, by string) thread.Question {
	w.t.Helper()
	q, told, err := w.Ask(thread.NewQuestion{ID: thread.QuestionID(id), Thread: by, Text: "Which " + id + "?"}, w.stamp(thread.Agent))
	require.NoError(w.t, err)
	require.Nil(w.t, told, "a person reads no messages")
	w.commit()
	return q
}

func TestAnAnswerIsDeliveredHoweverManyMessagesAreUnseen(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	w.questioned("q-1", "it")
	for i := range 100 {
		_, _, err := w.Inject(thread.NewInjection{ID: thread.InjectionID(fmt.Sprint("inj-", i)), Thread: "it", Type: thread.InjectData, Content: "x"}, w.stamp(thread.User))
		require.NoError(t, err)
	}
	w.commit()
	w.moved("it", thread.Done)
	q, told, err := w.Answer(thread.NewAnswer{Question: "q-1", Text: "This", Message: "inj-answer"}, w.stamp(thread.User))
	require.NoError(t, err, "nor does it matter that the thread has ended: it may be reopened")
	assert.Equal(t, thread.QuestionAnswered, q.Status)
	assert.Equal(t, thread.InjectionID("inj-answer"), q.Message)
	assert.Contains(t, told.Content, "This")
	it, err := w.Thread("it")
	require.NoError(t, err)
	assert.Len(t, it.Unseen(), 101)
}

func TestAThreadHasAHundredOpenQuestionsAtMost(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it", "other")
	for i := range 100 {
		w.questioned(fmt.Sprint("q-", i), "it")
	}
	_, _, err := w.Ask(thread.NewQuestion{ID: "q-more", Thread: "it", Text: "One more?"}, w.stamp(thread.Agent))
	failed(t, err, codes.TooLarge, map[string]any{"threadId": thread.ThreadID("it")})
	assert.Empty(t, w.Changes())
	w.questioned("q-other", "other")
	assert.Len(t, w.OpenQuestions(""), 101)
	w.moved("it", thread.Done)
	assert.Len(t, w.OpenQuestions(""), 1, "what an ended thread asked waits for nobody")
	assert.Len(t, w.OpenQuestions("it"), 100)
}

func TestQuestionsAreArchivedWithTheirThreadAndComeBackWithIt(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it")
	w.questioned("q-1111aaaa", "it")
	w.moved("it", thread.Cancel)
	op := w.did(thread.User, "archive", w.moving("it", thread.Archive))
	assert.Empty(t, w.QuestionsOf("it"))
	all, err := w.AllQuestions()
	require.NoError(t, err)
	assert.Len(t, all, 1)
	_, _, err = w.Answer(thread.NewAnswer{Question: "q-1111", Text: "x", Message: "inj-1"}, w.stamp(thread.User))
	failed(t, err, codes.NotWritable, map[string]any{"threadId": thread.ThreadID("it")})
	w.undone(thread.User, op)
	assert.Len(t, w.QuestionsOf("it"), 1)
}

func TestUndoOfAQuestionAndOfItsAnswer(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "it", "other")
	spawned := w.did(thread.Agent, "spawn", func(stamp thread.Stamp) error {
		_, err := w.Spawn(thread.NewThread{ID: "fresh", Parent: "it", Intent: "x", Title: "x"}, stamp)
		return err
	})
	asked := w.did(thread.Agent, "ask", func(stamp thread.Stamp) error {
		_, _, err := w.Ask(thread.NewQuestion{ID: "q-1", Thread: "fresh", Text: "Which?"}, stamp)
		return err
	})
	w.refused(thread.User, spawned, "later work depends on it: question 'q-1' names it")
	w.undone(thread.Agent, asked)
	assert.Empty(t, w.OpenQuestions(""))
	w.undone(thread.User, spawned)

	w.questioned("q-2", "it")
	answered := w.did(thread.User, "answer", func(stamp thread.Stamp) error {
		_, _, err := w.Answer(thread.NewAnswer{Question: "q-2", Text: "x", Message: "inj-1"}, stamp)
		return err
	})
	w.refused(thread.User, answered, "the injection was delivered")
	_, err := w.Invert(answered, w.stamp(thread.Agent))
	failed(t, err, codes.PermissionDenied, nil)
}
