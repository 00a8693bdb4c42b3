package projectcmd

import (
	"encoding/json"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/config"
	"leslie/internal/screen"
)

// This file shows the configuration, and writes the user's.

type configPathText struct{ *config.PathResult }

func (d configPathText) Text(p *page.Page) {
	configFileText(p, "user", d.User, "")
	switch {
	case d.Project == nil:
		p.Line("project: none here")
	case d.Trusted:
		configFileText(p, "project", d.Project, ", trusted")
	default:
		configFileText(p, "project", d.Project, ", not trusted")
	}
}

func configFileText(p *page.Page, name string, f *config.File, more string) {
	switch {
	case f == nil:
		p.Line("%s: unknown, there is no home folder", name)
	case f.Exists:
		p.Line("%s: %s%s", name, f.Path, more)
	default:
		p.Line("%s: %s (not there)%s", name, f.Path, more)
	}
	if f != nil {
		p.Field("  problem", f.Problem)
	}
}

type configShowText struct{ *config.ShowResult }

func (d configShowText) Text(p *page.Page) {
	page.TableOf(p, d.Items.Items, []page.Column[config.Item]{
		{Column: screen.Column{Name: "KEY"}, Cell: page.Text(func(i config.Item) string { return i.Key })},
		{Column: screen.Column{Name: "VALUE", Shrinks: true}, Cell: page.Text(configValue)},
		{Column: screen.Column{Name: "FROM"}, Cell: page.Text(configSource)},
	})
}

// configValue is a value as it stands in the file, a text without its quotes.
func configValue(i config.Item) string {
	if s, ok := i.Value.(string); ok {
		return s
	}
	if a, ok := i.Value.(config.Agent); ok {
		shown := strings.Join(a.Command, " ")
		if a.Mode != nil {
			shown += ", mode " + *a.Mode
		}
		return shown + page.WithSeparator(", with ", app.Joined(a.Env))
	}
	if r, ok := i.Value.(config.ProfileRules); ok {
		return strings.Join(r.Every, ", ") + "; in a worktree of its own: " + strings.Join(r.Own, ", ")
	}
	raw, err := json.Marshal(i.Value)
	if err != nil {
		return ""
	}
	return strings.Trim(string(raw), `"`)
}

// configSource says who sets a value, and why it does not count.
func configSource(i config.Item) string {
	switch i.Ignored {
	case config.Untrusted:
		return i.Source + ", ignored: not trusted"
	case config.ConfigOverridden:
		return i.Source + ", overridden"
	}
	return i.Source
}

type configInitText struct{ *config.InitResult }

func (d configInitText) Text(p *page.Page) {
	p.Line("wrote %s", d.Path)
	for _, t := range d.Taken {
		p.Line("%s gets %s", t.Agent, app.Joined(t.Names))
	}
}

// ConfigPath is the command leslie config path.
func ConfigPath() *cli.Command {
	return &cli.Command{
		Name: "config path", Summary: "show where your configuration and the project's are",
		Example: "leslie config path",
		Run: func(c *cli.Call) (cli.Data, error) {
			if err := c.Usage(); err != nil {
				return nil, err
			}
			d, err := config.Path(c.Environment(), c.Who.Dir)
			if err != nil {
				return nil, err
			}
			return configPathText{d}, nil
		},
	}
}

// ConfigShow is the command leslie config show.
func ConfigShow() *cli.Command {
	return &cli.Command{
		Name: "config show", Summary: "show the configuration that is in effect, and where each value comes from",
		Detail: "What a project's configuration says and does not count is shown with the reason (W305). Of the " +
			"environment of agents only the names are shown.",
		Example: "leslie config show",
		Run: func(c *cli.Call) (cli.Data, error) {
			if err := c.Usage(); err != nil {
				return nil, err
			}
			d, notes, err := config.Show(c.Ctx, c.Environment(), c.Who.Dir)
			c.Warnings.Add(notes...)
			if err != nil {
				return nil, err
			}
			return configShowText{d}, nil
		},
	}
}

// ConfigInit is the command leslie config init.
func ConfigInit() *cli.Command {
	return &cli.Command{
		Name: "config init", Summary: "write your own configuration, with every key as a comment", Writes: true,
		Unrecorded: true,
		Detail: "Only you can read the file. One that is there is never overwritten (T106). --from-env takes the " +
			"variables with which the installed agents log in (API keys) out of the environment, so that runs find " +
			"them; they are written nowhere else and never shown.",
		Example: "leslie config init --from-env",
		Flags:   []cli.Flag{cli.Toggle("from-env", "take over the keys of the installed agents")},
		Run: func(c *cli.Call) (cli.Data, error) {
			if err := c.Usage(); err != nil {
				return nil, err
			}
			d, notes, err := config.Init(c.Ctx, c.Environment(), c.Request(),
				config.InitRequest{FromEnv: c.On("from-env")})
			c.Warnings.Add(notes...)
			if err != nil {
				return nil, err
			}
			return configInitText{d}, nil
		},
	}
}
