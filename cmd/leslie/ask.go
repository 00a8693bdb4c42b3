package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
	"leslie/thread"
)

// This file implements questions: ask, answer and questions.

// questionText is one question.
func questionText(p *page, d app.QuestionRecord) {
	p.line("question %s  %s  %s asks %s", d.QuestionID, string(d.Status), d.ThreadID, d.To)
	p.lines("question", d.Question)
	if len(d.Choices) > 0 {
		p.line("choices:")
	}
	for _, line := range thread.ChoiceLines(d.Choices) {
		p.line("  %s", line)
	}
	if d.Answer != nil {
		p.lines("answer", *d.Answer)
		p.line("  by %s (%s), %s", d.AnsweredBy.Actor, d.AnsweredBy.As, p.at(*d.AnsweredAt))
	}
}

type askedText struct{ *app.QuestionResult }

func (d askedText) Text(p *page) {
	if !d.Changed {
		p.line("nothing changed")
	}
	questionText(p, d.QuestionRecord)
	if d.Messages {
		p.line("messages wait for your thread; what you waited for has not come yet")
		p.line("read them (leslie context), then wait again: %s", d.Next)
	} else if d.Status == thread.QuestionOpen {
		p.line("the thread goes on; the answer arrives with leslie context")
	}
}

type answeredText struct{ *app.QuestionResult }

func (d answeredText) Text(p *page) { questionText(p, d.QuestionRecord) }

type questionsText struct {
	*app.ListQuestionsResult
	all bool
}

func (d questionsText) Text(p *page) {
	for _, q := range d.Items.Items {
		if p.width > 0 {
			d.record(p, q)
		} else {
			questionText(p, q)
		}
	}
	p.rest(len(d.Items.Items), d.Total)
	switch {
	case len(d.Items.Items) > 0:
	case d.all:
		p.line("no questions yet")
	default:
		p.line("no open questions")
	}
}

// record is a question in the list for a person at a terminal.
func (d questionsText) record(p *page, q app.QuestionRecord) {
	row := []screen.Cell{screen.Text(string(q.QuestionID)), screen.Text(string(q.ThreadID) + " asks " + q.To), p.when(&q.CreatedAt)}
	if d.all {
		row = append(row, screen.Question(q.Status))
	}
	p.draw(screen.Table{Columns: make([]screen.Column, len(row)), Rows: [][]screen.Cell{row}})
	p.paragraph("  ", q.Question)
	if len(q.Choices) > 0 {
		p.paragraph("  ", "choices:")
	}
	for _, line := range thread.ChoiceLines(q.Choices) {
		p.paragraph("    ", line)
	}
	if q.Answer != nil {
		p.paragraph("  ", q.AnsweredBy.Actor+" answered: "+*q.Answer)
	}
}

func askCommand() *command {
	return &command{
		name: "ask", summary: "ask a person, or with --to another thread's agent; the work goes on", writes: true,
		hint: hint{asking, "ask --question TEXT --to ID"},
		detail: "ID asks (default: the thread that you speak for); --to says who is asked, a person without it. In the name of a thread that " +
			"somebody else has claimed no other agent asks (T108). The answer arrives as a message, with leslie context. --wait returns with the answer, after --timeout with T401 (an agent " +
			"waits 100 seconds without one), or when messages wait for the agent's own thread (met: false); the question stays open. The same question again is the open one. What a person is asked, " +
			"only a person can answer.",
		example:  `leslie ask thread-a1b2c3d4 --question "Which port?" --choice 8080 --choice 9090`,
		operands: []operand{threadOperand()},
		flags: []cli.Flag{
			newOption("question", anyText("TEXT").required(), "the question, at most 64 KiB; - reads standard input"),
			newOption("to", anID("human|ID", threadIDs), "who is asked: a person (default), or the agent of thread ID"),
			newOption("choice", texts("C"), "an answer to choose from; can be repeated"),
			toggle("wait", "return with the answer"),
			newOption("timeout", aDuration(), "how long to wait"),
		},
		run: runAsk,
	}
}

func runAsk(c *call) (Data, error) {
	in := app.AskRequest{
		Thread: c.targetThread(), To: c.text("to"), Question: c.text("question"), Choices: c.texts("choice"), Wait: c.on("wait"),
		Waiting: func(id thread.QuestionID) { sayAsked(c, id) },
	}
	if in.To == string(thread.ByHuman) {
		in.To = ""
	}
	in.Timeout, _ = time.ParseDuration(c.text("timeout")) // checked with the line
	c.require("question")
	c.checkRequest(in.Faults, map[string]string{"Choices": "--choice"})
	if len(c.faults) == 0 { // else standard input is left unread
		in.Question = c.readContent("question", app.MaxContent)
	}
	data, err := runUseCase(c, app.Ask, in, func(d *app.QuestionResult) Data { return askedText{d} })
	return data, c.asUsageError(err, "to")
}

func answerCommand() *command {
	return &command{
		name: "answer", summary: "answer a question, with a text or one of its choices", writes: true,
		detail:   "The thread that asked gets the answer with leslie context. The first answer stands (T406).",
		example:  `leslie answer q-a1b2c3d4 "Port 8080"`,
		operands: []operand{{value: anID("Q", questionIDs), meant: true}, {value: anyText("TEXT"), optional: true}},
		flags:    []cli.Flag{newOption("choice", anyText("C"), "one of the choices that were offered, or its number")},
		run:      runAnswer,
	}
}

func runAnswer(c *call) (Data, error) {
	in := app.AnswerRequest{Choice: c.text("choice"), Offered: canPrompt(c)}
	if in.Choice != "" {
		in.Question, in.Text = meantRecord(c, questionIDs), c.operand(1)
	} else {
		in.Question, in.Text = meantWith(c, questionIDs)
	}
	if !c.faulty("choice") {
		c.checkRequest(in.Faults, map[string]string{"Question": "Q", "Text": "TEXT"})
	}
	data, err := runUseCase(c, app.Answer, in, func(d *app.QuestionResult) Data { return answeredText{d} })
	return data, c.asUsageError(err, "choice")
}

func questionsCommand() *command {
	return &command{
		name: "questions", summary: "list the questions that wait for an answer",
		detail:  "--all includes answered questions and those of threads that have ended. If there are more than --limit, the newest are shown.",
		example: "leslie questions",
		flags: []cli.Flag{
			toggle("all", "include answered questions"),
			limitFlag(), timeFlag(),
		},
		run: runQuestions,
	}
}

func runQuestions(c *call) (Data, error) {
	in := app.ListQuestionsRequest{All: c.on("all"), Limit: c.count("limit", app.DefaultLimit)}
	return runUseCase(c, app.ListQuestions, in, func(d *app.ListQuestionsResult) Data { return questionsText{d, in.All} })
}
