package projectcmd

import (
	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/mergecmd"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app/config"
)

// configAllowText shows which rules there are now, or would be.
type configAllowText struct {
	*config.AllowResult
	seen bool
}

func (d configAllowText) Text(p *page.Page) {
	switch {
	case len(d.Added) == 0:
		p.Line("nothing to do: %s has them, or the project shows none (name them: leslie config allow 'Bash(make test)')", d.Path)
	case d.Changed:
		p.Line("agents may do this without asking, in all your projects (%s):", d.Path)
		for _, rule := range d.After {
			p.Line("  %s", rule)
		}
	case !d.seen:
		allowLines(d.AllowResult, p.Line)
		p.Line("next: leslie config allow --yes")
	default:
		p.Line("nothing changed")
	}
}

// allowLines say what would be added.
func allowLines(d *config.AllowResult, line func(format string, args ...any)) {
	line("what builds and tests this project:")
	for _, rule := range d.Added {
		line("  %s", rule)
	}
	line("it runs what an agent has written, and with these rules in all your projects without asking")
}

// ConfigAllow is the command leslie config allow.
func ConfigAllow() *cli.Command {
	return &cli.Command{
		Name: "config allow", Summary: "let agents run commands without asking, such as those that build and test a project",
		Writes: true, Unrecorded: true,
		Detail: "RULEs are those of leslie help permissions. They are added to run.always of your own configuration, and " +
			"hold in all your projects. Without RULE: rules for what builds and tests this project, found by go.mod, " +
			"package.json, Cargo.toml, pyproject.toml, a Makefile and the like; they are shown, and added once you agree. " +
			"Only a person may do it.",
		Example:  "leslie config allow 'Bash(make test)' 'Bash(go test:*)'",
		Operands: []cli.Operand{{Value: cli.Text("RULE"), Optional: true, Many: true}},
		Flags:    []cli.Flag{cli.Toggle("yes", "add what was found without asking")},
		Run:      runConfigAllow,
	}
}

func runConfigAllow(c *cli.Call) (cli.Data, error) {
	in := config.AllowRequest{Dir: c.Who.Dir, Rules: c.Flags.Args().Slice(), Yes: c.On("yes")}
	if err := c.Usage(); err != nil {
		return nil, err
	}
	do := func() (*config.AllowResult, error) {
		d, notes, err := config.Allow(c.Ctx, c.Environment(), c.Caller(), c.Request(), in)
		c.Warnings.Add(notes...)
		return d, err
	}
	d, err := do()
	if err != nil {
		return nil, err
	}
	if in.Yes || len(in.Rules) > 0 || len(d.Added) == 0 || !c.CanPrompt() {
		return configAllowText{AllowResult: d}, nil
	}
	p := c.Prompt()
	allowLines(d, p.Say)
	agreed, asked := mergecmd.Confirm(c, p, "May agents run them?", "without asking, in all your projects", "leave it as it is")
	if agreed {
		in.Yes = true
		if d, err = do(); err != nil {
			return nil, err
		}
	}
	return configAllowText{d, true}, asked
}
