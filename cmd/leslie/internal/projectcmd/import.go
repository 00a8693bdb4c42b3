package projectcmd

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/importing"
	"leslie/internal/app/projects"
	"leslie/internal/fact"
)

// This file implements import, which takes over what other programs keep.

// maxImportInput is how much import reads from standard input.
const maxImportInput = 1 << 30

type importText struct {
	*projects.ImportResult
	few int // of each list; 0: all
}

// fewImported is how much of each list a text shows if nobody says.
const fewImported = 5

func (d importText) Text(p *page.Page) {
	verb := "imported"
	if d.Restored {
		verb = "restored"
	}
	if d.DryRun {
		verb = "would import"
	}
	p.Line("%s %s, %s, %s, %s, %s", verb, fact.Plural(len(d.Objectives), "objective"), fact.Plural(d.Threads, "thread"),
		fact.Plural(d.References, "reference"), fact.Plural(d.Approvals, "approval"), fact.Plural(d.Files, "file"))
	if d.Renamed.Total > 0 {
		lines := make([]string, len(d.Renamed.Items))
		for i, r := range d.Renamed.Items {
			lines[i] = "renamed " + r.From + " -> " + r.To
		}
		d.list(p, "renamed: "+fact.Plural(d.Renamed.Total, "id"), lines, d.Renamed.Total)
	}
	if d.Unmapped.Total > 0 {
		lines := make([]string, len(d.Unmapped.Items))
		for i, n := range d.Unmapped.Items {
			lines[i] = "not mapped: " + n.Record + ": " + n.What
		}
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(d.UnmappedKinds)) {
			kinds = append(kinds, fmt.Sprintf("%s %d", kind, d.UnmappedKinds[kind]))
		}
		d.list(p, fmt.Sprintf("not mapped: %d (%s)", d.Unmapped.Total, strings.Join(kinds, ", ")), lines,
			d.Unmapped.Total)
	}
	d.rules(p)
	if d.DryRun {
		p.Line("nothing was changed")
	}
}

// list prints the first few of many lines, below one that sums them up.
func (d importText) list(p *page.Page, sum string, lines []string, total int) {
	if d.few > 0 && len(lines) > d.few {
		lines = lines[:d.few]
	}
	if len(lines) < total {
		p.Line("%s; the first %d:", sum, len(lines))
	}
	for _, line := range lines {
		p.Line("%s", line)
	}
	if len(lines) < total {
		p.Line("(%d more: --verbose lists all)", total-len(lines))
	}
}

// rules prints what a permission file says, to be added to a configuration.
func (d importText) rules(p *page.Page) {
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
		p.Line("rules are not taken over; add what you want to your configuration (leslie config path):")
		p.Line("  \"run\": {%s}", strings.Join(lines, ", "))
	}
}

// Import is the command leslie import.
func Import() *cli.Command {
	return &cli.Command{
		Name: "import", Summary: "import an export, a store of leslie 1.x, or the issues of beads", Writes: true,
		NotBatchable: true,
		Detail: "PATH is a project folder, its .leslie, or a file; - reads standard input. The kind is recognised. " +
			"An export is restored in an empty store, with its revisions and history, and added to another. Ids are " +
			"kept: one that is taken is T106, and then nothing is changed. Characters that an id may not have " +
			"become '-'. The source is not changed. What does not map is counted and listed, and the original " +
			"records are kept in each thread's " + importing.KeptDir + ".",
		Example:  "leslie import ../old-project --dry-run",
		Operands: []cli.Operand{{Value: cli.Text("PATH")}},
		Flags: []cli.Flag{
			cli.NewFlag("from", cli.OneOf(string(importing.Leslie), string(importing.Beads)),
				"what PATH is (default: recognised)"),
			cli.NewFlag("objective", cli.ID("ID", cli.ObjectiveIDs),
				"where beads' issues go (default: a new objective named after the file)"),
			cli.Toggle("dry-run", "show what would happen without changing anything"),
			cli.LimitFlag(),
			cli.Toggle("verbose", "list everything that was renamed or does not map"),
		},
		Run: runImport,
	}
}

func runImport(c *cli.Call) (cli.Data, error) {
	in := projects.ImportRequest{
		Path: c.FromDir(c.Operand(0)), From: importing.Kind(c.Text("from")), Objective: c.Text("objective"),
		DryRun: c.On("dry-run"), Limit: c.Count("limit", app.DefaultLimit),
	}
	few := fewImported
	if c.On("verbose") {
		c.MeansNothing("with --verbose", "limit")
		in.Limit = 0
	}
	if c.On("verbose") || c.Has("limit") {
		few = 0
	}
	labels := map[string]string{"Path": "PATH"}
	if c.Operand(0) == "-" && len(c.Faults) == 0 {
		text, err := c.ReadAll(c.Env.Stdin, maxImportInput)
		switch {
		case c.Ctx.Err() != nil:
		case err != nil:
			c.Fault("PATH", "-", "standard input cannot be read: "+codes.Reason(err))
		case len(text) > maxImportInput:
			c.Fault("PATH", "-", fmt.Sprintf("standard input is longer than %d MiB: name a file", maxImportInput>>20))
		}
		in.Input = bytes.NewReader(text)
	} else if in.Path != "" {
		in.Path = filepath.Clean(in.Path)
	}
	c.CheckRequest(in.Faults, labels)
	if err := c.Usage(); err != nil {
		return nil, err
	}
	d, err := importOrPreview(c, in)
	if err != nil {
		return nil, c.UsageOf(err, labels)
	}
	return importText{d, few}, nil
}

// importOrPreview runs the import. A dry run also answers where there is no store of
// this edition yet.
func importOrPreview(c *cli.Call, in projects.ImportRequest) (*projects.ImportResult, error) {
	d, err := cli.UseCase(c, projects.Import, in)
	if in.DryRun && (codes.Has(err, codes.NotInitialized) || codes.Has(err, codes.UnsupportedVersion)) {
		return projects.PreviewImport(c.Ctx, c.Environment(), in)
	}
	return d, err
}
