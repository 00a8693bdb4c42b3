package decidecmd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/mergecmd"
	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/app/decisions"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/thread"
)

// This file implements answer: to the question with an id, or to all that are open, one
// after the other.

// Answer is the command leslie answer.
func Answer() *cli.Command {
	return &cli.Command{
		Name: "answer", Summary: "answer a question, with a text or one of its choices", Writes: true,
		Detail: "With the id of a question it answers at once. On a terminal, without an id, it shows all open " +
			"questions, with the id of a thread those of the thread, and asks about each; a TEXT or --choice is " +
			"confirmed.\n" +
			"The thread that asked gets the answer with leslie context. The first answer stands (T406). Where " +
			"choices were offered, TEXT is one of them or its number, unless --other says that it is none.",
		Example: `leslie answer q-a1b2c3d4 "Port 8080"`,
		Operands: []cli.Operand{{Value: cli.ID("Q", cli.QuestionIDs), Optional: true, Meant: true},
			{Value: cli.Text("TEXT"), Optional: true}},
		Flags: []cli.Flag{
			cli.NewFlag("choice", cli.Text("C").Offering(cli.ChoiceNames),
				"one of the choices that were offered, or its number"),
			cli.Toggle("other", "TEXT is none of the choices that were offered"),
		},
		Run: runAnswer,
	}
}

func runAnswer(c *cli.Call) (cli.Data, error) {
	in := decisions.AnswerRequest{Choice: c.Text("choice"), Other: c.On("other")}
	if of, text, asks := questionsMeant(c); asks {
		c.MeansNothing("without the id of a question", "request-id", "expect-revision")
		if in.Text = text; text == "" && in.Choice == "" {
			c.MeansNothing("without TEXT", "other")
		} else {
			in.Question = thread.PrefixQuestion // of each question, when it is answered
			c.CheckRequest(in.Faults, map[string]string{"Text": "TEXT"})
		}
		all := decisions.AnswerAllRequest{Thread: of, Answerer: &answerPrompt{Prompt: c.Prompt(), c: c, given: in}}
		return cli.RunUseCase(c, decisions.AnswerAll, all,
			func(d *decisions.AnswerAllResult) cli.Data { return answersText{d} })
	}
	if in.Choice != "" {
		in.Question, in.Text = c.MeantRecord(cli.QuestionIDs), c.Operand(1)
	} else {
		in.Question, in.Text = c.MeantWith(cli.QuestionIDs)
	}
	if !c.Faulty("choice") {
		c.CheckRequest(in.Faults, map[string]string{"Question": "Q", "Text": "TEXT"})
	}
	data, err := cli.RunUseCase(c, decisions.Answer, in,
		func(d *decisions.QuestionResult) cli.Data { return answeredText{d} })
	return data, notOffered(c, err)
}

// notOffered names in the error of an answer that was not offered the part of the line
// that it is about.
func notOffered(c *cli.Call, err error) error {
	e := codes.Of(err)
	if !codes.Has(err, codes.InvalidArgument) || e.Facts().Text("questionId") == "" {
		return err
	}
	f := cli.Fault{Field: "--choice", Value: c.Text("choice"), Problem: e.Facts().Text("reason")}
	if n := len(c.Line.Operands); f.Value == "" && n > 0 {
		f.Field, f.Value = "TEXT", c.Operand(n-1)
	}
	return e.With(fact.Of("fields", []cli.Fault{f}))
}

// questionsMeant returns which questions a line without the id of one is about, and its
// text: those of a thread, or "" for all. asks is false if it has the id of a question, or
// if nobody can be asked.
func questionsMeant(c *cli.Call) (of, text string, asks bool) {
	if !c.CanPrompt() {
		return "", "", false
	}
	first, n := c.Operand(0), len(c.Line.Operands)
	if n == 0 {
		return "", "", len(c.Faults) == 0
	}
	noID := slices.IndexFunc(c.Faults, func(f cli.Fault) bool { return f.Field == "Q" })
	switch lone := n == 1 && c.Text("choice") == ""; {
	case first == "" || len(c.Faults) > min(noID+1, 1):
		return "", "", false
	case noID >= 0:
		if lone {
			c.Faults = nil
		}
		return "", first, lone
	case !c.NamesRecord(cli.QuestionIDs, first):
		return "", first, lone
	}
	_, isThread := c.CandidatesFor(cli.QuestionIDs, first)
	return first, c.Operand(1), isThread
}

// answersText has what was answered one after the other.
type answersText struct{ *decisions.AnswerAllResult }

func (d answersText) Text(p *page.Page) {
	for _, q := range d.Answered {
		QuestionText(p, q)
	}
	if d.Open == 0 {
		p.Line("no open questions")
		return
	}
	p.Line("%d still open; run leslie answer again to continue", d.Open)
}

// answerPrompt asks the person at the terminal about each question. given is the answer
// that the line has: it is confirmed for one of them.
type answerPrompt struct {
	*cli.Prompt
	c     *cli.Call
	given decisions.AnswerRequest
}

// Gone implements decisions.Answerer.
func (p *answerPrompt) Gone(id thread.QuestionID) {
	p.Say("%s has been answered in the meantime", id)
}

// Answer implements decisions.Answerer.
func (p *answerPrompt) Answer(q decisions.OpenQuestion) (in *decisions.AnswerRequest, quit bool, err error) {
	p.show(q)
	if p.given.Text+p.given.Choice == "" {
		return p.typed(q)
	}
	answer, err := q.Means(p.given)
	if err != nil {
		if q.Of == 1 {
			return nil, true, notOffered(p.c, err)
		}
		p.Draw(screen.Paragraph("  ", codes.Of(err).Facts().Text("reason"), p.Width))
		return nil, false, nil
	}
	word, ok := p.Pick(cli.Menu{Question: "Answer it with " + strconv.Quote(answer) + "?", Choices: []screen.Choice{
		{Word: mergecmd.WordYes, Key: "y", About: "this is the answer"},
		{Word: mergecmd.WordLater, Key: "l", About: "leave it open and go to the next one"},
		{Word: mergecmd.WordQuit, Key: "q", About: "leave this one and all others open"},
	}})
	switch {
	case !ok:
		return nil, true, p.c.Interrupted()
	case word == mergecmd.WordYes:
		return &p.given, true, nil
	}
	return nil, word == mergecmd.WordQuit, nil
}

// show draws a question: who asks what, and the choices with their numbers.
func (p *answerPrompt) show(q decisions.OpenQuestion) {
	to := ""
	if q.To != string(thread.ByHuman) {
		to = " " + q.To
	}
	p.Say("\n%s %d of %d: %s  %s asks%s", p.Paint(cli.Bold, "question"), q.Number, q.Of, q.QuestionID, q.ThreadID, to)
	for _, line := range append([]string{"thread: " + q.Title}, strings.Split(q.Question, "\n")...) {
		p.Draw(screen.Paragraph("  ", line, p.Width))
	}
	for _, line := range thread.ChoiceLines(q.Choices) {
		p.Draw(screen.Paragraph("    ", line, p.Width))
	}
}

// typed asks for the answer to a question until one is given that was offered. The words of
// the prompt are no answers, unless they were offered.
func (p *answerPrompt) typed(q decisions.OpenQuestion) (in *decisions.AnswerRequest, quit bool, err error) {
	question := "Your answer?"
	if n := len(q.Choices); n > 0 {
		question = fmt.Sprintf("Your answer, 1 to %d?", n)
	}
	words := cli.Menu{Choices: []screen.Choice{
		{Word: mergecmd.WordLater, Key: "l", About: "leave it open and go to the next one"},
		{Word: mergecmd.WordQuit, Key: "q", About: "leave this one and all others open"},
	}}
	for {
		view := screen.Menu{Question: question, Choices: words.Choices, Width: p.Width, Colours: p.Coloured}
		text, ok := p.Text(strings.Join(view.Draw(), "\n"))
		if !ok {
			return nil, true, p.c.Interrupted()
		}
		in := decisions.AnswerRequest{Text: text}
		_, err := q.Means(in)
		offered := err == nil && len(q.Choices) > 0
		switch {
		case text == "":
		case !offered && words.Exactly(strings.ToLower(text)):
			return nil, slices.Contains(words.Meant(strings.ToLower(text)), mergecmd.WordQuit), nil
		case !offered && text == "?":
			p.Draw(view.Explain())
			if len(q.Choices) > 0 {
				p.Draw(screen.Paragraph("  ", "Else type a choice or its number.", p.Width))
			} else {
				p.Draw(screen.Paragraph("  ", "Anything else is the answer.", p.Width))
			}
		case err != nil:
			p.Draw(screen.Paragraph("  ", codes.Of(err).Facts().Text("reason"), p.Width))
		default:
			return &in, false, nil
		}
	}
}
