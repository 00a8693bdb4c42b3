package app

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file handles questions: asking, waiting for the answer, answering, and the list.

// Limits of a question.
const (
	maxChoices = 20
	maxChoice  = 200 // characters
)

// AskRequest asks a person, or another thread's agent.
type AskRequest struct {
	Thread   string // that asks; "": the thread that the caller speaks for
	To       string // the thread that is asked; "": a person
	Question string
	Choices  []string // what may be chosen; nil: any text
	// Wait: return when the question is answered, after Timeout with T401 (0: never, but
	// AgentsPatience for an agent). Waiting, if not nil, is called when the wait starts.
	Wait    bool
	Timeout time.Duration
	Waiting func(thread.QuestionID)
}

// Faults returns what is wrong with the request.
func (in AskRequest) Faults(name Names) []Fault {
	k := newChecks(name)
	k.content("Question", in.Question)
	k.ids("To", in.To)
	if len(in.Choices) > maxChoices {
		k.add("Choices", "", "is given %d times; at most %d", len(in.Choices), maxChoices)
	}
	for i, choice := range in.Choices {
		switch {
		case strings.TrimSpace(choice) == "":
			k.add("Choices", choice, "is empty")
		case utf8.RuneCountInString(choice) > maxChoice:
			k.add("Choices", "", "takes at most %d characters", maxChoice)
		case slices.Contains(in.Choices[:i], choice):
			k.add("Choices", choice, "is given twice: %s", quoted(choice))
		}
	}
	switch {
	case in.Timeout < 0:
		k.add("Timeout", in.Timeout.String(), "must not be negative")
	case in.Timeout > 0 && !in.Wait:
		k.add("Timeout", in.Timeout.String(), "needs %s", k.name("Wait"))
	}
	return k.faults
}

// QuestionRecord is a question.
type QuestionRecord struct {
	QuestionID thread.QuestionID     `json:"questionId"`
	ThreadID   thread.ThreadID       `json:"threadId"` // that asks
	To         string                `json:"to"`       // human, or the thread that is asked
	Question   string                `json:"question"`
	Choices    []string              `json:"choices"`
	Status     thread.QuestionStatus `json:"status"`
	Answer     *string               `json:"answer"`
	CreatedAt  time.Time             `json:"createdAt"`
	CreatedBy  Actor                 `json:"createdBy"`
	AnsweredAt *time.Time            `json:"answeredAt"`
	AnsweredBy *Actor                `json:"answeredBy"`
	Revision   thread.Revision       `json:"revision"`
}

func questionOf(q thread.Question) QuestionRecord {
	d := QuestionRecord{
		QuestionID: q.ID, ThreadID: q.ThreadID, To: string(thread.ByHuman), Question: q.Text, Choices: append([]string{}, q.Choices...),
		Status: q.Status, CreatedAt: q.Created.At, CreatedBy: actorOf(q.Created), Revision: q.Revision,
	}
	if q.To != "" {
		d.To = string(q.To)
	}
	if q.Answered != nil {
		by := actorOf(*q.Answered)
		d.Answer, d.AnsweredAt, d.AnsweredBy = &q.Answer, &q.Answered.At, &by
	}
	return d
}

// QuestionResult is a question after a change.
type QuestionResult struct {
	QuestionRecord
	// Met says whether the answer has come, nil for a call that did not wait. Messages: the
	// wait ended because messages wait for the caller's thread; Next is the command that
	// waits again then.
	Met      *bool  `json:"met,omitempty"`
	Messages bool   `json:"messages,omitempty"`
	Next     string `json:"next,omitempty"`
	Change
}

// Ask opens a question; the same question again is the one that is open. The answer
// reaches the thread as a message. Errors: T903, T101, T105, T107, T108, T508, and those of
// a write; of a wait: T401, T904. A wait also ends when messages wait for the thread whose
// agent the caller is (Messages). The question stays open however the wait ends.
func Ask(c *Call, in AskRequest) (*QuestionResult, error) {
	if err := refused(in.Faults(nil)); err != nil {
		return nil, err
	}
	id := c.threadOr(in.Thread)
	if in.Wait {
		catchSignals(c)
	}
	d, err := write(c, func(s *thread.State, stamp thread.Stamp) (*QuestionResult, thread.ThreadID, error) {
		if err := mayAskFor(c, s, id, stamp); err != nil {
			return nil, "", err
		}
		q, told, err := s.Ask(thread.NewQuestion{
			ID: newQuestionID(c, s), Thread: id, To: in.To, Text: in.Question, Choices: in.Choices, Message: newMessageID(c, s),
		}, stamp)
		if err != nil {
			return nil, "", err
		}
		if told != nil {
			note(s, q.To, told.Line())
		}
		return &QuestionResult{QuestionRecord: questionOf(q)}, q.ThreadID, nil
	})
	if err != nil || !in.Wait {
		return d, err
	}
	return awaitAnswer(c, d, in)
}

// mayAskFor refuses, inside a rule, an agent that asks in the name of a thread which
// somebody else has claimed, and for which it neither speaks nor leads. Errors: T101,
// T105, T108.
func mayAskFor(c *Call, s *thread.State, id string, stamp thread.Stamp) error {
	t, err := s.Thread(id)
	if err != nil || isOwnAgent(c, s, t.ID) {
		return err
	}
	if _, err = s.RespectClaim(id, stamp); err == nil {
		return nil
	}
	return codes.Of(err).WithHint("This asks in the name of " + string(t.ID) + ". To ask the agent of " + string(t.ID) + ": leslie ask --to " + string(t.ID) +
		" --question TEXT, in the name of the thread that you speak for").WithNext("leslie context " + string(t.ID))
}

func newQuestionID(c *Call, s *thread.State) thread.QuestionID {
	return thread.QuestionID(c.newID("", thread.PrefixQuestion, func(id string) bool {
		_, taken := s.Questions.Peek(id)
		return taken
	}))
}

// awaitAnswer waits until a question is answered, or messages wait for the caller's
// thread. The thread's own agent, which gets the answer here, has seen the message with
// it. Errors: T401, T904, those of a view.
func awaitAnswer(c *Call, d *QuestionResult, in AskRequest) (*QuestionResult, error) {
	patience := in.Timeout
	if patience == 0 && !c.caller.As.Person() {
		patience = AgentsPatience
	}
	if in.Waiting != nil && d.Status == thread.QuestionOpen {
		in.Waiting(d.QuestionID)
	}
	asked := d.Changed
	var q thread.Question
	var open, own, messages bool
	var again string
	err := await(c, patience, func(s *thread.State) (_ bool, _ time.Time, err error) {
		q, err = s.Question(string(d.QuestionID))
		open = err == nil && q.Status == thread.QuestionOpen
		own = err == nil && isOwnAgent(c, s, q.ThreadID)
		messages, again = open && messagesWait(c, s), waitForAnswer(q, own, s.Revision)
		return !open || messages, time.Time{}, err
	})
	switch {
	case codes.Has(err, codes.WaitTimeout):
		return nil, codes.ApprovalTimeout.New(fact.Of("duration", patience), fact.Ms("duration", patience),
			fact.Of("questionId", d.QuestionID), fact.Of("threadId", d.ThreadID)).
			WithHint("The question stays open; the answer arrives as a message (leslie context)").WithNext("leslie questions")
	case codes.Has(err, codes.Interrupted):
		return nil, codes.Of(err).With(fact.Of("questionId", d.QuestionID), fact.Of("threadId", d.ThreadID)).
			WithHint("The question stays open; leslie questions shows it").WithNext("leslie questions")
	case err != nil:
		return nil, err
	}
	if own && !messages {
		MarkSeen(c, q.ThreadID, []thread.InjectionID{q.Message})
	}
	met := !open
	d = &QuestionResult{QuestionRecord: questionOf(q), Met: &met, Messages: messages}
	if messages {
		d.Next = again
	}
	d.SetChanged(asked)
	return d, nil
}

// waitForAnswer returns the command that waits again for an answer: a wait of the
// thread's own agent ends with every message, so also with the answer; anybody else
// waits for a change of the thread since the question was seen open.
func waitForAnswer(q thread.Question, own bool, seen thread.Revision) string {
	line := "leslie wait " + string(q.ThreadID) + " --until any"
	if !own {
		line += " --since " + strconv.FormatInt(int64(seen), 10)
	}
	return line
}

// AnswerRequest answers a question, with a text or with one of its choices.
type AnswerRequest struct {
	Question string
	Text     string
	Choice   string // or its number, from 1
	// Offered: a Text that is a choice, or its number, means it.
	Offered bool
}

// Faults returns what is wrong with the request.
func (in AnswerRequest) Faults(name Names) []Fault {
	k := newChecks(name)
	k.needed("Question", in.Question)
	switch {
	case in.Text != "" && in.Choice != "":
		k.add("Choice", in.Choice, "cannot be used with %s", k.name("Text"))
	case in.Choice == "":
		k.content("Text", in.Text)
	}
	return k.faults
}

// Answer answers a question; the thread that asked gets the answer as a message. Errors:
// T903 (also for a choice that was not offered), T405, T105, T406, T402 for anyone but a
// person if a person was asked, T107 if the thread is archived, those of a write.
func Answer(c *Call, in AnswerRequest) (*QuestionResult, error) {
	if err := refused(in.Faults(nil)); err != nil {
		return nil, err
	}
	answer := thread.NewAnswer{Question: in.Question, Text: in.Text + in.Choice, Choice: in.Choice != "", Offered: in.Offered}
	return write(c, func(s *thread.State, stamp thread.Stamp) (*QuestionResult, thread.ThreadID, error) {
		answer := answer
		answer.Message = newMessageID(c, s)
		q, told, err := s.Answer(answer, stamp)
		if err != nil {
			return nil, "", err
		}
		note(s, q.ThreadID, told.Line())
		return &QuestionResult{QuestionRecord: questionOf(q)}, q.ThreadID, nil
	})
}

// ListQuestionsRequest lists questions.
type ListQuestionsRequest struct {
	All   bool // also answered ones, and those of threads that have ended
	Limit int  // 0: all; with All it is the newest that are shown
}

// ListQuestionsResult has questions, oldest first.
type ListQuestionsResult struct{ Items[QuestionRecord] }

// ShowQuestion returns the question with an id, also of an archived thread. Errors: T405,
// T105, those of a view.
func ShowQuestion(c *Call, id string) (*QuestionRecord, error) {
	c.readOnly()
	var q thread.Question
	if _, err := c.view(func(s *thread.State) (err error) {
		q, err = s.Question(id)
		return err
	}); err != nil {
		return nil, err
	}
	d := questionOf(q)
	return &d, nil
}

// ListQuestions lists the open questions. Errors: those of a view.
func ListQuestions(c *Call, in ListQuestionsRequest) (*ListQuestionsResult, error) {
	c.readOnly()
	var found []thread.Question
	_, err := c.view(func(s *thread.State) (err error) {
		if found = s.OpenQuestions(""); in.All {
			found, err = s.AllQuestions()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &ListQuestionsResult{converted(found, in.Limit, in.All, questionOf)}, nil
}
