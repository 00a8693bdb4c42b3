package projectcmd

import (
	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/mergecmd"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app/config"
)

// configTrustText shows which programs would run, unless the person has seen them.
type configTrustText struct {
	*config.TrustResult
	seen, removed bool
}

func (d configTrustText) Text(p *page.Page) {
	if !d.seen && !d.removed {
		trustLines(d.TrustResult, p.Line)
	}
	switch {
	case d.removed && d.Changed:
		p.Line("%s is no longer trusted", d.Root)
	case d.removed:
		p.Line("nothing to do: %s is not on your list", d.Root)
	case len(d.Programs) == 0:
		p.Line("nothing to trust: neither the project's configuration nor that of its repository names a program")
	case d.Changed:
		p.Line("%s is trusted with just these: they may run", d.Root)
	case d.Trusted:
		p.Line("%s is trusted: they may run", d.Root)
	case d.Stale:
		p.Line("%s was trusted with other programs: none of these runs", d.Root)
		d.next(p)
	default:
		p.Line("%s is not trusted: none of them runs", d.Root)
		d.next(p)
	}
}

// next says how a person goes on who was not asked.
func (d configTrustText) next(p *page.Page) {
	if !d.seen {
		p.Line("next: leslie config trust --yes")
	}
}

// trustLines names the programs of a project, each as it stands in its file.
func trustLines(d *config.TrustResult, line func(format string, args ...any)) {
	file := ""
	for _, p := range d.Programs {
		if p.File != file {
			file = p.File
			line("%s:", file)
		}
		line("  %s = %s", p.Key, p.Value)
	}
}

// ConfigTrust is the command leslie config trust.
func ConfigTrust() *cli.Command {
	return &cli.Command{
		Name: "config trust", Summary: "show which programs a project and its repository name, and let them run",
		Writes: true, Unrecorded: true,
		Detail: "They are the commands of .leslie/config.json, and the filters and merge drivers of the " +
			"repository's own git configuration. leslie shows each with its file and asks you; --yes asks nobody. " +
			"Only a person may decide it: for an agent, and without a terminal, it only shows them. The project is " +
			"then on the list trust of your own configuration, with just these: if one changes or another comes, " +
			"they do not run until you are asked again. A script that one of them names may change. --remove takes " +
			"the project off the list.",
		Example: "leslie config trust",
		Flags: []cli.Flag{
			cli.Toggle("yes", "let them run without asking"),
			cli.Toggle("remove", "let none of them run from now on"),
		},
		Run: runConfigTrust,
	}
}

func runConfigTrust(c *cli.Call) (cli.Data, error) {
	in := config.TrustRequest{Dir: c.Who.Dir, Yes: c.On("yes"), Remove: c.On("remove")}
	if in.Yes && in.Remove {
		c.Fault("--yes", "true", "--yes cannot be used with --remove")
	}
	if err := c.Usage(); err != nil {
		return nil, err
	}
	do := func() (*config.TrustResult, error) {
		d, notes, err := config.Trust(c.Ctx, c.Environment(), c.Caller(), c.Request(), in)
		c.Warnings.Add(notes...)
		return d, err
	}
	d, err := do()
	if err != nil {
		return nil, err
	}
	shown := configTrustText{TrustResult: d, removed: in.Remove}
	if in.Yes || in.Remove || d.Trusted || len(d.Programs) == 0 || !c.CanPrompt() {
		return shown, nil
	}
	p := c.Prompt()
	trustLines(d, p.Say)
	agreed, asked := mergecmd.Confirm(c, p, "May they run?", "trust the project with just these", "let none of them run")
	if shown.seen = true; agreed {
		in.Yes, in.Seen = true, d.Seen()
		shown.TrustResult, err = do()
		if err != nil {
			return nil, err
		}
	}
	return shown, asked
}
