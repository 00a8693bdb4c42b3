package cli

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/docs"
	"leslie/internal/screen"
)

// This file describes commands in the JSON of help, for manuals, editors and agents. The
// texts are those of the help's text.

// helpData is the answer of help.
type helpData struct {
	Help string `json:"help"`
	// Commands are those that the help is about: a command with its subcommands, or all.
	Commands []helpOfCommand `json:"commands,omitempty"`
	// Flags and WriteFlags are the flags of every command, and of every command that
	// writes; only with all commands.
	Flags      []helpOfFlag `json:"flags,omitempty"`
	WriteFlags []helpOfFlag `json:"writeFlags,omitempty"`
	// ExitStatuses and Environment stand with all commands, too.
	ExitStatuses []codes.Exit    `json:"exitStatuses,omitempty"`
	Environment  []helpOfSetting `json:"environment,omitempty"`

	document bool // Help is Markdown
}

// helpOfSetting is a variable of the environment that leslie reads.
type helpOfSetting struct {
	Name  string `json:"name"`
	Usage string `json:"usage"`
}

// environment are the variables that leslie reads. A flag counts more than its variable.
func environment() (out []helpOfSetting) {
	for _, o := range Options(globalFlags()) {
		for _, name := range o.EnvVars {
			out = append(out, helpOfSetting{name, "the value of --" + o.Name + ": " + o.Usage})
		}
	}
	return append(out,
		helpOfSetting{"LESLIE_CONFIG", "the file with your configuration, instead of ~/.leslie/config.json"},
		helpOfSetting{"LESLIE_REMOTE_CREDS", "the file with your credentials for a remote"},
		helpOfSetting{"LESLIE_PAGER, PAGER", "the program that shows long answers; empty or cat: none"},
		helpOfSetting{"VISUAL, EDITOR", "the editor for conflicts and messages"},
		helpOfSetting{"NO_COLOR", "no colours"},
	)
}

// settingRows and exitRows are tables of help.
func settingRows() (out []helpRow) {
	for _, s := range environment() {
		out = append(out, helpRow{s.Name, s.Usage})
	}
	return out
}

func exitRows() (out []helpRow) {
	for _, e := range codes.ExitStatuses() {
		out = append(out, helpRow{strconv.Itoa(e.Status), e.String()})
	}
	return out
}

// helpOfCommand is a command.
type helpOfCommand struct {
	Name    string       `json:"name"`
	Group   string       `json:"group"` // the heading under which help lists it
	Alias   string       `json:"alias,omitempty"`
	Summary string       `json:"summary"`
	Usage   string       `json:"usage"`
	Detail  string       `json:"detail,omitempty"` // indented lines are examples
	Example string       `json:"example"`
	Flags   []helpOfFlag `json:"flags"`
	// WriteFlags are the names of the flags of commands that write, as far as it has them.
	WriteFlags []string `json:"writeFlags"`
}

// helpOfFlag is a flag.
type helpOfFlag struct {
	Name  string   `json:"name"`
	Short string   `json:"short,omitempty"` // its name of one letter
	Value string   `json:"value,omitempty"` // what help calls it; "" for a switch
	Usage string   `json:"usage"`
	Env   []string `json:"env,omitempty"`
}

func (d *helpData) Text(p *page.Page) {
	if !d.document || p.Width == 0 {
		p.B.WriteString(d.Help)
		return
	}
	for _, line := range screen.Markdown(d.Help, min(p.Width, documentWidth), p.Coloured, referred) {
		p.B.WriteString(line + "\n")
	}
}

// documentWidth is the number of columns of a document, on a narrower terminal fewer.
const documentWidth = 100

// referred is what a reader at a terminal is told of a link's address: the line that shows the
// document, or an address that a browser opens.
func referred(address string) string {
	if strings.Contains(address, "://") {
		return address
	}
	file, _, _ := strings.Cut(address, "#")
	name := strings.TrimSuffix(path.Base(file), ".md")
	if _, ok := docs.Text(name); ok && name != path.Base(file) {
		return "leslie help topics " + name
	}
	return ""
}

func helpOfCommands(all []*Command) (out []helpOfCommand) {
	for _, cmd := range all {
		one := helpOfCommand{
			Name: cmd.Name, Alias: cmd.alias, Summary: cmd.Summary, Usage: cmd.UsageLine(true), Detail: cmd.Detail,
			Example: cmd.Example,
			Flags:   helpOfFlags(slices.Concat(cmd.Flags, cmd.Further)), WriteFlags: []string{},
		}
		for _, g := range HelpGroups() {
			if slices.Contains(strings.Fields(g.Names), cmd.Path()[0]) {
				one.Group = g.Title
			}
		}
		for _, o := range ShownOptions(cmd.writeFlags(writeFlags())) {
			one.WriteFlags = append(one.WriteFlags, o.Name)
		}
		out = append(out, one)
	}
	return out
}

func helpOfFlags(flags []Flag) []helpOfFlag {
	out := []helpOfFlag{}
	for _, o := range ShownOptions(flags) {
		out = append(out, helpOfFlag{Name: o.Name, Short: strings.Join(o.names[1:], ""), Value: o.Typed().Shown,
			Usage: o.Usage, Env: o.EnvVars})
	}
	return out
}
