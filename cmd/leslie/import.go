package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/importing"
	"leslie/internal/fact"
)

// This file implements import, which takes over what other programs keep.

// maxImportInput is how much import reads from standard input.
const maxImportInput = 1 << 30

type importText struct{ *app.ImportResult }

func (d importText) Text(p *page) {
	verb := "imported"
	if d.Restored {
		verb = "restored"
	}
	if d.DryRun {
		verb = "would import"
	}
	p.line("%s %s, %s, %s, %s, %s", verb, many(len(d.Objectives), "objective"), many(d.Threads, "thread"),
		many(d.References, "reference"), many(d.Approvals, "approval"), many(d.Files, "file"))
	for _, r := range d.Renamed.Items {
		p.line("renamed %s -> %s", r.From, r.To)
	}
	p.rest(len(d.Renamed.Items), d.Renamed.Total)
	for _, n := range d.Unmapped.Items {
		p.line("not mapped: %s: %s", n.Record, n.What)
	}
	p.rest(len(d.Unmapped.Items), d.Unmapped.Total)
	d.rules(p)
	if d.DryRun {
		p.line("nothing was changed")
	}
}

// rules prints what a permission file says, to be added to a configuration.
func (d importText) rules(p *page) {
	if d.Rules == nil {
		return
	}
	var lines []string
	add := func(key string, value any, some bool) {
		if raw, err := fact.JSON(value); err == nil && some {
			lines = append(lines, strconv.Quote(key)+": "+string(raw))
		}
	}
	add("default", d.Rules.Default, d.Rules.Default != "")
	add("allow", d.Rules.Allow, len(d.Rules.Allow) > 0)
	add("ask", d.Rules.Ask, len(d.Rules.Ask) > 0)
	add("deny", d.Rules.Deny, len(d.Rules.Deny) > 0)
	if len(lines) > 0 {
		p.line("rules are not taken over; add what you want to your configuration (leslie config path):")
		p.line("  \"run\": {%s}", strings.Join(lines, ", "))
	}
}

func importCommand() *command {
	return &command{
		name: "import", summary: "import an export, a store of leslie 1.x, or the issues of beads", writes: true, notBatchable: true,
		detail: "PATH is a project folder, its .leslie, or a file; - reads standard input. The kind is recognised. " +
			"An export is restored in an empty store, with its revisions and history, and added to another. " +
			"Ids are kept: one that is taken is T106, and then nothing is changed. Characters that an id may not have become '-'. " +
			"The source is not changed. What does not map is listed, and the original records are kept in each thread's " + importing.KeptDir + ".",
		example:  "leslie import ../old-project --dry-run",
		operands: []operand{{value: anyText("PATH")}},
		flags: []cli.Flag{
			newOption("from", oneOf(string(importing.Leslie), string(importing.Beads)), "what PATH is (default: recognised)"),
			newOption("objective", anID("ID", objectiveIDs), "where beads' issues go (default: a new objective named after the file)"),
			toggle("dry-run", "show what would happen without changing anything"),
			limitFlag(),
		},
		run: runImport,
	}
}

func runImport(c *call) (Data, error) {
	in := app.ImportRequest{
		Path: fromDir(c, c.operand(0)), From: importing.Kind(c.text("from")), Objective: c.text("objective"),
		DryRun: c.on("dry-run"), Limit: c.count("limit", app.DefaultLimit),
	}
	labels := map[string]string{"Path": "PATH"}
	if c.operand(0) == "-" && len(c.faults) == 0 {
		text, err := c.readAll(c.env.stdin, maxImportInput)
		switch {
		case c.ctx.Err() != nil:
		case err != nil:
			c.fault("PATH", "-", "standard input cannot be read: "+codes.Reason(err))
		case len(text) > maxImportInput:
			c.fault("PATH", "-", fmt.Sprintf("standard input is longer than %d MiB: name a file", maxImportInput>>20))
		}
		in.Input = bytes.NewReader(text)
	} else if in.Path != "" {
		in.Path = filepath.Clean(in.Path)
	}
	c.checkRequest(in.Faults, labels)
	if err := c.usage(); err != nil {
		return nil, err
	}
	d, err := importOrPreview(c, in)
	if err != nil {
		return nil, c.usageOf(err, labels)
	}
	return importText{d}, nil
}

// importOrPreview runs the import. A dry run also answers where there is no store of
// this edition yet.
func importOrPreview(c *call, in app.ImportRequest) (*app.ImportResult, error) {
	d, err := useCase(c, app.Import, in)
	if in.DryRun && (codes.Has(err, codes.NotInitialized) || codes.Has(err, codes.UnsupportedVersion)) {
		return app.PreviewImport(c.ctx, environment(c), in)
	}
	return d, err
}

// leadToImport completes a T506 about a store of the Node edition, which can be
// imported.
func (c *call) leadToImport(err error) error {
	e := codes.Of(err)
	if !codes.Has(err, codes.UnsupportedVersion) || !strings.Contains(e.Facts().Text("writer"), "Node edition") {
		return err
	}
	root := c.who.dir
	if c.op != nil {
		root = c.op.Root()
	}
	return e.WithHint("See what would be imported, move " + app.StoreFolder + " to another name, run leslie init, then leslie import that folder").
		WithNext("leslie import " + shellQuote(root) + " --dry-run")
}
