package runcmd

import (
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/cmd/leslie/internal/viewcmd"
	"leslie/internal/app"
	"leslie/internal/app/runs"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file shows the entries of transcripts, a line each.

type entryText struct{ runs.TranscriptEntry }

func (d entryText) Text(p *page.Page) {
	outcome, about := d.Line()
	words := d.Kind
	if outcome != "" {
		words += " (" + outcome + ")"
	}
	if about != "" {
		words += "  " + app.Cut(about, viewcmd.MaxShownValue)
	}
	p.Line("%d  %s  %s  %d  %s", d.N, d.At.Format(time.RFC3339), d.Run, d.Turn, words)
}

type runLogText struct{ *runs.LogResult }

func (d runLogText) Text(p *page.Page) { entriesText(p, d.LogResult) }

func entriesText(p *page.Page, d *runs.LogResult) {
	for _, e := range d.Items.Items {
		entryText{e}.Text(p)
	}
	p.Rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.Line("no entries%s", noEntries(d.ThreadID, d.Machine, "run log"))
	}
	if d.Damaged > 0 {
		p.Line("%s could not be read", fact.Plural(d.Damaged, "line"))
	}
}

// noEntries says where the entries of a thread's runs are, or how there come to be some; machine has them, "" if none has.
func noEntries(id thread.ThreadID, machine, command string) string {
	if machine != "" {
		return " here: its agent runs, or ran, on " + machine + ", where leslie " + command + " " + string(id) + " shows them"
	}
	return ": leslie run " + string(id) + " runs its agent"
}

// RunLog is the command leslie run log.
func RunLog() *cli.Command {
	return &cli.Command{
		Name: "run log", Summary: "show what a thread's agent says and does, a line each, oldest first",
		Detail: "Shows the newest 50 entries by default; with --since and --follow all after that one, then new " +
			"ones. To continue, pass the last number that you read to --since. With --follow, JSON is one entry a " +
			"line.",
		Example:  "leslie run log write-docs --follow",
		Operands: []cli.Operand{cli.ThreadOperand()},
		Flags: []cli.Flag{
			cli.Toggle("follow", "keep printing new entries"),
			cli.NewFlag("since", cli.NonNegative("N"), "only entries after number N"),
			transcriptRunFlag(),
			cli.LimitFlag(),
		},
		Streams: cli.Following, Run: runRunLog,
	}
}

func runRunLog(c *cli.Call) (cli.Data, error) {
	in := runs.TranscriptRequest{Thread: c.TargetThread(), Run: c.Text("run"), Since: int64(c.Count("since", 0))}
	if !c.On("follow") {
		in.Limit = c.Count("limit", app.DefaultLimit)
		data, err := cli.RunUseCase(c, runs.Log, in, func(d *runs.LogResult) cli.Data { return runLogText{d} })
		return data, c.UsageOf(err, nil)
	}
	if in.Limit = c.Count("limit", app.DefaultLimit); c.Has("since") && !c.Has("limit") {
		in.Limit = 0
	}
	if err := c.Usage(); err != nil {
		return nil, err
	}
	op, err := c.Open()
	if err != nil {
		return nil, err
	}
	return c.Stream(func(emit func(cli.Data) error) error {
		err := runs.FollowTranscript(op, in, func(e runs.TranscriptEntry) error { return emit(entryText{e}) })
		return c.UsageOf(err, nil)
	})
}
