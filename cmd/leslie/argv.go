package main

import (
	"slices"
	"strings"

	"leslie/internal/nearest"
)

// line is a command line taken apart: flags may have stood anywhere before
// "--". Faults are everything that is wrong with it.
type line struct {
	cmd      *command // nil when no command could be told
	group    string   // the group that lacks its subcommand
	flags    []flagValue
	operands []string
	help     bool
	version  bool
	faults   []fault
}

type flagValue struct {
	spec  flagSpec
	value string // "true" or "false" for a switch
}

// has reports whether a flag was given.
func (l line) has(name string) bool {
	return slices.ContainsFunc(l.flags, func(f flagValue) bool { return f.spec.name == name && f.value != "false" })
}

// parse takes argv apart. It knows a flag from an operand by the flags of the
// command that argv names, wherever that name stands.
func parse(all []*command, argv []string) line {
	l := line{}
	l.cmd, l.group = findCommand(all, argv)
	specs, every := ownFlags(all, l.cmd), &vocabulary{all: all, cmd: l.cmd}
	var words []string
	for i := 0; i < len(argv); i++ {
		arg := argv[i]
		switch {
		case arg == "--":
			words = append(words, argv[i+1:]...)
			i = len(argv)
		case arg == "--version":
			l.version = true
		case isFlag(arg):
			used := valueBehind(every, arg, argv[i+1:])
			l.flag(specs, arg, argv[i+1:i+1+used])
			i += used
		default:
			words = append(words, arg)
		}
	}
	l.name(all, words)
	return l
}

// flag takes one flag; behind holds the argument that is its value, if any is.
func (l *line) flag(specs *vocabulary, arg string, behind []string) {
	name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	spec, ok := specs.find(name, strings.HasPrefix(arg, "--"))
	if !ok {
		l.faults = append(l.faults, unknownFlag(specs.list(), arg, name))
		return
	}
	label := "--" + spec.name
	switch {
	case spec.kind == kindSwitch && !joined:
		value = "true"
	case spec.kind == kindSwitch:
		if value != "true" && value != "false" {
			l.faults = append(l.faults, fault{Field: label, Value: value, Problem: label + " is a switch and takes no value"})
			return
		}
	case !joined && len(behind) == 0:
		l.faults = append(l.faults, fault{Field: label, Problem: label + " needs a value (" + spec.value + ")"})
		return
	case !joined:
		value = behind[0]
	}
	if spec.name == "help" {
		l.help = value == "true"
		return
	}
	if f := checkValue(label, spec.kind, spec.words, value); f != nil {
		l.faults = append(l.faults, *f)
		return
	}
	l.set(spec, label, value)
}

// set keeps a value. A command's own flag that takes one value takes it once:
// dropping the first in silence would lose what somebody meant.
func (l *line) set(spec flagSpec, label, value string) {
	for i, old := range l.flags {
		if old.spec.name != spec.name || spec.kind.repeats() {
			continue
		}
		global := slices.ContainsFunc(globalFlags(), func(f flagSpec) bool { return f.name == spec.name })
		if !global && old.value != value {
			l.faults = append(l.faults, fault{Field: label, Value: value, Problem: label + " is given twice"})
		}
		l.flags[i].value = value
		return
	}
	l.flags = append(l.flags, flagValue{spec, value})
}

// name sorts the words into the command and its operands, and checks both.
func (l *line) name(all []*command, words []string) {
	switch {
	case l.cmd != nil:
		l.operands = words[len(l.cmd.path()):]
		l.checkOperands(all)
	case len(words) == 0:
		l.help = l.help || len(l.faults) == 0
	case words[0] == "help":
		l.help = true
		l.operands = words[1:]
	case l.group != "":
		l.faults = append(l.faults, unknownSubcommand(all, l.group, words[1:]))
	default:
		names, f := topNames(all), fault{Field: "command", Value: words[0]}
		if slices.Contains(names, words[0]) {
			f.Problem = "the command " + quoted(words[0]) + " must stand in front of --"
		} else {
			f.Problem, f.Nearest = "there is no command "+quoted(words[0]), nearest.Name(words[0], names)
		}
		l.faults = append(l.faults, f)
	}
}

func (l *line) checkOperands(all []*command) {
	specs := slices.Clone(l.cmd.operands)
	for i, value := range l.operands {
		if n := len(specs); i == n && n > 0 && specs[n-1].many {
			specs = append(specs, specs[n-1])
		}
		if i >= len(specs) {
			if subs := subNames(all, l.cmd.name); len(specs) == 0 && len(subs) > 0 {
				l.faults = append(l.faults, unknownSubcommand(all, l.cmd.name, l.operands))
			} else {
				l.faults = append(l.faults, fault{Field: "operand", Value: value, Problem: "there is one operand too many: " + quoted(value)})
			}
			return
		}
		if f := checkValue(specs[i].name, specs[i].kind, nil, value); f != nil {
			l.faults = append(l.faults, *f)
		}
	}
	for _, spec := range specs[len(l.operands):] {
		if !spec.optional && !spec.speaks && !l.help {
			l.faults = append(l.faults, fault{Field: spec.name, Problem: "the operand " + spec.name + " is missing"})
		}
	}
}

// findCommand tells the command that argv names: of the words that are no flags
// and no values of flags, the first one or two.
func findCommand(all []*command, argv []string) (cmd *command, group string) {
	every := &vocabulary{all: all}
	var words []string
	for i := 0; i < len(argv) && len(words) < 2 && argv[i] != "--"; i++ {
		if isFlag(argv[i]) {
			i += valueBehind(every, argv[i], argv[i+1:])
		} else {
			words = append(words, argv[i])
		}
	}
	if len(words) == 0 {
		return nil, ""
	}
	if len(words) == 2 {
		if cmd := named(all, words[0]+" "+words[1]); cmd != nil {
			return cmd, ""
		}
	}
	if cmd := named(all, words[0]); cmd != nil && len(cmd.path()) == 1 {
		return cmd, ""
	}
	if len(subNames(all, words[0])) > 0 {
		return nil, words[0]
	}
	return nil, ""
}

func named(all []*command, name string) *command {
	for _, cmd := range all {
		if cmd.name == name {
			return cmd
		}
	}
	return nil
}

// topNames are the first words of all commands.
func topNames(all []*command) []string {
	names := []string{"help"}
	for _, cmd := range all {
		if first := cmd.path()[0]; !slices.Contains(names, first) {
			names = append(names, first)
		}
	}
	return names
}

// subNames are the second words of a group's commands.
func subNames(all []*command, group string) []string {
	var names []string
	for _, cmd := range all {
		if path := cmd.path(); len(path) == 2 && path[0] == group {
			names = append(names, path[1])
		}
	}
	return names
}

func lookUp(specs []flagSpec, name string, long bool) (flagSpec, bool) {
	for _, f := range specs {
		if long && f.name == name || !long && f.short == name && name != "" {
			return f, true
		}
	}
	return flagSpec{}, false
}

// isFlag reports whether an argument in front of "--" is a flag; "-" and
// negative numbers are words.
func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' && !isNumber(arg) }

func isNumber(arg string) bool { return len(arg) > 1 && arg[1] >= '0' && arg[1] <= '9' }

func unknownFlag(specs []flagSpec, arg, name string) fault {
	shown, _, _ := strings.Cut(arg, "=")
	known := make([]string, len(specs))
	for i, f := range specs {
		known[i] = f.name
	}
	f := fault{Field: shown, Problem: "there is no flag " + quoted(shown)}
	if near := nearest.Name(name, known); near != "" {
		f.Nearest = "--" + near
	}
	return f
}

// valueBehind is how many arguments behind a flag are its value: 0 or 1. It is
// told by the flags of all commands, so that it does not depend on which command
// the line names; of an unknown flag by the one that was probably meant. A value
// may begin with one dash ("--tag -old"), but is no flag that leslie knows.
func valueBehind(every *vocabulary, arg string, rest []string) int {
	name, _, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if arg == "--version" {
		return 0
	}
	spec, known := every.find(name, strings.HasPrefix(arg, "--"))
	if !known {
		near := unknownFlag(every.list(), arg, name).Nearest
		spec, _ = every.find(strings.TrimPrefix(near, "--"), true)
	}
	switch {
	case joined, spec.name == "", spec.kind == kindSwitch, len(rest) == 0, rest[0] == "--":
		return 0
	case !known && strings.HasPrefix(rest[0], "-"):
		return 0
	}
	next, long := strings.CutPrefix(rest[0], "--")
	next, _, _ = strings.Cut(next, "=")
	if !long {
		return 1
	}
	if _, isFlag := every.find(next, true); isFlag {
		return 0
	}
	return 1
}

func unknownSubcommand(all []*command, group string, words []string) fault {
	subs := subNames(all, group)
	f := fault{Field: "subcommand", Allowed: subs, Problem: quoted(group) + " needs a subcommand: " + orList(subs)}
	if len(words) > 0 {
		f.Value = words[0]
		f.Problem = "there is no subcommand " + quoted(words[0]) + " of " + quoted(group)
		f.Nearest = nearest.Name(words[0], subs)
	}
	return f
}
