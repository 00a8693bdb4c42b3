package main

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

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

// helpWidth is how many columns help has: no more than the narrowest screen that it is
// read on.
const helpWidth = 80

// The templates of help. rows aligns names with what is said of them, fill breaks lines.
const (
	overviewHelp = `leslie splits an objective into threads of work that people and agents share.

Usage: leslie [flags] COMMAND [SUBCOMMAND] [flags] [operands]

Commands:
{{rows .Commands}}
Flags of every command, anywhere on the line:
{{rows .Global}}
Flags of every command that writes:
{{rows .Write}}
More: leslie help COMMAND; leslie explain CODE for an error or warning.
First steps:
  leslie init
  leslie objective create TITLE
  leslie spawn --intent TEXT
`
	groupHelp = `Usage: leslie {{.Name}} SUBCOMMAND [flags] [operands]

{{rows .Commands}}`

	commandHelp = `{{fill .Summary}}

Usage: {{.Usage}}
{{with .Detail}}
{{fill .}}
{{end}}{{with .Own}}
Flags:
{{rows .}}{{end}}{{with .Write}}
Flags of commands that write:
{{rows .}}{{end}}{{with .Commands}}
Subcommands:
{{rows .}}{{end}}
Example: {{.Example}}
`
)

// helpTopic is what a template of help is filled with.
type helpTopic struct {
	Name, Summary, Usage, Detail, Example string

	Commands           []helpRow
	Own, Write, Global []helpRow
}

// helpRow is a name and what is said of it.
type helpRow struct{ name, usage string }

// help answers --help, help, and leslie alone.
func (c *call) help(cc *cli.Context, all []*command) error {
	c.read(cc)
	c.faults = slices.DeleteFunc(c.faults, func(f fault) bool { return f.Field == "subcommand" && f.Value == "" })
	if err := c.lineUsage(); err != nil {
		return err
	}
	topic := strings.Join(cc.Args().Slice(), " ")
	cmd, subs := named(all, topic), within(all, topic)
	switch {
	case topic == "" || topic == "help":
		c.show(cc, overviewHelp, helpTopic{Commands: commandRows(all), Global: flagRows(globalFlags()), Write: flagRows(writeFlags())})
	case cmd != nil:
		c.show(cc, commandHelp, helpTopic{
			Summary: cmd.summary, Usage: cmd.usageScreen(), Detail: cmd.detail, Example: cmd.example,
			Own: flagRows(cmd.flags), Write: flagRows(cmd.writeFlags(writeFlags())), Commands: commandRows(subs),
		})
	case len(subs) > 0:
		c.show(cc, groupHelp, helpTopic{Name: topic, Commands: commandRows(subs)})
	default:
		c.faults = append(c.faults, fault{Field: "command", Value: topic, Problem: "there is no command " + quoted(topic), Nearest: nearest.Name(topic, topics(all))})
		return c.usage()
	}
	return nil
}

// show fills a template by the library's printer, which writes to what becomes the
// call's answer.
func (c *call) show(cc *cli.Context, template string, topic helpTopic) {
	cli.HelpPrinterCustom(cc.App.Writer, template, topic, map[string]any{
		"rows": rows,
		"fill": filled,
	})
	c.data = &helpData{Help: c.printed.String()}
}

// topics are what help can be asked about: groups and commands.
func topics(all []*command) []string {
	names := topNames(all)
	for _, cmd := range all {
		names = append(names, cmd.name)
	}
	return names
}

// within are the commands of a group.
func within(all []*command, group string) []*command {
	return slices.DeleteFunc(slices.Clone(all), func(cmd *command) bool {
		path := cmd.path()
		return len(path) != 2 || path[0] != group
	})
}

func commandRows(all []*command) (out []helpRow) {
	for _, cmd := range all {
		out = append(out, helpRow{cmd.name, cmd.summary})
	}
	return out
}

func flagRows(flags []cli.Flag) (out []helpRow) {
	for _, o := range options(flags) {
		name, usage, _ := strings.Cut(o.String(), "\t")
		out = append(out, helpRow{name, usage})
	}
	return out
}

// rows aligns what is said of names. What is longer than the screen is wide goes on
// below itself; a name that is far longer than the others has a line of its own.
func rows(all []helpRow) string {
	const widest = 30
	width := 0
	for _, r := range all {
		if len(r.name) <= widest {
			width = max(width, len(r.name))
		}
	}
	var b strings.Builder
	indent := strings.Repeat(" ", width+4)
	for _, r := range all {
		name := "  " + r.name
		if len(r.name) > width {
			b.WriteString(name + "\n")
			name = ""
		}
		fmt.Fprintf(&b, "%-*s%s\n", len(indent), name, wrapped(strings.Fields(r.usage), helpWidth-len(indent), indent))
	}
	return b.String()
}

// filled breaks the lines of a text. An indented line is one to copy, and stays whole.
func filled(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, " ") {
			lines[i] = wrapped(strings.Fields(line), helpWidth, "")
		}
	}
	return strings.Join(lines, "\n")
}

// wrapped puts words into lines of a width, the second and later ones behind an indent.
func wrapped(words []string, width int, indent string) string {
	var b strings.Builder
	used := 0
	for i, w := range words {
		switch {
		case i == 0:
		case used+1+len(w) > width:
			b.WriteString("\n" + indent)
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(w)
		used += len(w)
	}
	return b.String()
}
