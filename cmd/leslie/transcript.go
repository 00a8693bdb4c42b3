package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/thread"
)

// This file shows transcripts as Markdown. What agents and threads say is in blocks and
// spans of code, which nothing in them can end.

type conversationText struct{ *app.ConversationResult }

func (d conversationText) Text(p *page) {
	p.line("# Transcript of %s", d.ThreadID)
	p.line("")
	markdownItem(p, "title", d.Title)
	if agent := d.AgentLine(); agent != "" {
		markdownItem(p, "agent", agent)
	}
	for _, run := range d.Runs {
		markdownItem(p, "run", run)
	}
	if !d.From.IsZero() {
		p.line("- from %s to %s", d.From.Format(time.RFC3339), d.To.Format(time.RFC3339))
	}
	p.line("")
	markdownBlock(p, d.Intent)
	if len(d.Runs) == 0 {
		p.line("")
		p.line("No entries: leslie run %s runs its agent", d.ThreadID)
	}
	if d.LeftOut > 0 {
		p.line("")
		p.line("The first %s are left out: leslie transcript %s --format json --limit 0 has them.", many(d.LeftOut, "part"), d.ThreadID)
	}
	var last *app.ConversationPart
	for _, part := range d.Parts {
		begins := last == nil || last.Run != part.Run || last.Turn != part.Turn
		if begins {
			p.line("")
			p.line("## %s  %s", turnWords(d.Runs, part), part.At.Format(time.RFC3339))
		}
		if begins || last.Words() || part.Words() {
			p.line("")
		}
		conversationPart(p, part)
		last = part
	}
	if d.Damaged > 0 {
		p.line("")
		p.line("%s of the transcript could not be read.", many(d.Damaged, "line"))
	}
}

// turnWords is the heading of a turn.
func turnWords(runs []string, part *app.ConversationPart) string {
	words := fmt.Sprintf("Turn %d", part.Turn)
	if part.Turn == 0 {
		words = "Start"
	}
	if len(runs) > 1 {
		words += " of " + part.Run
	}
	return words
}

// conversationPart shows a text as a block, and anything else as an item of a list.
func conversationPart(p *page, part *app.ConversationPart) {
	if part.Words() {
		p.line("**%s**", strings.ReplaceAll(part.Kind, "text", "agent"))
		p.line("")
		markdownBlock(p, part.Text)
		return
	}
	if part.Outcome == "" {
		markdownItem(p, part.Kind, part.Text)
		return
	}
	markdownItem(p, part.Kind+" "+part.Outcome, part.Text)
}

// markdownItem writes an item of a list, with a text of somebody else's as code. The name
// may be somebody else's, too.
func markdownItem(p *page, name, text string) {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("\\`*_[]<>&!|~#", r) {
			return ' '
		}
		return r
	}, cut(name, maxShownValue))
	if text = escape(cut(text, maxShownValue)); text == "" {
		p.line("- %s", name)
		return
	}
	fence := strings.Repeat("`", longestRun(text, '`')+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || strings.Trim(text, " ") == "" {
		text = " " + text + " "
	}
	p.line("- %s: %s", name, styled(fence+text+fence))
}

// markdownBlock writes a text as a block of code.
func markdownBlock(p *page, text string) {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	p.line("%s", styled(fence+"text"))
	for line := range strings.SplitSeq(text, "\n") {
		p.line("%s", styled(visible(line)))
	}
	p.line("%s", styled(fence))
}

// longestRun is the length of the longest row of a character in a text.
func longestRun(text string, of rune) (longest int) {
	n := 0
	for _, r := range text {
		if r != of {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

// transcriptText is the transcript for JSON and YAML; text has the conversation.
type transcriptText struct{ *app.TranscriptResult }

func (d transcriptText) Text(p *page) {
	entriesText(p, &app.RunLogResult{ThreadID: d.ThreadID, Damaged: d.Damaged, Items: d.Items})
}

// transcriptRunFlag selects a run.
func transcriptRunFlag() cli.Flag { return newOption("run", aRun(), "only this run") }

// aRun is a run's id, or its beginning.
func aRun() *value { return &value{shown: "RUN", check: checkRun} }

func checkRun(text string) *fault {
	if rest, ok := strings.CutPrefix(text, thread.PrefixRun); ok && (rest == "" || thread.ValidID(rest)) {
		return nil
	}
	return &fault{Problem: "must be a run's id, or its beginning (run-a1b2), not " + quoted(text)}
}

func transcriptCommand() *command {
	return &command{
		name: "transcript", summary: "show what a thread's agent was told, said and did, as Markdown",
		detail: "The whole conversation, or with --limit its newest entries. JSON and YAML have the entries, the newest 50 by default (--limit 0: all), " +
			"with the agent's updates as it sent them.",
		example:  "leslie transcript thread-a1b2c3d4 > transcript.md",
		operands: []operand{threadOperand()},
		flags:    []cli.Flag{transcriptRunFlag(), newOption("limit", aCount("N"), "show only the newest N entries")},
		run:      runTranscript,
	}
}

func runTranscript(c *call) (Data, error) {
	in := app.TranscriptRequest{Thread: c.targetThread(), Run: c.text("run")}
	if c.who.format == "text" {
		in.Limit = c.count("limit", 0)
		data, err := runUseCase(c, app.Conversation, in, func(d *app.ConversationResult) Data { return conversationText{d} })
		return data, c.usageOf(err, nil)
	}
	in.Limit = c.count("limit", app.DefaultLimit)
	data, err := runUseCase(c, app.Transcript, in, func(d *app.TranscriptResult) Data { return transcriptText{d} })
	return data, c.usageOf(err, nil)
}
