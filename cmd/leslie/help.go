package main

import (
	"runtime/debug"
	"slices"
	"strings"

	"leslie/internal/nearest"
)

type versionData struct {
	Version string `json:"version"`
}

// unversioned is the version of what was built without one.
const unversioned = "dev"

// versionOf is the version that a build was given, else the one that go install
// knows: the module's, or the commit's.
func versionOf(given string, build func() (*debug.BuildInfo, bool)) string {
	if given != unversioned {
		return given
	}
	if info, ok := build(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return unversioned
}

func (d *versionData) Text(p *page) { p.line("leslie %s", d.Version) }

type helpData struct {
	Help string `json:"help"`
}

func (d *helpData) Text(p *page) { p.b.WriteString(d.Help) }

// help answers --help, help, and leslie alone.
func (c *call) help(all []*command) (Data, error) {
	c.faults = slices.DeleteFunc(c.faults, func(f fault) bool { return f.Field == "subcommand" && f.Value == "" })
	if err := c.lineUsage(); err != nil {
		return nil, err
	}
	topic := strings.Join(c.line.operands, " ")
	if c.line.cmd != nil {
		topic = c.line.cmd.name
	} else if c.line.group != "" {
		topic = c.line.group
	}
	switch {
	case topic == "" || topic == "help":
		return &helpData{Help: overview(all)}, nil
	case named(all, topic) != nil:
		return &helpData{Help: helpOf(all, named(all, topic))}, nil
	case len(subNames(all, topic)) > 0:
		return &helpData{Help: helpOfGroup(all, topic)}, nil
	}
	f := fault{Field: "command", Value: topic, Problem: "there is no command " + quoted(topic), Nearest: nearest.Name(topic, topics(all))}
	c.faults = append(c.faults, f)
	return nil, c.usage()
}

// topics are what help can be asked about: groups and commands.
func topics(all []*command) []string {
	names := topNames(all)
	for _, cmd := range all {
		names = append(names, cmd.name)
	}
	return names
}

func overview(all []*command) string {
	p := &page{}
	p.line("leslie splits an objective into threads of work that people and agents share.")
	p.line("")
	p.line("Usage: leslie [flags] COMMAND [SUBCOMMAND] [flags] [operands]")
	p.line("")
	p.line("Commands:")
	p.commands(all)
	p.line("")
	p.line("Flags of every command, anywhere on the line:")
	p.flags(globalFlags())
	p.line("")
	p.line("Flags of every command that writes:")
	p.flags(writeFlags())
	p.line("")
	p.line("leslie help COMMAND says more; leslie explain CODE says what an error or warning means.")
	p.line("First steps: leslie init; leslie objective create TITLE; leslie spawn --intent TEXT")
	return p.String()
}

func helpOfGroup(all []*command, group string) string {
	p := &page{}
	p.line("Usage: leslie %s SUBCOMMAND [flags] [operands]", group)
	p.line("")
	p.commands(slices.DeleteFunc(slices.Clone(all), func(cmd *command) bool { return cmd.path()[0] != group }))
	return p.String()
}

func helpOf(all []*command, cmd *command) string {
	p := &page{}
	p.line("%s", cmd.summary)
	p.line("")
	p.line("Usage: %s", cmd.usageLine())
	if cmd.detail != "" {
		p.line("")
		for line := range strings.SplitSeq(cmd.detail, "\n") {
			p.line("%s", line)
		}
	}
	if len(cmd.flags) > 0 {
		p.line("")
		p.line("Flags:")
		p.flags(cmd.flags)
	}
	if cmd.writes {
		p.line("")
		p.line("Flags of commands that write:")
		p.flags(cmd.writeFlags())
	}
	if subs := subNames(all, cmd.name); len(subs) > 0 {
		p.line("")
		p.line("Subcommands: %s", strings.Join(subs, ", "))
	}
	p.line("")
	p.line("Example: %s", cmd.example)
	return p.String()
}

func (p *page) commands(all []*command) {
	width := 0
	for _, cmd := range all {
		width = max(width, len(cmd.name))
	}
	for _, cmd := range all {
		p.line("  %-*s  %s", width, cmd.name, cmd.summary)
	}
}

func (p *page) flags(specs []flagSpec) {
	width := 0
	for _, f := range specs {
		width = max(width, len(f.label()))
	}
	for _, f := range specs {
		usage := f.usage
		if f.env != "" {
			usage += " [" + f.env + "]"
		}
		p.line("  %-*s  %s", width, f.label(), usage)
	}
}

func (f flagSpec) label() string {
	s := f.synopsis()
	if f.short != "" {
		s = "-" + f.short + ", " + s
	}
	return s
}
