package main

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/docs"
	"leslie/internal/nearest"
)

type versionData struct {
	Version string `json:"version"`
}

// unversioned is the version of a build without one.
const unversioned = "dev"

// versionOf returns the version given to the build, otherwise the one that go install
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

func versionCommand() *command {
	return &command{
		name: "version", summary: "show leslie's version", example: "leslie version",
		run: func(c *call) (Data, error) {
			if err := c.usage(); err != nil {
				return nil, err
			}
			return ownVersion(), nil
		},
	}
}

func ownVersion() *versionData {
	return &versionData{Version: versionOf(version, debug.ReadBuildInfo)}
}

func (d *versionData) Text(p *page) { p.line("leslie %s", d.Version) }

// helpWidth is the number of columns of help, on a narrower terminal of a person fewer.
const helpWidth = 80

// helpPage lays help out for a number of columns.
type helpPage struct{ width int }

func newHelpPage(c *call) helpPage {
	columns := c.env.columns()
	if columns == 0 || !personReads(c, c.env.stdoutTTY) {
		columns = helpWidth
	}
	return helpPage{min(columns, helpWidth)}
}

// The help templates. rows aligns names and texts, fill wraps paragraphs.
const (
	overviewHelp = `{{fill "leslie splits an objective into threads of work that people and agents share."}}

{{fill "Usage: leslie [flags] COMMAND [SUBCOMMAND] [flags] [operands]"}}

{{rows .Commands}}
First steps:
  leslie init
  leslie objective create TITLE
  leslie spawn TEXT

{{fill "More: leslie help COMMAND; leslie help commands for all of them, and the flags of every command; leslie help topics for documents; leslie explain CODE."}}
`
	commandsHelp = `{{.Detail}}Flags of every command, anywhere on the line:
{{rows .Global}}
Flags of every command that writes:
{{rows .Write}}`

	topicsHelp = `Documents, in the form of Markdown: leslie help TOPIC

{{rows .Commands}}`

	groupHelp = `Usage: leslie {{.Name}} SUBCOMMAND [flags] [operands]

{{rows .Commands}}`

	commandHelp = `{{fill .Summary}}

Usage: {{.Usage}}{{with .Alias}}  (alias: leslie {{.}}){{end}}
{{with .Detail}}
{{fill .}}
{{end}}{{with .Own}}
Flags:
{{rows .}}{{end}}{{with .Write}}
{{fill (printf "Also %s (leslie help commands)" (names .))}}
{{end}}{{with .Commands}}
{{subcommands .}}
{{end}}{{if not .Write}}
{{end}}Example: {{.Example}}
`
)

// helpTopic is the data of a help template.
type helpTopic struct {
	Name, Summary, Usage, Detail, Example, Alias string

	Commands           []helpRow
	About              []*command // for the answer in JSON
	Own, Write, Global []helpRow
}

// helpRow is a command or a flag with its text.
type helpRow struct{ name, usage string }

// help answers --help, help, and leslie alone.
func help(c *call, cc *cli.Context, all []*command) error {
	cliTree{c}.read(cc)
	c.faults = slices.DeleteFunc(c.faults, func(f fault) bool { return f.Field == "subcommand" && f.Value == "" })
	if err := c.lineUsage(); err != nil {
		return err
	}
	topic := ownName(strings.Join(cc.Args().Slice(), " "))
	cmd, subs := named(all, topic), within(all, topic)
	text, document := docs.Text(topic)
	document = document && c.line.cmd == nil // help TOPIC, not COMMAND --help
	switch {
	case topic == "" || topic == "help":
		show(c, cc, overviewHelp, helpTopic{Commands: groupRows()})
	case topic == "commands":
		show(c, cc, commandsHelp, helpTopic{Detail: newHelpPage(c).grouped(all), About: all, Global: flagRows(globalFlags()), Write: flagRows(writeFlags())})
	case cmd != nil:
		show(c, cc, commandHelp, helpTopic{
			Summary: cmd.summary, Usage: wrapped(strings.Fields(cmd.usageLine(true)), newHelpPage(c).width-len("Usage: "), "       "), Detail: cmd.detail, Example: cmd.example, Alias: aliasOf(cmd.name),
			Own: flagRows(cmd.flags), Write: flagRows(cmd.writeFlags(writeFlags())), Commands: commandRows(subs), About: append([]*command{cmd}, subs...),
		})
	case len(subs) > 0:
		show(c, cc, groupHelp, helpTopic{Name: topic, Commands: commandRows(subs), About: subs})
	case topic == "topics":
		show(c, cc, topicsHelp, helpTopic{Commands: documentRows()})
	case document:
		c.data = &helpData{}
	default:
		c.faults = append(c.faults, fault{Field: "command", Value: topic, Problem: "there is no command or topic " + quoted(topic), Nearest: nearest.Name(topic, helpTopics(all))})
		return c.usage()
	}
	if shown, ok := c.data.(*helpData); ok && document {
		if shown.Help != "" {
			shown.Help += "\n"
		}
		shown.Help += text
	}
	return nil
}

// documentRows are the topics of the project's documents.
func documentRows() (out []helpRow) {
	for _, t := range docs.Topics() {
		out = append(out, helpRow{t.Name, t.Title})
	}
	return out
}

// show executes a template with the library's help printer. What it prints becomes the
// call's answer.
func show(c *call, cc *cli.Context, template string, topic helpTopic) {
	page := newHelpPage(c)
	cli.HelpPrinterCustom(cc.App.Writer, template, topic, map[string]any{
		"rows":        page.rows,
		"fill":        page.filled,
		"names":       flagNames,
		"subcommands": page.subcommandLine,
	})
	d := &helpData{Help: c.printed.String(), Commands: helpOfCommands(topic.About)}
	if len(topic.Global) > 0 {
		d.Flags, d.WriteFlags = helpOfFlags(globalFlags()), helpOfFlags(writeFlags())
	}
	c.data = d
}

// helpTopics are the topics of help: groups, commands and documents.
func helpTopics(all []*command) []string {
	names := topNames(all)
	for _, cmd := range all {
		names = append(names, cmd.name)
	}
	for _, t := range docs.Topics() {
		names = append(names, t.Name)
	}
	return append(names, "topics", "commands")
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
	for _, o := range shownOptions(flags) {
		name, usage, _ := strings.Cut(o.String(), "\t")
		out = append(out, helpRow{name, usage})
	}
	return out
}

// flagNames are the names of flags as a sentence has them.
func flagNames(flags []helpRow) string {
	var names []string
	for _, r := range flags {
		name, _, _ := strings.Cut(r.name, " ")
		names = append(names, name)
	}
	return joined(names)
}

// subcommandLine names the subcommands of a command.
func (h helpPage) subcommandLine(all []helpRow) string {
	var names []string
	for _, r := range all {
		_, second, _ := strings.Cut(r.name, " ")
		names = append(names, second)
	}
	return h.filled("Subcommands: " + joined(names))
}

// rows aligns names and texts and wraps the texts. A name that is much longer than the
// others gets a line of its own.
func (h helpPage) rows(all []helpRow) string {
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
		fmt.Fprintf(&b, "%-*s%s\n", len(indent), name, wrapped(strings.Fields(r.usage), h.width-len(indent), indent))
	}
	return b.String()
}

// filled wraps the lines of a text. It does not wrap indented lines: they are examples to
// copy.
func (h helpPage) filled(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, " ") {
			lines[i] = wrapped(strings.Fields(line), h.width, "")
		}
	}
	return strings.Join(lines, "\n")
}

// wrapped arranges words in lines of the given width and indents all lines but the
// first.
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
