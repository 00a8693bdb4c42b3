package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
)

// This file shows the entries of transcripts, a line each.

type entryText struct{ app.TranscriptEntry }

func (d entryText) Text(p *page) {
	outcome, about := d.Line()
	words := d.Kind
	if outcome != "" {
		words += " (" + outcome + ")"
	}
	if about != "" {
		words += "  " + cut(about, maxShownValue)
	}
	p.line("%d  %s  %s  %d  %s", d.N, d.At.Format(time.RFC3339), d.Run, d.Turn, words)
}

type runLogText struct{ *app.RunLogResult }

func (d runLogText) Text(p *page) { entriesText(p, d.RunLogResult) }

func entriesText(p *page, d *app.RunLogResult) {
	for _, e := range d.Items.Items {
		entryText{e}.Text(p)
	}
	p.rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.line("no entries; leslie run %s runs its agent", d.ThreadID)
	}
	if d.Damaged > 0 {
		p.line("%s could not be read", many(d.Damaged, "line"))
	}
}

func runLogCommand() *command {
	return &command{
		name: "run log", summary: "show what a thread's agent says and does, a line each, oldest first",
		detail: "Shows the newest 50 entries by default; with --since and --follow all after that one, then new ones. To continue, pass the last number that you read to --since. " +
			"With --follow, JSON is one entry a line.",
		example:  "leslie run log thread-a1b2c3d4 --follow",
		operands: []operand{threadOperand()},
		flags: []cli.Flag{
			toggle("follow", "keep printing new entries"),
			newOption("since", aCount("N"), "only entries after number N"),
			transcriptRunFlag(),
			limitFlag(),
		},
		streams: following, run: runRunLog,
	}
}

func runRunLog(c *call) (Data, error) {
	in := app.TranscriptRequest{Thread: c.targetThread(), Run: c.text("run"), Since: int64(c.count("since", 0))}
	if !c.on("follow") {
		in.Limit = c.count("limit", app.DefaultLimit)
		data, err := runUseCase(c, app.RunLog, in, func(d *app.RunLogResult) Data { return runLogText{d} })
		return data, c.usageOf(err, nil)
	}
	if in.Limit = c.count("limit", app.DefaultLimit); c.has("since") && !c.has("limit") {
		in.Limit = 0
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	op, err := c.open()
	if err != nil {
		return nil, err
	}
	return rendering{c}.stream(func(emit func(Data) error) error {
		err := app.FollowTranscript(op, in, func(e app.TranscriptEntry) error { return emit(entryText{e}) })
		return c.usageOf(err, nil)
	})
}
