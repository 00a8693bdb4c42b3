package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"leslie/internal/external"
	"leslie/thread"
)

// CommandTable has all commands by name, in the order of help.
type CommandTable []commandMaker

// commandMaker makes one command. Making all of them takes as long as reading a small
// store, so a line that begins with its command's name gets only that one.
type commandMaker struct {
	Name string
	// Alias is a short name, "" for none. Only the reading of a line knows it: answers, the
	// journal and request ids have the command's own name.
	Alias string
	Make  func() *Command
}

// All makes all commands.
func (t CommandTable) All() []*Command {
	all := make([]*Command, 0, len(t))
	for _, m := range t {
		all = append(all, m.command())
	}
	return all
}

func (m commandMaker) command() *Command {
	cmd := m.Make()
	cmd.alias = m.Alias
	return cmd
}

// NeededFor are the commands that lint needs for a line: only the line's own if it
// begins with the name of its command and has no fault and no word that only the flags of
// other commands could explain, else all. Lint's result is the same either way.
func (t CommandTable) NeededFor(argv []string) []*Command {
	if len(argv) == 1 && argv[0] == "--version" {
		return nil
	}
	if cmd := t.named(argv); cmd != nil {
		own := []*Command{cmd}
		l := ParseLine(own, argv)
		others := l.Help || l.Last != nil || len(l.Faults) > 0 ||
			slices.ContainsFunc(l.Flags, func(f SetFlag) bool { return strings.HasPrefix(f.Text, "--") })
		if l.Cmd == cmd && !others {
			return own
		}
	}
	return t.All()
}

// named returns the command whose name a line begins with, or nil.
func (t CommandTable) named(argv []string) *Command {
	for words := min(len(argv), 2); words > 0; words-- {
		name := strings.Join(argv[:words], " ")
		for _, m := range t {
			if m.Name == name || m.Alias != "" && m.Alias == name {
				return m.command()
			}
		}
	}
	return nil
}

// ownName is the name of the command that a word names, the word itself if it is no
// alias.
func ownName(all []*Command, word string) string {
	for _, cmd := range all {
		if cmd.alias != "" && cmd.alias == word {
			return cmd.Name
		}
	}
	return word
}

// aliasesOf are the short names of commands, in the order of the alphabet.
func aliasesOf(all []*Command) []string {
	var names []string
	for _, cmd := range all {
		if cmd.alias != "" {
			names = append(names, cmd.alias)
		}
	}
	slices.Sort(names)
	return names
}

// maxLineOf is how many bytes a line of LineOf has at most: longer ones are no help to whoever reads them.
const maxLineOf = 400

// LineOf is the line that does again what an operation of the journal did, from its command, thread and parameters, for
// somebody who decides that anew: without --wait and --yes, and the flags of all commands. "" where it would be long or
// have several lines, or where the parameters have more than a line has.
func (t CommandTable) LineOf(command string, id thread.ThreadID, recorded json.RawMessage) string {
	words := strings.Fields(command)
	cmd := t.named(words)
	params := map[string]any{}
	if cmd == nil || len(recorded) > 0 && json.Unmarshal(recorded, &params) != nil {
		return ""
	}
	take := func(names ...string) (value any) {
		for _, name := range names {
			if value == nil {
				value = params[name]
			}
			delete(params, name)
		}
		return value
	}
	operands := texts(take("operands"))
	_ = take("thread") // which id is
	_ = take("action") // as tools name the command
	for _, o := range Options(slices.Concat(cmd.Flags, cmd.Further)) {
		value := take(camel(o.Name), strings.ReplaceAll(o.Name, "-", "_")) // the second is a tool's
		switch {
		case o.Name == "wait" || o.Name == "yes":
		case value == true:
			words = append(words, "--"+o.Name)
		default:
			for _, text := range texts(value) {
				words = append(words, "--"+o.Name, text)
			}
		}
	}
	switch {
	case len(params) > 0:
		return ""
	case len(operands) > 0 || id == "":
	case slices.ContainsFunc(cmd.Operands, func(o Operand) bool { return o.IDs == ThreadIDs }):
		operands = []string{string(id)}
	}
	if slices.ContainsFunc(operands, func(o string) bool { return strings.HasPrefix(o, "-") }) {
		words = append(words, "--")
	}
	line := external.Line(append(append([]string{"leslie"}, words...), operands...)...)
	if len(line) > maxLineOf || strings.Contains(line, "\n") {
		return ""
	}
	return line
}

// texts are the texts of a recorded value.
func texts(value any) (all []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, one := range value {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
	}
	return all
}
