package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/docs"
)

// This file writes the manual in the language of man(7): leslie(1), and a page for each
// command with its subcommands.

// help is what leslie help commands --format json answers.
type help struct {
	Commands   []command `json:"commands"`
	Flags      []option  `json:"flags"`
	WriteFlags []option  `json:"writeFlags"`
}

type command struct {
	Name       string   `json:"name"`
	Group      string   `json:"group"`
	Alias      string   `json:"alias"`
	Summary    string   `json:"summary"`
	Usage      string   `json:"usage"`
	Detail     string   `json:"detail"`
	Example    string   `json:"example"`
	Flags      []option `json:"flags"`
	WriteFlags []string `json:"writeFlags"`
}

type option struct {
	Name  string   `json:"name"`
	Short string   `json:"short"`
	Value string   `json:"value"`
	Usage string   `json:"usage"`
	Env   []string `json:"env"`
}

// pages returns the manual, as files of a folder man1.
func (j job) pages() ([]file, error) {
	out, err := exec.Command(j.leslie, "help", "commands", "--format", "json").Output()
	if err != nil {
		return nil, fmt.Errorf("%s help: %w", j.leslie, err)
	}
	var answer struct {
		Data help `json:"data"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, fmt.Errorf("%s help: %w", j.leslie, err)
	}
	return j.manual(answer.Data), nil
}

func (j job) manual(h help) []file {
	files := []file{{name: "man1/leslie.1", data: []byte(j.overview(h))}}
	var firsts []string
	for _, c := range h.Commands {
		if first := c.first(); !slices.Contains(firsts, first) {
			firsts = append(firsts, first)
			files = append(files, file{name: "man1/leslie-" + first + ".1", data: []byte(j.page(h, first))})
		}
	}
	return files
}

// first is the first word of a command, the name of its page.
func (c command) first() string { return strings.Fields(c.Name)[0] }

// groups are the headings of the commands, each once.
func (h help) groups() (out []string) {
	for _, c := range h.Commands {
		if !slices.Contains(out, c.Group) {
			out = append(out, c.Group)
		}
	}
	return out
}

// overview is leslie(1).
func (j job) overview(h help) string {
	var m man
	j.title(&m, "leslie")
	m.section("NAME")
	m.line("leslie \\- " + text("split an objective into threads of work that people and agents share"))
	m.section("SYNOPSIS")
	m.line(".B leslie")
	m.line(text("[flags] COMMAND [SUBCOMMAND] [flags] [operands]"))
	m.section("DESCRIPTION")
	m.paragraphs("Each thread of work has its own folder of artifacts: plans, designs, notes, any files. Threads share artifacts by reference and " +
		"merge them back, and may have code in worktrees of their own. People and coding agents use the same commands under the same rules. " +
		"All state is in the folder .leslie of a project: no daemon, no network.\n" +
		"leslie help COMMAND has the text of a command's page, leslie help TOPIC a document, leslie explain CODE what an error means.")
	m.section("COMMANDS")
	for _, group := range h.groups() {
		m.subsection(group)
		for _, c := range h.Commands {
			if c.Group == group {
				m.tagged("\\fB"+text(c.Name)+"\\fR", c.Summary)
			}
		}
	}
	m.section("FLAGS OF EVERY COMMAND")
	m.paragraphs("They may stand anywhere on the line.")
	m.options(h.Flags)
	m.section("FLAGS OF EVERY COMMAND THAT WRITES")
	m.options(h.WriteFlags)
	m.section("EXAMPLES")
	m.example("leslie init", "leslie objective create \"Ship the parser\"", "leslie spawn \"Write the lexer\"", "leslie status")
	m.section("ENVIRONMENT")
	m.paragraphs("Flags count more than the environment.")
	for _, o := range h.Flags {
		for _, name := range o.Env {
			m.tagged("\\fB"+text(name)+"\\fR", "the value of --"+o.Name)
		}
	}
	m.section("EXIT STATUS")
	for _, s := range codes.ExitStatuses() {
		m.tagged("\\fB"+fmt.Sprint(s.Status)+"\\fR", s.String())
	}
	m.section("SEE ALSO")
	m.paragraphs("Documents, shown by leslie help TOPIC:")
	for _, t := range docs.Topics() {
		m.tagged("\\fB"+text(t.Name)+"\\fR", t.Title)
	}
	return m.String()
}

// page is the page of a command with its subcommands.
func (j job) page(h help, first string) string {
	var own *command
	var subs []command
	for _, c := range h.Commands {
		switch {
		case c.Name == first:
			own = &c
		case c.first() == first:
			subs = append(subs, c)
		}
	}
	var m man
	j.title(&m, "leslie-"+first)
	m.section("NAME")
	summary := "commands " + strings.Join(names(subs), ", ")
	if own != nil {
		summary = own.Summary
	}
	m.line("leslie\\-" + text(first) + " \\- " + text(summary))
	m.section("SYNOPSIS")
	if own != nil {
		m.usage(*own)
	}
	for i, c := range subs {
		if i > 0 || own != nil {
			m.line(".br")
		}
		m.usage(c)
	}
	if own != nil {
		m.section("DESCRIPTION")
		if own.Detail != "" { // the summary is in the section NAME
			own.Summary = ""
		}
		m.describe(*own)
		m.section("OPTIONS")
		m.flags(*own)
	}
	if len(subs) > 0 {
		m.section("SUBCOMMANDS")
		for _, c := range subs {
			m.subsection("leslie " + c.Name)
			m.describe(c)
			m.flags(c)
		}
	}
	m.section("EXAMPLES")
	var examples []string
	if own != nil {
		examples = append(examples, own.Example)
	}
	for _, c := range subs {
		examples = append(examples, c.Example)
	}
	m.example(examples...)
	m.section("EXIT STATUS")
	m.paragraphs("0 on success, 2 for a wrong line. leslie(1) has the others.")
	m.section("SEE ALSO")
	m.line(".BR leslie (1)")
	return m.String()
}

func names(all []command) (out []string) {
	for _, c := range all {
		out = append(out, c.Name)
	}
	return out
}

// title begins a page. Its first line names the preprocessor: none.
func (j job) title(m *man, name string) {
	m.line(`.\" Made by make man from the texts of leslie help.`)
	m.line(fmt.Sprintf(".TH %s 1 %s \"leslie %s\" leslie", strings.ToUpper(name), j.at.Format("2006-01-02"), text(j.version)))
	m.line(".nh")
	m.line(".ad l")
}

// man is a page in the making.
type man struct {
	strings.Builder
	begins bool // a section begins: its first paragraph needs no mark
}

func (m *man) line(text string) {
	m.WriteString(text + "\n")
	m.begins = false
}

func (m *man) section(name string) {
	m.line(".SH " + name)
	m.begins = true
}

func (m *man) subsection(name string) {
	m.line(".SS " + text(name))
	m.begins = true
}

func (m *man) paragraph() {
	if !m.begins {
		m.line(".PP")
	}
}

// usage is a usage line: the command bold, and what a caller puts in as it is.
func (m *man) usage(c command) {
	m.line(".B " + text("leslie "+c.Name))
	if rest := strings.TrimSpace(strings.TrimPrefix(c.Usage, "leslie "+c.Name)); rest != "" {
		m.line(text(rest))
	}
}

// describe is what help says of a command.
func (m *man) describe(c command) {
	detail := ""
	if c.Summary != "" {
		detail = strings.ToUpper(c.Summary[:1]) + c.Summary[1:] + "."
	}
	if c.Alias != "" {
		detail += " The short name is leslie " + c.Alias + "."
	}
	m.paragraphs(strings.TrimSpace(detail + "\n" + c.Detail))
}

// flags are the flags of a command.
func (m *man) flags(c command) {
	m.options(c.Flags)
	also := "All commands have the flags in leslie(1)."
	if len(c.WriteFlags) > 0 {
		also = "Also --" + strings.Join(c.WriteFlags, ", --") + ", and the flags of all commands: leslie(1)."
	}
	m.paragraphs(also)
}

func (m *man) options(all []option) {
	for _, o := range all {
		name := "\\fB" + text("--"+o.Name) + "\\fR"
		if o.Short != "" {
			name = "\\fB" + text("-"+o.Short) + "\\fR, " + name
		}
		if o.Value != "" {
			name += " \\fI" + text(o.Value) + "\\fR"
		}
		usage := o.Usage
		for _, env := range o.Env {
			usage += " [" + env + "]"
		}
		m.tagged(name, usage)
	}
}

// tagged is a term with its text.
func (m *man) tagged(term, meaning string) {
	m.line(".TP")
	m.line(term)
	m.line(text(meaning))
}

// paragraphs writes a text as help has it: a line is a paragraph, and indented lines are
// to be copied.
func (m *man) paragraphs(all string) {
	var copied []string
	for _, line := range strings.Split(all, "\n") {
		if strings.HasPrefix(line, " ") {
			copied = append(copied, strings.TrimPrefix(line, "  "))
			continue
		}
		m.example(copied...)
		copied = nil
		if line != "" {
			m.paragraph()
			m.line(text(line))
		}
	}
	m.example(copied...)
}

// example writes lines to be copied.
func (m *man) example(lines ...string) {
	if len(lines) == 0 {
		return
	}
	m.paragraph()
	m.line(".RS 4")
	m.line(".EX")
	for _, line := range lines {
		m.line(text(line))
	}
	m.line(".EE")
	m.line(".RE")
}

// text is a line of text as man(7) takes it: nothing in it is a request, and what is to be
// copied is ASCII on the screen.
func text(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\(ga", "^", `\(ha`, "~", `\(ti`).Replace(line)
	if strings.HasPrefix(line, ".") {
		line = `\&` + line
	}
	return line
}
