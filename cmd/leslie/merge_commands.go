package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/merge"
	"leslie/thread"
)

type mergeListText struct{ *app.MergeListResult }

func (d mergeListText) Text(p *page) {
	columns := []column[merging.Item]{
		{Column: screen.Column{Name: "MERGE"}, cell: text(func(m merging.Item) thread.MergeID { return m.MergeID })},
		{Column: screen.Column{Name: "TARGET"}, cell: text(func(m merging.Item) thread.ThreadID { return m.Target })},
		{Column: screen.Column{Name: "SOURCES", Shrinks: true}, cell: text(func(m merging.Item) string { return joined(m.Sources) })},
		{Column: screen.Column{Name: "STRATEGY", Goes: 1}, cell: text(func(m merging.Item) thread.Strategy { return m.Strategy })},
		{Column: screen.Column{Name: "SINCE", Goes: 3}, cell: func(m merging.Item) screen.Cell { return p.when(&m.CreatedAt) }},
		{Column: screen.Column{Name: "BY", Goes: 2, Shrinks: true}, cell: text(func(m merging.Item) string { return m.CreatedBy.Actor })},
		{Column: screen.Column{Name: "APPROVAL"}, cell: text(func(m merging.Item) string { return requestText(m.Approval, m.RequireApproval) })},
	}
	if slices.ContainsFunc(d.Items.Items, func(m merging.Item) bool { return m.Queued }) {
		columns = append(columns, column[merging.Item]{Column: screen.Column{Name: "QUEUED", Shrinks: true}, cell: text(queuedText)})
	}
	tableOf(p, d.Items.Items, columns)
	p.rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.line("no merge is pending")
	}
}

func mergeListCommand() *command {
	return &command{
		name: "merge list", summary: "list pending merges", example: "leslie merge list",
		flags: []cli.Flag{limitFlag(), timeFlag()}, run: runMergeList,
	}
}

func runMergeList(c *call) (Data, error) {
	in := app.MergeListRequest{Limit: c.count("limit", app.DefaultLimit)}
	return runUseCase(c, app.MergeList, in, func(d *app.MergeListResult) Data { return mergeListText{d} })
}

func mergeOperand() operand { return operand{value: anID("M", mergeIDs), meant: true} }

func mergeStatusCommand() *command {
	return &command{
		name: "merge status", summary: "show a pending merge and its conflicts", example: "leslie merge status merge-a1b2c3d4",
		hint:     hint{bringing, "merge status MERGE"},
		detail:   "Text shows the first lines of each side; --conflict shows one conflict, or those of a path, with all lines.",
		operands: []operand{mergeOperand()},
		flags:    []cli.Flag{newOption("conflict", anyText("C"), "only this conflict, or the conflicts of this path, with all lines")},
		run:      runMergeStatus,
	}
}

func runMergeStatus(c *call) (Data, error) {
	in := app.MergeStatusRequest{Merge: meantRecord(c, mergeIDs), Conflict: c.text("conflict")}
	result, err := useCase(c, app.MergeStatus, in)
	if err != nil {
		return nil, err
	}
	return mergeText{MergeResult: result, whole: in.Conflict != ""}, nil
}

func mergeResolveCommand() *command {
	return &command{
		name: "merge resolve", summary: "resolve a conflict of a pending merge, or all conflicts of a path", writes: true, notBatchable: true,
		hint: hint{bringing, "merge resolve MERGE PATH --take SIDE"},
		detail: "--take chooses a side: ours (the target), theirs (the only source), base, both, delete, keep, or a thread's id. " +
			"--file gives the content of the named conflict, or of the whole path; - reads standard input. " +
			"--additions both takes all sides of every conflict in which they only added lines, and leaves the others open. " +
			"A PATH means its open conflicts; without PATH or CONFLICT, the choice applies to every open conflict. " +
			"--all, or naming a CONFLICT, also replaces answers that were given.",
		example:  "leslie merge resolve merge-a1b2c3d4 plan.md --take both",
		operands: []operand{mergeOperand(), {value: anyText("PATH|CONFLICT"), optional: true}},
		flags: []cli.Flag{
			newOption("take", anyText("SIDE"), "ours, theirs, base, both, delete, keep, or a thread's id"),
			newOption("file", anyText("F|-"), "a file with the content; - reads standard input"),
			newOption("additions", oneOf(merge.TakeBoth), "take both where all sides only added lines"),
			toggle("all", "also replace answers that were given already"),
			newOption("reason", anyText("R"), "why, for the record"),
		},
		run: runMergeResolve,
	}
}

func runMergeResolve(c *call) (Data, error) {
	switch {
	case c.has("additions") && (c.has("take") || c.has("file")):
		c.fault("--additions", "", "--additions cannot be used with --take or --file")
	case c.has("take") == c.has("file") && !c.has("additions"):
		c.fault("--take", "", "say --take SIDE or --file F, and not both")
	}
	id, about := meantWith(c, mergeIDs)
	if c.has("file") && about == "" {
		c.fault("PATH|CONFLICT", "", "--file needs the PATH or the CONFLICT that it is for")
	}
	in := app.MergeResolveRequest{Merge: id, Choice: merging.Choice{About: about, All: c.on("all"), Take: c.text("take"), Reason: c.text("reason")}}
	if c.has("additions") {
		in.Additions, in.Take = true, merge.TakeBoth
	}
	if c.has("file") {
		in.Take = merge.TakeText
		in.Content = func() ([]byte, error) { return readFile(c, c.text("file")) }
	}
	return runMerging(c, app.MergeResolve, in)
}

// readFile reads a file named by the caller, or standard input for "-". Errors: T903,
// T508, T509.
func readFile(c *call, name string) ([]byte, error) {
	in := c.env.stdin
	if name != "-" {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.who.dir, path)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, codes.ReadFailed.Wrap(err, fact.Of("path", name), fact.Of("reason", codes.Reason(err)))
		}
		defer f.Close()
		in = f
	}
	var text bytes.Buffer
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			text.Grow(int(min(info.Size(), app.MaxFile)) + bytes.MinRead) // read in one go
		}
	}
	_, err := text.ReadFrom(io.LimitReader(in, app.MaxFile+1))
	data := text.Bytes()
	switch {
	case err != nil:
		return nil, codes.ReadFailed.Wrap(err, fact.Of("path", name), fact.Of("reason", codes.Reason(err)))
	case len(data) > app.MaxFile:
		return nil, codes.TooLarge.New(fact.Of("what", name), fact.Of("limit", "64 MiB"))
	}
	return data, nil
}

func mergeContinueCommand() *command {
	return &command{
		name: "merge continue", summary: "apply a pending merge once all conflicts are resolved", writes: true, notBatchable: true,
		hint: hint{bringing, "merge continue MERGE"},
		detail: "The files in the merge's work folder count, too: a conflict whose lines were edited and have no markers left is resolved " +
			"by them, and so are changes elsewhere in a file once it has no markers left.",
		example:  "leslie merge continue merge-a1b2c3d4",
		operands: []operand{mergeOperand()},
		flags:    append([]cli.Flag{toggle("dry-run", "show what would happen without changing anything")}, commitFlags()...),
		run:      runMergeContinue,
	}
}

func runMergeContinue(c *call) (Data, error) {
	in := app.MergeContinueRequest{Merge: meantRecord(c, mergeIDs), DryRun: c.on("dry-run"), MergeMeans: mergeMeans(c)}
	c.checkRequest(in.Faults, map[string]string{"Merge": "M", "Timeout": "--agent-timeout"})
	return runMerging(c, app.MergeContinue, in)
}

func mergeAbortCommand() *command {
	return &command{
		name: "merge abort", summary: "abort a pending merge; the target stays unchanged", writes: true, notBatchable: true,
		example:  "leslie merge abort merge-a1b2c3d4",
		operands: []operand{mergeOperand()}, run: runMergeAbort,
	}
}

func runMergeAbort(c *call) (Data, error) {
	return runMerging(c, app.MergeAbort, app.MergeAbortRequest{Merge: meantRecord(c, mergeIDs)})
}
