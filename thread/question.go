package thread

import (
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file handles questions: a thread asks a person, or another thread's agent, and
// goes on working. The answer reaches it as a message, like an injection.

// PrefixQuestion is the prefix of a question's id.
const PrefixQuestion = "q-"

// maxQuestions is how many open questions a thread may have.
const maxQuestions = 100

// Question is something that a thread wants to know.
type Question struct {
	ID       QuestionID `json:"questionId"`
	ThreadID ThreadID   `json:"threadId"` // that asks
	// To is the thread that is asked; "" for a person.
	To       ThreadID       `json:"to,omitempty"`
	Text     string         `json:"question"`
	Choices  []string       `json:"choices,omitempty"`
	Status   QuestionStatus `json:"status"`
	Answer   string         `json:"answer,omitempty"`
	Created  Attribution    `json:"created"`
	Answered *Attribution   `json:"answered,omitempty"`
	// Message is the injection by which the answer reached the thread.
	Message  InjectionID `json:"message,omitempty"`
	Revision Revision    `json:"revision"`

	Unknown Unknown `json:"-"`
}

// QuestionStatus is the status of a question.
type QuestionStatus string

// The statuses of questions.
const (
	QuestionOpen     QuestionStatus = "open"
	QuestionAnswered QuestionStatus = "answered"
)

// Messages that leslie itself sends to a thread; nobody injects them.
const (
	MessageQuestion InjectionType = "question"
	MessageAnswer   InjectionType = "answer"
)

// NewQuestion has the parameters of a new question. Message is the id of the injection
// by which it reaches the thread that is asked.
type NewQuestion struct {
	ID      QuestionID
	Thread  string
	To      string // "": a person
	Text    string
	Choices []string
	Message InjectionID
}

// Ask opens a question of a thread. The agent of the thread that is asked gets it as a
// message, which is returned. If the same question is open already, Ask returns that
// one, so that a retry doubles nothing. Errors: T101, T105, T107 if one of the threads
// is terminated, T508 if too many questions are open or too many messages unseen, T903
// if the thread asks itself.
func (s *State) Ask(in NewQuestion, stamp Stamp) (Question, *Injection, error) {
	t, err := s.LiveThread(in.Thread)
	if err != nil {
		return Question{}, nil, err
	}
	q := Question{
		ID: in.ID, ThreadID: t.ID, Text: strings.ToValidUTF8(in.Text, "\uFFFD"), Choices: in.Choices, Status: QuestionOpen,
		Created: Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor},
	}
	if in.To != "" {
		asked, err := s.LiveThread(in.To)
		if err != nil {
			return Question{}, nil, err
		}
		if q.To = asked.ID; asked.ID == t.ID {
			return Question{}, nil, codes.InvalidArgument.New(
				fact.Of("reason", "a thread cannot ask itself: '"+string(t.ID)+"'"), fact.Of("threadId", t.ID))
		}
	}
	open := s.OpenQuestions(t.ID)
	for _, o := range open {
		if o.To == q.To && o.Text == q.Text && slices.Equal(o.Choices, q.Choices) && o.Created.As == q.Created.As {
			return o, nil, nil
		}
	}
	if len(open) >= maxQuestions {
		return Question{}, nil, codes.TooLarge.New(
			fact.Of("what", "the number of open questions of '"+string(t.ID)+"'"), fact.Of("limit", maxQuestions), fact.Of("threadId", t.ID)).
			WithHint("Wait for answers first").WithNext("leslie questions")
	}
	if q.To == "" {
		return s.Questions.Put(q), nil, nil
	}
	i, _, err := s.Inject(NewInjection{ID: in.Message, Thread: string(q.To), Type: MessageQuestion, Urgency: NextStep, Content: q.message()}, stamp)
	if err != nil {
		return Question{}, nil, err
	}
	return s.Questions.Put(q), &i, nil
}

// message is the question as the thread that is asked reads it.
func (q Question) message() string {
	text := "Thread " + string(q.ThreadID) + " asks (" + string(q.ID) + "): " + q.Text
	if len(q.Choices) > 0 {
		return text + "\nChoices:\n" + strings.Join(ChoiceLines(q.Choices), "\n") + "\nleslie answer " + string(q.ID) + " --choice NUMBER"
	}
	return text + "\nleslie answer " + string(q.ID) + " TEXT"
}

// ChoiceLines returns choices as lines, each with the number that answers it, and quoted
// where it contains a comma.
func ChoiceLines(choices []string) []string {
	lines := make([]string, len(choices))
	for i, choice := range choices {
		lines[i] = strconv.Itoa(i+1) + ". " + commaQuoted(choice)
	}
	return lines
}

func commaQuoted(choice string) string {
	if strings.Contains(choice, ",") {
		return strconv.Quote(choice)
	}
	return choice
}

// chosen returns the choice that an answer names: by its text, by its text as context
// shows it, by its number from 1, or by its text whatever the case of its letters, if only one has it. A
// choice whose text is a number comes before it.
func (q Question) chosen(given string) (choice string, offered bool) {
	for _, spelled := range []func(string) string{
		func(choice string) string { return choice },
		func(choice string) string { return strings.ReplaceAll(choice, "<", "&lt;") },
	} {
		if i := slices.IndexFunc(q.Choices, func(choice string) bool { return spelled(choice) == given }); i >= 0 {
			return q.Choices[i], true
		}
	}
	if n, err := strconv.Atoi(given); err == nil && n >= 1 && n <= len(q.Choices) {
		return q.Choices[n-1], true
	}
	for _, one := range q.Choices {
		if !strings.EqualFold(one, given) {
			continue
		}
		if offered {
			return "", false // it could mean two
		}
		choice, offered = one, true
	}
	return choice, offered
}

// NewAnswer has the parameters of an answer. Message is the id of the injection by
// which it reaches the thread that asked.
type NewAnswer struct {
	Question string
	Text     string
	Choice   bool // Text names one of the question's choices (see chosen)
	// Other: Text is none of the choices that were offered, and is not meant to be.
	Other   bool
	Message InjectionID
}

// Answer answers a question. The thread that asked gets the answer as a message, which
// is returned, however many others it has not seen. Errors: T405, T105, T406 if the
// question is answered, T402 for anyone but a person if it asks a person, T107 if the
// thread that asked is archived, T903 for a choice that was not offered.
func (s *State) Answer(in NewAnswer, stamp Stamp) (Question, Injection, error) {
	q, err := s.Question(in.Question)
	if err != nil {
		return Question{}, Injection{}, err
	}
	if q.To == "" && !stamp.ByPerson() {
		return Question{}, Injection{}, codes.PermissionDenied.New(
			fact.Of("capability", "answering what a person was asked"), fact.Of("questionId", q.ID), fact.Of("threadId", q.ThreadID)).
			WithHint("A person decides: ask one to run leslie answer " + string(q.ID)).WithNext("leslie questions")
	}
	if q.Status == QuestionAnswered {
		return Question{}, Injection{}, codes.QuestionAnswered.New(fact.Of("questionId", q.ID), fact.Of("threadId", q.ThreadID),
			fact.Of("actor", q.Answered.Actor))
	}
	if in.Text, err = q.Means(in); err != nil {
		return Question{}, Injection{}, err
	}
	t, live := s.Threads.Get(string(q.ThreadID))
	if !live {
		return Question{}, Injection{}, notWritable(Thread{ID: q.ThreadID, Status: Archived})
	}
	by := Attribution{At: stamp.Time, As: stamp.Authority(), Actor: stamp.Actor}
	q.Status, q.Answer, q.Answered, q.Message = QuestionAnswered, strings.ToValidUTF8(in.Text, "\uFFFD"), &by, in.Message
	i := Injection{
		ID: in.Message, Type: MessageAnswer, Urgency: NextStep, Created: by,
		Content: "Answer to " + string(q.ID) + ": " + q.Answer + "\nQuestion: " + q.Text,
	}
	t.Injections = append(slices.Clip(t.Injections), i)
	s.Threads.Put(t)
	return s.Questions.Put(q), i, nil
}

// Means returns the answer that a text stands for: one of the choices, if there are any.
// Errors: T903 for a choice that was not offered.
func (q Question) Means(in NewAnswer) (string, error) {
	switch choice, offered := q.chosen(in.Text); {
	case in.Other || !in.Choice && len(q.Choices) == 0:
		return in.Text, nil
	case offered:
		return choice, nil
	}
	return "", q.notOffered(in.Text)
}

func (q Question) notOffered(choice string) error {
	reason := "the question '" + string(q.ID) + "' offers no choices; answer with a text"
	hint := "Answer it with leslie answer " + string(q.ID) + " TEXT"
	if len(q.Choices) > 0 {
		hint = "Choose one, or its number; leslie answer " + string(q.ID) + " TEXT --other gives another answer"
		offered := make([]string, len(q.Choices))
		for i, choice := range q.Choices {
			offered[i] = commaQuoted(choice)
		}
		reason = "'" + choice + "' was not offered: choose " + strings.Join(offered, ", ")
	}
	return codes.InvalidArgument.New(fact.Of("reason", reason), fact.Of("questionId", q.ID), fact.Of("allowed", append([]string{}, q.Choices...))).
		WithHint(hint).WithNext("leslie questions")
}

// Question returns the question that arg names, also one of an archived thread.
// Errors: T405, T105.
func (s *State) Question(arg string) (Question, error) {
	return find(arg, PrefixQuestion, &s.Questions, s.archiveLines(TableQuestions, func() bool { return true }),
		func(near string) error {
			err := ofThread(s, codes.QuestionNotFound.New(fact.Of("questionId", arg)), arg, "question", s.OpenQuestions)
			if near != "" {
				err = err.With(fact.Of("nearest", near))
			}
			return err
		})
}

// QuestionsOf returns the questions of a thread, or of all threads for "", ordered by
// creation time, then id.
func (s *State) QuestionsOf(id ThreadID) []Question {
	mark := ""
	if id != "" {
		mark = `"threadId":"` + string(id) + `"`
	}
	return questionsByAge(s.Questions.where(mark, func(q Question) bool { return id == "" || q.ThreadID == id }))
}

// OpenQuestions returns the unanswered questions of a thread, or for "" those of all
// threads that are not terminated, ordered by creation time, then id.
func (s *State) OpenQuestions(id ThreadID) []Question {
	return questionsByAge(s.Questions.where(`"status":"open"`, func(q Question) bool {
		if q.Status != QuestionOpen || id != "" {
			return q.Status == QuestionOpen && q.ThreadID == id
		}
		t, live := s.Threads.Peek(string(q.ThreadID))
		return live && !t.Status.Terminated()
	}))
}

// LeftQuestions returns the open questions of threads that have ended and are not archived.
func (s *State) LeftQuestions() []Question {
	return questionsByAge(s.Questions.where(`"status":"open"`, func(q Question) bool {
		t, live := s.Threads.Peek(string(q.ThreadID))
		return q.Status == QuestionOpen && live && t.Status.Terminated()
	}))
}

// AllQuestions returns every question, including archived ones, ordered by creation
// time, then id. Errors: those of reading the archive.
func (s *State) AllQuestions() ([]Question, error) {
	lines, err := s.archivedLines(TableQuestions)
	if err != nil {
		return nil, err
	}
	all := s.QuestionsOf("")
	for _, line := range lines {
		all = append(all, decode[Question](line.JSON))
	}
	slices.SortFunc(all, func(a, b Question) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return questionsByAge(all), nil
}

func questionsByAge(all []Question) []Question {
	slices.SortStableFunc(all, func(a, b Question) int { return byTime(a.Created.At, b.Created.At) })
	return all
}
