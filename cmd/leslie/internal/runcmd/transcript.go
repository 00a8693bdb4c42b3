package runcmd

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/cmd/leslie/internal/viewcmd"
	"leslie/internal/app"
	"leslie/internal/app/runs"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file shows transcripts as Markdown. What agents and threads say is in blocks and
// spans of code, which nothing in them can end.

type conversationText struct{ *runs.ConversationResult }

func (d conversationText) Text(p *page.Page) {
	p.Line("# Transcript of %s", d.ThreadID)
	p.Line("")
	markdownItem(p, "title", d.Title)
	if agent := d.AgentLine(); agent != "" {
		markdownItem(p, "agent", agent)
	}
	for _, run := range d.Runs {
		markdownItem(p, "run", run)
	}
	if !d.From.IsZero() {
		p.Line("- from %s to %s", d.From.Format(time.RFC3339), d.To.Format(time.RFC3339))
	}
	p.Line("")
	markdownBlock(p, d.Intent)
	if len(d.Runs) == 0 {
		p.Line("")
		p.Line("No entries%s", noEntries(d.ThreadID, d.Machine, "transcript"))
	}
	if d.LeftOut > 0 {
		p.Line("")
		p.Line("The first %s are left out: leslie transcript %s --format json --limit 0 has them.",
			fact.Plural(d.LeftOut, "part"), d.ThreadID)
	}
	var last *runs.ConversationPart
	for _, part := range d.Parts {
		begins := last == nil || last.Run != part.Run || last.Turn != part.Turn
		if begins {
			p.Line("")
			p.Line("## %s  %s", turnWords(d.Runs, part), part.At.Format(time.RFC3339))
		}
		if begins || last.Words() || part.Words() {
			p.Line("")
		}
		conversationPart(p, part)
		last = part
	}
	if d.Damaged > 0 {
		p.Line("")
		p.Line("%s of the transcript could not be read.", fact.Plural(d.Damaged, "line"))
	}
}

// turnWords is the heading of a turn.
func turnWords(runs []string, part *runs.ConversationPart) string {
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
func conversationPart(p *page.Page, part *runs.ConversationPart) {
	if part.Words() {
		p.Line("**%s**", strings.ReplaceAll(part.Kind, "text", "agent"))
		p.Line("")
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
func markdownItem(p *page.Page, name, text string) {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("\\`*_[]<>&!|~#", r) {
			return ' '
		}
		return r
	}, app.Cut(name, viewcmd.MaxShownValue))
	if text = page.Escape(app.Cut(text, viewcmd.MaxShownValue)); text == "" {
		p.Line("- %s", name)
		return
	}
	fence := strings.Repeat("`", longestRun(text, '`')+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || strings.Trim(text, " ") == "" {
		text = " " + text + " "
	}
	p.Line("- %s: %s", name, page.Styled(fence+text+fence))
}

// markdownBlock writes a text as a block of code.
func markdownBlock(p *page.Page, text string) {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	p.Line("%s", page.Styled(fence+"text"))
	for line := range strings.SplitSeq(text, "\n") {
		p.Line("%s", page.Styled(page.Visible(line)))
	}
	p.Line("%s", page.Styled(fence))
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
type transcriptText struct{ *runs.TranscriptResult }

func (d transcriptText) Text(p *page.Page) {
	entriesText(p, &runs.LogResult{ThreadID: d.ThreadID, Damaged: d.Damaged, Items: d.Items})
}

// transcriptRunFlag selects a run.
func transcriptRunFlag() cli.Flag { return cli.NewFlag("run", ARun(), "only this run") }

// ARun is a run's id, or its beginning.
func ARun() *cli.Value { return &cli.Value{Shown: "RUN", Check: checkRun, IDs: cli.RunIDs} }

func checkRun(text string) *cli.Fault {
	if rest, ok := strings.CutPrefix(text, thread.PrefixRun); ok && (rest == "" || thread.ValidID(rest)) ||
		viewcmd.OfKind(text, thread.PrefixRun) && !ok {
		return nil
	}
	return &cli.Fault{Problem: "must be a run's id, or its beginning (run-a1b2), not " + strconv.Quote(text)}
}

// Transcript is the command leslie transcript.
func Transcript() *cli.Command {
	return &cli.Command{
		Name: "transcript", Summary: "show what a thread's agent was told, said and did, as Markdown",
		Detail: "The whole conversation, or with --limit its newest entries. JSON and YAML have the entries, the " +
			"newest 50 by default (--limit 0: all), with the agent's updates as it sent them.",
		Example:  "leslie transcript write-docs > transcript.md",
		Operands: []cli.Operand{cli.ThreadOperand()},
		Flags: []cli.Flag{transcriptRunFlag(),
			cli.NewFlag("limit", cli.NonNegative("N"), "show only the newest N entries")},
		Run: runTranscript,
	}
}

func runTranscript(c *cli.Call) (cli.Data, error) {
	in := runs.TranscriptRequest{Thread: c.TargetThread(), Run: c.Text("run")}
	if c.Who.Format == "text" {
		in.Limit = c.Count("limit", 0)
		data, err := cli.RunUseCase(c, runs.Conversation, in,
			func(d *runs.ConversationResult) cli.Data { return conversationText{d} })
		return data, c.UsageOf(err, nil)
	}
	in.Limit = c.Count("limit", app.DefaultLimit)
	data, err := cli.RunUseCase(c, runs.Transcript, in,
		func(d *runs.TranscriptResult) cli.Data { return transcriptText{d} })
	return data, c.UsageOf(err, nil)
}
