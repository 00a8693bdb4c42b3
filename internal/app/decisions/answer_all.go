package decisions

import (
	"leslie/codes"
	"leslie/internal/app"
	"leslie/thread"
)

// This file goes through open questions with somebody who answers them, one after the
// other.

// OpenQuestion is a question as shown to whoever answers it.
type OpenQuestion struct {
	QuestionRecord
	Number, Of int    // its place among those that waited
	Title      string // of the thread that asks
	question   thread.Question
}

// Means returns the answer that a request to this question gives. Errors: T903 for a choice
// that was not offered.
func (q OpenQuestion) Means(in AnswerRequest) (string, error) { return q.question.Means(in.given()) }

// Answerer answers open questions, one after the other.
type Answerer interface {
	// Answer returns the answer to a question, nil to leave it open; quit leaves the rest
	// open, too.
	Answer(OpenQuestion) (in *AnswerRequest, quit bool, err error)
	// Gone reports that somebody else has answered a question in the meantime.
	Gone(thread.QuestionID)
}

// AnswerAllRequest goes through the open questions of a thread, or all of them.
type AnswerAllRequest struct {
	Thread   string // that asks; "": any
	Answerer Answerer
}

// AnswerAllResult has what was answered, and how many questions are still open.
type AnswerAllResult struct {
	Answered []QuestionRecord `json:"answered"`
	Open     int              `json:"open"`
	app.Change
}

// AnswerAll asks the answerer about each of these questions. It records each answer at
// once, so that nothing is lost if it is interrupted. Errors: those of the answerer and of
// Answer, T101 and T105 for the thread; answers given before stay recorded.
func AnswerAll(c *app.Call, in AnswerAllRequest) (*AnswerAllResult, error) {
	if in.Answerer == nil {
		return nil, app.FaultsError([]app.Fault{{Field: "Answerer", Problem: "Answerer is missing"}})
	}
	d := &AnswerAllResult{Answered: []QuestionRecord{}}
	left, err := forOpen(c, in.Thread, (*thread.State).OpenQuestions, func(q thread.Question, n, of int) (quit bool, err error) {
		answered, quit, err := answerOne(c, in.Answerer, q.ID, n, of)
		if answered != nil {
			d.Answered = append(d.Answered, answered.QuestionRecord)
		}
		return quit, err
	})
	if err != nil {
		return nil, err
	}
	d.Open = left
	d.SetChanged(len(d.Answered) > 0)
	return d, nil
}

// answerOne asks about one question. answered is nil if it is left open, or was answered
// in the meantime.
func answerOne(c *app.Call, by Answerer, id thread.QuestionID, n, of int) (answered *QuestionResult, quit bool, err error) {
	shown := OpenQuestion{Number: n, Of: of}
	if _, err := c.View(func(s *thread.State) (err error) {
		if shown.question, err = s.Question(string(id)); err != nil {
			return err
		}
		t, err := s.Thread(string(shown.question.ThreadID))
		shown.QuestionRecord, shown.Title = QuestionOf(shown.question), t.Title
		return err
	}); err != nil {
		return nil, false, err
	}
	if shown.Status != thread.QuestionOpen {
		by.Gone(id)
		return nil, false, nil
	}
	in, quit, err := by.Answer(shown)
	if err != nil || in == nil {
		return nil, quit, err
	}
	in.Question = string(id)
	if !c.InBatch() {
		c.NewOperation() // the time of the answer, not of the question before
	}
	answered, err = giveAnswer(c, *in)
	if codes.Has(err, codes.QuestionAnswered) || codes.Has(err, codes.NotWritable) {
		by.Gone(id)
		return nil, quit, nil
	}
	return answered, quit, err
}
