package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
	"leslie/internal/setup"
)

type setupText struct {
	*app.SetupResult
	in app.SetupRequest
}

func (d setupText) Text(p *page) {
	if d.in.Check {
		d.table(p)
		return
	}
	for _, f := range d.Files {
		fileDiffText(p, f)
	}
	for _, i := range d.Items {
		if i.Action == app.PieceLeft && i.State == setup.Edited {
			p.wrapped("left as it is: " + i.Path + ": " + i.Piece + " was edited, or is not leslie's. Take it out yourself to get leslie's again.")
		} else if i.Action == app.PieceLeft {
			p.wrapped("left as it is: " + i.Path + ": " + i.Piece + ", which another agent shares")
		}
	}
	for _, note := range d.Notes {
		p.wrapped("note: " + note)
	}
	d.sum(p)
}

// sum says in a line what became of everything.
func (d setupText) sum(p *page) {
	verb := "changed"
	switch {
	case len(d.Files) == 0 && d.in.Remove:
		p.line("nothing to do: nothing of leslie's is there")
		return
	case len(d.Files) == 0:
		p.line("nothing to do: all is set up")
		return
	case d.in.DryRun:
		verb = "would change"
	}
	p.line("%s %s", styled(verb), many(len(d.Files), "file"))
}

func (d setupText) table(p *page) {
	tableOf(p, d.Items, []column[app.SetupItem]{
		{Column: screen.Column{Name: "STATE"}, cell: text(func(i app.SetupItem) string { return string(i.State) })},
		{Column: screen.Column{Name: "PIECE"}, cell: text(func(i app.SetupItem) string { return i.Piece })},
		{Column: screen.Column{Name: "FILE", Shrinks: true}, cell: text(func(i app.SetupItem) string { return i.Path })},
		{Column: screen.Column{Name: "FOR", Goes: 1}, cell: text(func(i app.SetupItem) string { return strings.Join(i.Targets, ", ") })},
		{Column: screen.Column{Name: "PROBLEM", Shrinks: true}, cell: text(func(i app.SetupItem) string { return i.Problem }), used: true},
	})
	for _, note := range d.Notes {
		p.wrapped("note: " + note)
	}
}

// allTargets stands for all targets.
const allTargets = "all"

func setupCommand() *command {
	return &command{
		name: "setup", summary: "set coding agents and git up for leslie: skills, hooks, tools, instructions, merge driver", writes: true, unrecorded: true,
		detail: "Shows what it changes. What is there already stays as it is, comments included; --remove takes out exactly what was put in. A second time it " +
			"does nothing. all, the default, are the six agents, installed or not, and git in a repository. With --scope user your own files are changed instead of " +
			"the project's; agents may not do that. leslie help setup lists the files.",
		example:  "leslie setup claude --dry-run",
		operands: []operand{{value: oneOf(append(setup.Targets(), allTargets)...), optional: true, many: true}},
		flags: []cli.Flag{
			newOption("scope", oneOf(string(setup.ProjectScope), string(setup.UserScope)), "whose files: the project's (default) or your own"),
			toggle("dry-run", "show what would change, and change nothing"),
			toggle("remove", "take leslie's pieces out again"),
			toggle("check", "say what is installed, outdated or edited by hand"),
		},
		run: runSetup,
	}
}

func runSetup(c *call) (Data, error) {
	in := app.SetupRequest{
		Dir: c.who.dir, Scope: setup.Scope(c.textOr("scope", string(setup.ProjectScope))),
		DryRun: c.on("dry-run"), Remove: c.on("remove"), Check: c.on("check"),
	}
	for _, name := range c.flags.Args().Slice() {
		if !slices.Contains(in.Targets, name) {
			in.Targets = append(in.Targets, name)
		}
	}
	if slices.Contains(in.Targets, allTargets) {
		in.Targets = nil
	}
	if in.Check && (in.Remove || in.DryRun) {
		c.fault("--check", "true", "--check changes nothing: it cannot be used with --remove or --dry-run")
	}
	env := c.env.app()
	c.checkRequest(func(app.Names) []app.Fault { return in.Faults(env) }, nil)
	if err := c.usage(); err != nil {
		return nil, err
	}
	d, notes, err := app.Setup(c.ctx, env, c.caller(), in)
	c.warnings.Add(notes...)
	if err != nil {
		return nil, err
	}
	return setupText{d, in}, nil
}
