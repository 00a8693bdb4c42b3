package projectcmd

import (
	"slices"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/mergecmd"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/projects"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/internal/setup"
)

type setupText struct {
	*projects.SetupResult
	in projects.SetupRequest
}

func (d setupText) Text(p *page.Page) {
	if d.in.Check {
		d.table(p)
		return
	}
	for _, f := range d.Files {
		mergecmd.FileDiffText(p, f)
	}
	for _, i := range d.Items {
		if i.Action == projects.PieceLeft && i.State == setup.Edited {
			p.Wrapped("left as it is: " + i.Path + ": " + i.Piece +
				" was edited, or is not leslie's. Take it out yourself to get leslie's again.")
		} else if i.Action == projects.PieceLeft {
			p.Wrapped("left as it is: " + i.Path + ": " + i.Piece + ", which another agent shares")
		}
	}
	for _, note := range d.Notes {
		p.Wrapped("note: " + note)
	}
	d.sum(p)
}

// sum says in a line what became of everything.
func (d setupText) sum(p *page.Page) {
	verb := "changed"
	switch {
	case len(d.Files) == 0 && d.in.Remove:
		p.Line("nothing to do: nothing of leslie's is there")
		return
	case len(d.Files) == 0:
		p.Line("nothing to do: all is set up")
		return
	case d.in.DryRun:
		verb = "would change"
	}
	p.Line("%s %s", page.Styled(verb), fact.Plural(len(d.Files), "file"))
}

func (d setupText) table(p *page.Page) {
	page.TableOf(p, d.Items, []page.Column[projects.SetupItem]{
		{Column: screen.Column{Name: "STATE"},
			Cell: page.Text(func(i projects.SetupItem) string { return string(i.State) })},
		{Column: screen.Column{Name: "PIECE"}, Cell: page.Text(func(i projects.SetupItem) string { return i.Piece })},
		{Column: screen.Column{Name: "FILE", Shrinks: true},
			Cell: page.Text(func(i projects.SetupItem) string { return i.Path })},
		{Column: screen.Column{Name: "FOR", DropOrder: 1},
			Cell: page.Text(func(i projects.SetupItem) string { return strings.Join(i.Targets, ", ") })},
		{Column: screen.Column{Name: "PROBLEM", Shrinks: true},
			Cell: page.Text(func(i projects.SetupItem) string { return i.Problem }), HideIfEmpty: true},
	})
	for _, note := range d.Notes {
		p.Wrapped("note: " + note)
	}
}

// allTargets stands for all targets.
const allTargets = "all"

// Setup is the command leslie setup.
func Setup() *cli.Command {
	return &cli.Command{
		Name: "setup", Summary: "set coding agents and git up for leslie: skills, hooks, tools, instructions, merge " +
			"driver", Writes: true, Unrecorded: true,
		Detail: "Shows what it changes. What is there already stays as it is, comments included; --remove takes out " +
			"exactly what was put in. A second time it does nothing. all, the default, are the six agents, " +
			"installed or not, and git in a repository. With --scope user your own files are changed instead of the " +
			"project's; agents may not do that. leslie help topics setup lists the files.",
		Example:  "leslie setup claude --dry-run",
		Operands: []cli.Operand{{Value: cli.OneOf(append(setup.Targets(), allTargets)...), Optional: true, Many: true}},
		Flags: []cli.Flag{
			cli.NewFlag("scope", cli.OneOf(string(setup.ProjectScope), string(setup.UserScope)),
				"whose files: the project's (default) or your own"),
			cli.Toggle("dry-run", "show what would change, and change nothing"),
			cli.Toggle("remove", "take leslie's pieces out again"),
			cli.Toggle("check", "say what is installed, outdated or edited by hand"),
		},
		Run: runSetup,
	}
}

func runSetup(c *cli.Call) (cli.Data, error) {
	in := projects.SetupRequest{
		Dir: c.Who.Dir, Scope: setup.Scope(c.TextOr("scope", string(setup.ProjectScope))),
		DryRun: c.On("dry-run"), Remove: c.On("remove"), Check: c.On("check"),
	}
	for _, name := range c.Flags.Args().Slice() {
		if !slices.Contains(in.Targets, name) {
			in.Targets = append(in.Targets, name)
		}
	}
	if slices.Contains(in.Targets, allTargets) {
		in.Targets = nil
	}
	if in.Check && (in.Remove || in.DryRun) {
		c.Fault("--check", "true", "--check changes nothing: it cannot be used with --remove or --dry-run")
	}
	env := c.Env.AppEnvironment()
	c.CheckRequest(func(app.Names) []app.Fault { return in.Faults(env) }, nil)
	if err := c.Usage(); err != nil {
		return nil, err
	}
	d, notes, err := projects.Setup(c.Ctx, env, c.Caller(), in)
	c.Warnings.Add(notes...)
	if err != nil {
		return nil, err
	}
	return setupText{d, in}, nil
}
