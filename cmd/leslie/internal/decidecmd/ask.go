package decidecmd

import (
	"slices"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/decisions"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/thread"
)

// This file implements questions: ask, answer and questions.

// QuestionText is one question.
func QuestionText(p *page.Page, d decisions.QuestionRecord) {
	status := string(d.Status)
	if d.Ended != "" && d.Status == thread.QuestionOpen {
		status += " (its thread is " + string(d.Ended) + ")"
	}
	p.Line("question %s  %s  %s asks %s", d.QuestionID, status, d.ThreadID, d.To)
	p.Lines("question", d.Question)
	if len(d.Choices) > 0 {
		p.Line("choices:")
	}
	for _, line := range thread.ChoiceLines(d.Choices) {
		p.Line("  %s", line)
	}
	if d.Answer != nil {
		p.Lines("answer", *d.Answer)
		p.Line("  by %s (%s), %s", d.AnsweredBy.Actor, d.AnsweredBy.As, p.At(*d.AnsweredAt))
	}
}

type askedText struct{ *decisions.QuestionResult }

func (d askedText) Text(p *page.Page) {
	if !d.Changed {
		p.Line("nothing changed")
	}
	QuestionText(p, d.QuestionRecord)
	if d.Messages {
		p.Line("messages wait for your thread; what you waited for has not come yet")
		p.Line("read them (leslie context), then wait again: %s", d.Next)
	} else if d.Status == thread.QuestionOpen {
		p.Line("the thread goes on; the answer arrives with leslie context")
	}
}

type answeredText struct{ *decisions.QuestionResult }

func (d answeredText) Text(p *page.Page) {
	QuestionText(p, d.QuestionRecord)
	if d.Ended != "" {
		p.Line("%s is %s: it reads the answer once it goes on (leslie reopen %s)", d.ThreadID, string(d.Ended), d.ThreadID)
	}
}

type questionsText struct {
	*decisions.ListQuestionsResult
	all bool
}

func (d questionsText) Text(p *page.Page) {
	for _, q := range d.Items.Items {
		if p.Width > 0 {
			d.record(p, q)
		} else {
			QuestionText(p, q)
		}
	}
	p.Rest(len(d.Items.Items), d.Total)
	if open := slices.IndexFunc(d.Items.Items, func(q decisions.QuestionRecord) bool { return q.Status == thread.QuestionOpen }); open >= 0 {
		p.Line("to answer: leslie answer %s TEXT", d.Items.Items[open].QuestionID)
	}
	switch {
	case len(d.Items.Items) > 0:
	case d.all:
		p.Line("no questions yet")
	default:
		p.Line("no open questions")
	}
	if d.OfEnded > 0 {
		p.Line("%s of threads that have ended: leslie questions --all", fact.Plural(d.OfEnded, "open question"))
	}
}

// record is a question in the list for a person at a terminal.
func (d questionsText) record(p *page.Page, q decisions.QuestionRecord) {
	row := []screen.Cell{screen.Text(string(q.QuestionID)), screen.Text(string(q.ThreadID) + " asks " + q.To),
		p.When(&q.CreatedAt)}
	if d.all {
		row = append(row, screen.QuestionCell(q.Status))
	}
	p.Draw(screen.Table{Columns: make([]screen.Column, len(row)), Rows: [][]screen.Cell{row}})
	p.Paragraph("  ", q.Question)
	if len(q.Choices) > 0 {
		p.Paragraph("  ", "choices:")
	}
	for _, line := range thread.ChoiceLines(q.Choices) {
		p.Paragraph("    ", line)
	}
	if q.Answer != nil {
		p.Paragraph("  ", q.AnsweredBy.Actor+" answered: "+*q.Answer)
	}
}

// Ask is the command leslie ask.
func Ask() *cli.Command {
	return &cli.Command{
		Name: "ask", Summary: "ask a person, or with --to another thread's agent; the work goes on", Writes: true,
		Detail: "ID asks (default: the thread that you speak for); --to says who is asked, a person without it. In " +
			"the name of a thread that somebody else has claimed no other agent asks (T108). The answer arrives as " +
			"a message, with leslie context. --wait returns with the answer, after --timeout with T401 (an agent " +
			"waits 100 seconds without one), or when messages wait for the agent's own thread (met: false); the " +
			"question stays open. The same question again is the open one. What a person is asked, only a person " +
			"can answer.",
		Example:  `leslie ask write-docs --question "Which port?" --choice 8080 --choice 9090`,
		Operands: []cli.Operand{cli.ThreadOperand()},
		Flags: []cli.Flag{
			cli.NewFlag("question", cli.Text("TEXT").Required(),
				"the question, at most 64 KiB; - reads standard input"),
			cli.NewFlag("to", cli.ID("human|ID", cli.ThreadIDs),
				"who is asked: a person (default), or the agent of thread ID"),
			cli.NewFlag("choice", cli.Texts("C"), "an answer to choose from; can be repeated"),
			cli.Toggle("wait", "return with the answer"),
			cli.NewFlag("timeout", cli.Duration(), "how long to wait"),
		},
		Run: runAsk,
	}
}

func runAsk(c *cli.Call) (cli.Data, error) {
	in := decisions.AskRequest{
		Thread: c.TargetThread(), To: c.Text("to"), Question: c.Text("question"), Choices: c.Texts("choice"),
		Wait:    c.On("wait"),
		Waiting: func(id thread.QuestionID) { c.SayAsked(id) },
	}
	if in.To == string(thread.ByHuman) {
		in.To = ""
	}
	in.Timeout, _ = time.ParseDuration(c.Text("timeout")) // checked with the line
	c.WaitTakesNoValue()
	c.Require("question")
	c.CheckRequest(in.Faults, map[string]string{"Choices": "--choice"})
	if len(c.Faults) == 0 { // else standard input is left unread
		in.Question = c.ReadContent("question", app.MaxContent)
	}
	data, err := cli.RunUseCase(c, decisions.Ask, in,
		func(d *decisions.QuestionResult) cli.Data { return askedText{d} })
	return data, c.AsUsageError(err, "to")
}

// Questions is the command leslie questions.
func Questions() *cli.Command {
	return &cli.Command{
		Name: "questions", Summary: "list the questions that wait for an answer",
		Detail: "--all includes answered questions and those of threads that have ended. If there are more than " +
			"--limit, the newest are shown.",
		Example:  "leslie questions",
		Operands: []cli.Operand{cli.ListedThreads()},
		Flags: append(cli.RecordFlags("questions"), cli.Toggle("all", "include answered questions"),
			cli.LimitFlag(), cli.TimeFlag()),
		Run: runQuestions,
	}
}

func runQuestions(c *cli.Call) (cli.Data, error) {
	in := decisions.ListQuestionsRequest{All: c.On("all"), Limit: c.Count("limit", app.DefaultLimit), RecordFilter: c.RecordFilter()}
	return cli.RunUseCase(c, decisions.ListQuestions, in,
		func(d *decisions.ListQuestionsResult) cli.Data { return questionsText{d, in.All} })
}
