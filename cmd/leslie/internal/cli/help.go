package cli

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/docs"
	"leslie/internal/app"
	"leslie/internal/nearest"
	"leslie/thread"
)

// VersionData is the answer of leslie version.
type VersionData struct {
	Version string `json:"version"`
}

// Unversioned is the version of a build without one.
const Unversioned = "dev"

// versionOf returns the version given to the build, otherwise the one that go install
// knows: the module's, or the commit's.
func versionOf(given string, build func() (*debug.BuildInfo, bool)) string {
	if given != Unversioned {
		return given
	}
	if info, ok := build(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return Unversioned
}

// Version is the command leslie version.
func Version() *Command {
	return &Command{
		Name: "version", Summary: "show leslie's version", Example: "leslie version",
		Run: func(c *Call) (Data, error) {
			if err := c.Usage(); err != nil {
				return nil, err
			}
			return ownVersion(c.Env), nil
		},
	}
}

func ownVersion(e Env) *VersionData {
	return &VersionData{Version: versionOf(e.Version, debug.ReadBuildInfo)}
}

// Text is the version in one line.
func (d *VersionData) Text(p *page.Page) { p.Line("leslie %s", d.Version) }

// HelpWidth is the number of columns of help, on a narrower terminal of a person fewer.
const HelpWidth = 80

// helpPage lays help out for a number of columns.
type helpPage struct{ width int }

func (c *Call) helpPage() helpPage {
	columns := c.Env.Columns()
	if columns == 0 || !c.PersonReads(c.Env.StdoutTTY) {
		columns = HelpWidth
	}
	return helpPage{min(columns, HelpWidth)}
}

// The help templates. rows aligns names and texts, fill wraps paragraphs.
const (
	overviewHelp = `{{fill "leslie lets people and coding agents work on one repository at once. Each piece of work is a thread: a git branch with its own worktree, and a folder for notes."}}

{{fill "Usage: leslie COMMAND [ID...] [flags]"}}

{{rows .Commands}}
{{fill "More: leslie help how (what to use for what), help COMMAND, help commands (all of them), help topics (documents); leslie explain CODE (errors)"}}
`
	howHelp = `{{fill "What to use for what, each after leslie. Words in capitals are yours to fill in. leslie help COMMAND says more."}}

{{rows .Commands}}`

	wishHelp = `{{fill .Summary}}

{{.Detail}}{{with .Whole}}
More: leslie help topics {{.}}
{{end}}`

	commandsHelp = `{{.Detail}}Flags of every command, anywhere on the line:
{{rows .Global}}
Flags of every command that writes:
{{rows .Write}}
Environment:
{{rows .Settings}}
Exit statuses:
{{rows .Exits}}`

	topicsHelp = `Documents: leslie help topics TOPIC (Markdown where no person reads it)

{{.Detail}}`

	groupHelp = `Usage: leslie {{.Name}} SUBCOMMAND [flags] [operands]

{{rows .Commands}}{{with .Whole}}
More: leslie help topics {{.}}
{{end}}`

	commandHelp = `{{fill .Summary}}

Usage: {{.Usage}}{{with .Alias}}  (alias: leslie {{.}}){{end}}
{{with .Detail}}
{{fill .}}
{{end}}{{with .Own}}
Flags:
{{rows .}}{{end}}{{with .Further}}{{fill .}}
{{end}}{{with .Write}}
{{fill (printf "Also %s (leslie help commands)" (names .))}}
{{end}}{{with .Commands}}
{{subcommands .}}
{{end}}{{if not .Write}}
{{end}}Example: {{.Example}}
{{with .Whole}}More: leslie help topics {{.}}
{{end}}`
)

// helpTopic is the data of a help template.
type helpTopic struct {
	Name, Summary, Usage, Detail, Example, Alias string
	Whole                                        string // the document of the same name
	Further                                      string // the flags of another command

	Commands           []helpRow
	About              []*Command // for the answer in JSON
	Own, Write, Global []helpRow
	Settings, Exits    []helpRow // the environment, and exit statuses
}

// helpRow is a command or a flag with its text.
type helpRow struct{ name, usage string }

// showHelp answers --help, help, and leslie alone.
func (c *Call) showHelp(cc *urfave.Context, all []*Command) error {
	c.readFlags(cc)
	c.Faults = slices.DeleteFunc(c.Faults, func(f Fault) bool { return f.Field == "subcommand" && f.Value == "" })
	if err := c.usageIgnoringEnv(); err != nil {
		return err
	}
	topic := ownName(all, strings.Join(cc.Args().Slice(), " "))
	cmd, subs := FindCommand(all, topic), within(all, topic)
	text, document := docs.Text(topic)
	wish, wanted := wishOf(topic)
	whole := topicOf(topic)
	if name, ok := strings.CutPrefix(topic, "topics "); ok {
		text, document = docs.Text(name)
		if !document {
			topic = name
			cmd, subs, whole = FindCommand(all, topic), within(all, topic), topicOf(topic)
			wish, wanted = wishOf(topic)
		}
	} else if document && (cmd != nil || len(subs) > 0 || topic == "commands") {
		document = false
	}
	switch {
	case len(c.argv) == 0 && c.worthALook():
	case cc.NArg() == 0 || topic == "help":
		c.showTemplate(cc, overviewHelp, helpTopic{Commands: dayRows()})
	case topic == "how":
		c.showTemplate(cc, howHelp, helpTopic{Commands: wishRows()})
	case topic == "commands":
		c.showTemplate(cc, commandsHelp, helpTopic{Detail: c.helpPage().grouped(all), About: all,
			Global: flagRows(globalFlags()), Write: flagRows(writeFlags()), Settings: settingRows(), Exits: exitRows()})
	case cmd != nil:
		c.showTemplate(cc, commandHelp, helpTopic{
			Summary: cmd.Summary, Usage: wrapped(strings.Fields(cmd.UsageLine(true)), c.helpPage().width-len("Usage: "),
				"       "), Detail: cmd.Detail, Example: cmd.Example, Alias: cmd.alias,
			Own: flagRows(cmd.Flags), Further: cmd.FurtherSaid, Write: flagRows(cmd.writeFlags(writeFlags())), Commands: commandRows(subs), Whole: whole,
			About: append([]*Command{cmd}, subs...),
		})
	case len(subs) > 0:
		c.showTemplate(cc, groupHelp, helpTopic{Name: topic, Commands: commandRows(subs), About: subs, Whole: whole})
	case topic == "topics":
		c.showTemplate(cc, topicsHelp, helpTopic{Detail: c.helpPage().documents()})
	case document:
	case wanted:
		c.showTemplate(cc, wishHelp, wish.topic())
	default:
		c.Faults = append(c.Faults, Fault{Field: "command", Value: topic,
			Problem: "there is no command or topic " + strconv.Quote(topic),
			Nearest: nearest.Name(topic, helpTopics(all))})
		return c.Usage()
	}
	if document {
		c.data = &helpData{Help: text, document: true}
	}
	return nil
}

// worthALook answers leslie alone with what leslie status says, if that is worth a person's look.
func (c *Call) worthALook() bool {
	status := c.Env.Commands.named([]string{"status"})
	if c.Who.As == thread.Agent || status == nil || len(c.Faults) > 0 {
		return false
	}
	data, err := status.Run(c)
	shown, ok := data.(interface{ WorthALook() bool })
	if err != nil || !ok || !shown.WorthALook() {
		return false
	}
	c.data = data
	return true
}

// documents has the topics of the project's documents, by their folders.
func (h helpPage) documents() string {
	var parts []string
	topics := docs.Topics()
	for _, folder := range docs.Folders() {
		var own []helpRow
		for _, t := range topics {
			if t.Folder == folder.Name {
				own = append(own, helpRow{t.Name, t.Title})
			}
		}
		parts = append(parts, folder.Title+":\n"+h.rows(own))
	}
	return strings.Join(parts, "\n")
}

// showTemplate executes a template with the library's help printer. What it prints becomes the
// call's answer.
func (c *Call) showTemplate(cc *urfave.Context, template string, topic helpTopic) {
	page := c.helpPage()
	urfave.HelpPrinterCustom(cc.App.Writer, template, topic, map[string]any{
		"rows":        page.rows,
		"fill":        page.filled,
		"names":       flagNames,
		"subcommands": page.subcommandLine,
	})
	d := &helpData{Help: c.Printed.String(), Commands: helpOfCommands(topic.About)}
	if len(topic.Global) > 0 {
		d.Flags, d.WriteFlags = helpOfFlags(globalFlags()), helpOfFlags(writeFlags())
		d.ExitStatuses, d.Environment = codes.ExitStatuses(), environment()
	}
	c.data = d
}

// helpTopics are the topics of help: groups, commands and documents.
func helpTopics(all []*Command) []string {
	names := topNames(all)
	for _, cmd := range all {
		names = append(names, cmd.Name)
	}
	for _, t := range docs.Topics() {
		names = append(names, t.Name)
	}
	return append(names, "topics", "commands", "how")
}

// within are the commands of a group.
func within(all []*Command, group string) []*Command {
	return slices.DeleteFunc(slices.Clone(all), func(cmd *Command) bool {
		path := cmd.Path()
		return len(path) != 2 || path[0] != group
	})
}

func commandRows(all []*Command) (out []helpRow) {
	for _, cmd := range all {
		out = append(out, helpRow{cmd.Name, cmd.Summary})
	}
	return out
}

func flagRows(flags []Flag) (out []helpRow) {
	for _, o := range ShownOptions(flags) {
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
	return app.Joined(names)
}

// subcommandLine names the subcommands of a command.
func (h helpPage) subcommandLine(all []helpRow) string {
	var names []string
	for _, r := range all {
		_, second, _ := strings.Cut(r.name, " ")
		names = append(names, second)
	}
	return h.filled("Subcommands: " + app.Joined(names))
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
