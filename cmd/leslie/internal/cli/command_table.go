package cli

import (
	"slices"
	"strings"
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
