package decisions

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file handles questions: asking, waiting for the answer, answering one, and the list.

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
func (in AskRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	k.Content("Question", in.Question)
	k.Ids("To", in.To)
	if len(in.Choices) > maxChoices {
		k.Add("Choices", "", "is given %d times; at most %d", len(in.Choices), maxChoices)
	}
	for i, choice := range in.Choices {
		switch {
		case strings.TrimSpace(choice) == "":
			k.Add("Choices", choice, "is empty")
		case utf8.RuneCountInString(choice) > maxChoice:
			k.Add("Choices", "", "takes at most %d characters", maxChoice)
		case slices.Contains(in.Choices[:i], choice):
			k.Add("Choices", choice, "is given twice: %s", app.Quoted(choice))
		}
	}
	switch {
	case in.Timeout < 0:
		k.Add("Timeout", in.Timeout.String(), "must not be negative")
	case in.Timeout > 0 && !in.Wait:
		k.Add("Timeout", in.Timeout.String(), "needs %s", k.Name("Wait"))
	}
	return k.Faults
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
	CreatedBy  app.Actor             `json:"createdBy"`
	AnsweredAt *time.Time            `json:"answeredAt"`
	AnsweredBy *app.Actor            `json:"answeredBy"`
	// Ended is the status of the thread that asks, if it has ended: it reads the answer once it is
	// reopened.
	Ended    thread.Status   `json:"ended,omitempty"`
	Revision thread.Revision `json:"revision"`
}

// QuestionOf is a question as an answer shows it.
func QuestionOf(q thread.Question) QuestionRecord {
	d := QuestionRecord{
		QuestionID: q.ID, ThreadID: q.ThreadID, To: string(thread.ByHuman), Question: q.Text, Choices: append([]string{}, q.Choices...),
		Status: q.Status, CreatedAt: q.Created.At, CreatedBy: app.ActorOf(q.Created), Revision: q.Revision,
	}
	if q.To != "" {
		d.To = string(q.To)
	}
	if q.Answered != nil {
		by := app.ActorOf(*q.Answered)
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
	app.Change
}

// Ask opens a question; the same question again is the one that is open. The answer
// reaches the thread as a message. Errors: T903, T101, T105, T107, T108, T508, and those of
// a write; of a wait: T401, T904. A wait also ends when messages wait for the thread whose
// agent the caller is (Messages). The question stays open however the wait ends.
func Ask(c *app.Call, in AskRequest) (*QuestionResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	id := c.ThreadOr(in.Thread)
	if in.Wait {
		c.CatchSignals()
	}
	d, err := app.Write(c, func(s *thread.State, stamp thread.Stamp) (*QuestionResult, thread.ThreadID, error) {
		if err := mayAskFor(c, s, id, stamp); err != nil {
			return nil, "", err
		}
		q, told, err := s.Ask(thread.NewQuestion{
			ID: newQuestionID(c, s), Thread: id, To: in.To, Text: in.Question, Choices: in.Choices, Message: c.NewMessageID(s),
		}, stamp)
		if err != nil {
			return nil, "", err
		}
		if told != nil {
			app.PlanInjectionLine(s, q.To, told.Line())
		}
		return &QuestionResult{QuestionRecord: QuestionOf(q)}, q.ThreadID, nil
	})
	if err != nil || !in.Wait {
		return d, err
	}
	return awaitAnswer(c, d, in)
}

// mayAskFor refuses, inside a rule, an agent that asks in the name of a thread which
// somebody else has claimed, and for which it neither speaks nor leads. Errors: T101,
// T105, T108.
func mayAskFor(c *app.Call, s *thread.State, id string, stamp thread.Stamp) error {
	t, err := s.Thread(id)
	if err != nil || c.IsOwnAgent(s, t.ID) {
		return err
	}
	if _, err = s.RespectClaim(id, stamp); err == nil {
		return nil
	}
	return codes.Of(err).WithHint("This asks in the name of " + string(t.ID) + ". To ask the agent of " + string(t.ID) + ": leslie ask --to " + string(t.ID) +
		" --question TEXT, in the name of the thread that you speak for").WithNext("leslie context " + string(t.ID))
}

func newQuestionID(c *app.Call, s *thread.State) thread.QuestionID {
	return thread.QuestionID(c.NewID("", thread.PrefixQuestion, func(id string) bool {
		_, taken := s.Questions.Peek(id)
		return taken
	}))
}

// awaitAnswer waits until a question is answered, or messages wait for the caller's
// thread. The thread's own agent, which gets the answer here, has seen the message with
// it. Errors: T401, T904, those of a view.
func awaitAnswer(c *app.Call, d *QuestionResult, in AskRequest) (*QuestionResult, error) {
	patience := in.Timeout
	if patience == 0 && !c.Caller().As.Person() {
		patience = app.AgentsPatience
	}
	if in.Waiting != nil && d.Status == thread.QuestionOpen {
		in.Waiting(d.QuestionID)
	}
	asked := d.Changed
	var q thread.Question
	var asker thread.Thread
	var open, own, messages bool
	var again string
	err := c.Await(patience, func(s *thread.State) (_ bool, _ time.Time, err error) {
		q, err = s.Question(string(d.QuestionID))
		open = err == nil && q.Status == thread.QuestionOpen
		own = err == nil && c.IsOwnAgent(s, q.ThreadID)
		asker, _ = s.Threads.Peek(string(q.ThreadID))
		messages, again = open && c.MessagesWait(s), waitForAnswer(q, own, s.Revision)
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
		c.WillShow(asker, []thread.InjectionID{q.Message})
	}
	met := !open
	d = &QuestionResult{QuestionRecord: QuestionOf(q), Met: &met, Messages: messages}
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
	// Other: Text is an answer though it is none of the choices that were offered.
	Other bool
}

// Faults returns what is wrong with the request.
func (in AnswerRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	k.Needed("Question", in.Question)
	switch {
	case in.Other && in.Choice != "":
		k.Add("Choice", in.Choice, "cannot be used with %s", k.Name("Other"))
	case in.Text != "" && in.Choice != "":
		k.Add("Choice", in.Choice, "cannot be used with %s", k.Name("Text"))
	case in.Choice == "":
		k.Content("Text", in.Text)
	}
	return k.Faults
}

// Answer answers a question; the thread that asked gets the answer as a message. Errors:
// T903 (also for what is no choice where choices were offered), T405, T105, T406, T402 for anyone but a
// person if a person was asked, T107 if the thread is archived, those of a write.
func Answer(c *app.Call, in AnswerRequest) (*QuestionResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	return giveAnswer(c, in)
}

// given is the answer that a request gives.
func (in AnswerRequest) given() thread.NewAnswer {
	return thread.NewAnswer{Question: in.Question, Text: in.Text + in.Choice, Choice: in.Choice != "", Other: in.Other}
}

func giveAnswer(c *app.Call, in AnswerRequest) (*QuestionResult, error) {
	return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*QuestionResult, thread.ThreadID, error) {
		answer := in.given()
		answer.Message = c.NewMessageID(s)
		q, told, err := s.Answer(answer, stamp)
		if err != nil {
			return nil, "", err
		}
		app.PlanInjectionLine(s, q.ThreadID, told.Line())
		d := &QuestionResult{QuestionRecord: QuestionOf(q)}
		d.Ended = endedOf(s, q)
		return d, q.ThreadID, nil
	})
}

// ListQuestionsRequest lists questions.
type ListQuestionsRequest struct {
	All   bool // also answered ones, and those of threads that have ended
	Limit int  // 0: all; with All it is the newest that are shown
	app.RecordFilter
}

// ListQuestionsResult has questions, oldest first.
type ListQuestionsResult struct {
	app.Items[QuestionRecord]
	// OfEnded is how many are open, and left out because their threads have ended and were not named.
	OfEnded int `json:"ofEnded,omitempty"`
}

// ShowQuestion returns the question with an id, also of an archived thread. Errors: T405,
// T105, those of a view.
func ShowQuestion(c *app.Call, id string) (*QuestionRecord, error) {
	c.ReadOnly()
	var q thread.Question
	if _, err := c.View(func(s *thread.State) (err error) {
		q, err = s.Question(id)
		return err
	}); err != nil {
		return nil, err
	}
	d := QuestionOf(q)
	return &d, nil
}

// ListQuestions lists the open questions. Errors: T903, T101 and T105 for the filter, those of a view.
func ListQuestions(c *app.Call, in ListQuestionsRequest) (*ListQuestionsResult, error) {
	c.ReadOnly()
	d := &ListQuestionsResult{}
	_, err := c.View(func(s *thread.State) (err error) {
		var found []thread.Question
		switch left := s.LeftQuestions(); {
		case in.All:
			found, err = s.AllQuestions()
		case len(in.Threads) > 0:
			found = append(s.OpenQuestions(""), left...)
			slices.SortStableFunc(found, func(a, b thread.Question) int { return a.Created.At.Compare(b.Created.At) })
		default:
			found, d.OfEnded = s.OpenQuestions(""), len(left)
		}
		if err == nil {
			found, err = app.Select(c, s, in.RecordFilter, found, func(q thread.Question) app.Filterable {
				return app.Filterable{Threads: []thread.ThreadID{q.ThreadID, q.To}, Made: q.Created, Decided: q.Answered, Changed: q.Revision}
			})
		}
		d.Items = app.Converted(found, in.Limit, in.All, func(q thread.Question) QuestionRecord {
			r := QuestionOf(q)
			if q.Status == thread.QuestionOpen {
				r.Ended = endedOf(s, q)
			}
			return r
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// endedOf is the status of the thread that asks a question, "" for one that goes on.
func endedOf(s *thread.State, q thread.Question) thread.Status {
	t, live := s.Threads.Peek(string(q.ThreadID))
	switch {
	case !live:
		return thread.Archived
	case t.Status.Terminated():
		return t.Status
	}
	return ""
}
