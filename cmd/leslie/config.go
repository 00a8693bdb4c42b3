package main

import (
	"encoding/json"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
)

// This file shows the configuration, and writes the user's.

type configPathText struct{ *app.ConfigPathResult }

func (d configPathText) Text(p *page) {
	configFileText(p, "user", d.User, "")
	switch {
	case d.Project == nil:
		p.line("project: none here")
	case d.Trusted:
		configFileText(p, "project", d.Project, ", trusted")
	default:
		configFileText(p, "project", d.Project, ", not trusted")
	}
}

func configFileText(p *page, name string, f *app.ConfigFile, more string) {
	switch {
	case f == nil:
		p.line("%s: unknown, there is no home folder", name)
	case f.Exists:
		p.line("%s: %s%s", name, f.Path, more)
	default:
		p.line("%s: %s (not there)%s", name, f.Path, more)
	}
	if f != nil {
		p.field("  problem", f.Problem)
	}
}

type configShowText struct{ *app.ConfigShowResult }

func (d configShowText) Text(p *page) {
	tableOf(p, d.Items.Items, []column[app.ConfigItem]{
		{Column: screen.Column{Name: "KEY"}, cell: text(func(i app.ConfigItem) string { return i.Key })},
		{Column: screen.Column{Name: "VALUE", Shrinks: true}, cell: text(configValue)},
		{Column: screen.Column{Name: "FROM"}, cell: text(configSource)},
	})
}

// configValue is a value as it stands in the file, a text without its quotes.
func configValue(i app.ConfigItem) string {
	if s, ok := i.Value.(string); ok {
		return s
	}
	if a, ok := i.Value.(app.ConfigAgent); ok {
		shown := strings.Join(a.Command, " ")
		if a.Mode != nil {
			shown += ", mode " + *a.Mode
		}
		return shown + behind(", with ", joined(a.Env))
	}
	raw, err := json.Marshal(i.Value)
	if err != nil {
		return ""
	}
	return strings.Trim(string(raw), `"`)
}

// configSource says who sets a value, and why it does not count.
func configSource(i app.ConfigItem) string {
	switch i.Ignored {
	case app.ConfigUntrusted:
		return i.Source + ", ignored: not trusted"
	case app.ConfigOverridden:
		return i.Source + ", overridden"
	}
	return i.Source
}

type configInitText struct{ *app.ConfigInitResult }

func (d configInitText) Text(p *page) {
	p.line("wrote %s", d.Path)
	for _, t := range d.Taken {
		p.line("%s gets %s", t.Agent, joined(t.Names))
	}
}

func configPathCommand() *command {
	return &command{
		name: "config path", summary: "show where your configuration and the project's are",
		example: "leslie config path",
		run: func(c *call) (Data, error) {
			if err := c.usage(); err != nil {
				return nil, err
			}
			d, err := app.ConfigPath(environment(c), c.who.dir)
			if err != nil {
				return nil, err
			}
			return configPathText{d}, nil
		},
	}
}

func configShowCommand() *command {
	return &command{
		name: "config show", summary: "show the configuration that is in effect, and where each value comes from",
		detail:  "What a project's configuration says and does not count is shown with the reason (W305). Of the environment of agents only the names are shown.",
		example: "leslie config show",
		run: func(c *call) (Data, error) {
			if err := c.usage(); err != nil {
				return nil, err
			}
			d, notes, err := app.ConfigShow(environment(c), c.who.dir)
			c.warnings.Add(notes...)
			if err != nil {
				return nil, err
			}
			return configShowText{d}, nil
		},
	}
}

func configInitCommand() *command {
	return &command{
		name: "config init", summary: "write your own configuration, with every key as a comment", writes: true, unrecorded: true,
		detail: "Only you can read the file. One that is there is never overwritten (T106). --from-env takes the variables with which the installed agents " +
			"log in (API keys) out of the environment, so that runs find them; they are written nowhere else and never shown.",
		example: "leslie config init --from-env",
		flags:   []cli.Flag{toggle("from-env", "take over the keys of the installed agents")},
		run: func(c *call) (Data, error) {
			if err := c.usage(); err != nil {
				return nil, err
			}
			d, notes, err := app.ConfigInit(c.ctx, environment(c), c.request(), app.ConfigInitRequest{FromEnv: c.on("from-env")})
			c.warnings.Add(notes...)
			if err != nil {
				return nil, err
			}
			return configInitText{d}, nil
		},
	}
}
