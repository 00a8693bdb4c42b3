package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/nearest"
)

// This file prepares a line for the library, which lacks some things. Flags can be
// anywhere before "--"; lint moves them behind the command's name, because the library
// silently treats a flag after an operand as an operand. Lint also finds all faults of
// a line, with the nearest names; the library stops at the first. The resulting argv
// (line.argv) has no fault that the library could find. A line with faults still goes
// to its command, which adds its own and returns T903.

// completionFlag is the last word of a line that a shell wants to complete. The name is
// the library's.
const completionFlag = "--generate-bash-completion"

// line is a command line as lint has read it.
type line struct {
	cmd      *command // nil if the line names none
	group    string   // the first word of a command whose subcommand is missing or unknown
	flags    []setFlag
	operands []string
	named    int // how many operands come before "--"
	help     bool
	version  bool
	last     *string // the last word of a line to complete; nil otherwise
	faults   []fault
}

// setFlag is a flag of the line with its checked value.
type setFlag struct {
	*option
	text string
}

// has reports whether a flag is on the line and not switched off.
func (l line) has(name string) bool {
	return slices.ContainsFunc(l.flags, func(f setFlag) bool { return f.Name == name && f.text != "false" })
}

// asks reports whether a line asks for help, version or completion instead of running
// its command.
func (l line) asks() bool { return l.help || l.version || l.last != nil }

// argv is the line in the order that the library wants: command, flags, "--",
// operands. A line without a command goes to the root, which answers with its faults.
func (l line) argv() []string {
	out, operands := []string{"leslie"}, l.operands
	switch {
	case l.last != nil && l.cmd != nil:
		out = append(out, l.cmd.path()...)
	case l.last != nil:
		out = append(out, strings.Fields(l.group)...)
	case l.version:
		operands = nil
	case l.help:
		out = append(out, "help")
		if l.cmd != nil {
			operands = l.cmd.path()
		} else if l.group != "" {
			operands = []string{l.group}
		}
	case l.cmd != nil:
		out = append(out, l.cmd.path()...)
	default:
		operands = nil
	}
	every := globalFlags()
	for _, f := range l.flags {
		if lookUp(every, f.Name, true) != nil || l.cmd != nil && (l.last != nil || !l.help && !l.version) {
			out = append(out, "--"+f.Name+"="+f.text)
		}
	}
	switch {
	case l.last != nil:
		return append(out, completionFlag)
	case l.version:
		out = append(out, "--version")
	}
	return append(append(out, "--"), operands...)
}

// lint reads argv.
func lint(all []*command, argv []string) line {
	l := linter{all: all, writes: writeFlags(), globals: globalFlags()}
	l.every = make([][]cli.Flag, 0, len(all)+2)
	for _, cmd := range all {
		l.every = append(l.every, cmd.flags)
	}
	l.every = append(l.every, l.writes, l.globals)
	argv, l.last = typed(argv)
	flags, words, named := l.split(argv)
	if named > 0 {
		words[0] = ownName(words[0])
	}
	if l.last != nil && named > 0 && words[0] == "help" {
		l.help, words, named = true, words[1:], named-1
	}
	l.name(words[:named], flags)
	for _, f := range flags {
		l.flag(f)
	}
	l.operate(words, named)
	return l.line
}

// typed are the words of a line to complete, and the last of them; last is nil if there
// is nothing to complete. After "--" the flag is an operand. But a "--" directly before it
// is the beginning of a flag at the cursor, and the line must not run then.
func typed(argv []string) (rest []string, last *string) {
	n := len(argv) - 1
	if n < 0 || argv[n] != completionFlag || slices.Contains(argv[:max(n-1, 0)], "--") {
		return argv, nil
	}
	rest, last = argv[:n], new(string)
	if n > 0 {
		*last = argv[n-1]
	}
	if *last == "--" {
		rest = rest[:n-1]
	}
	return rest, last
}

// linter reads one line.
type linter struct {
	line
	all             []*command
	writes, globals []cli.Flag
	every           [][]cli.Flag // the flags of all commands
}

// flagArg is a flag as the line has it.
type flagArg struct {
	arg   string  // --format, or --format=json
	value *string // nil without one
}

// name is the flag's name without dashes and value.
func (f flagArg) name() (name string, long bool) {
	name, _, _ = strings.Cut(strings.TrimLeft(f.arg, "-"), "=")
	return name, strings.HasPrefix(f.arg, "--")
}

// split separates flags with their values from words; named is the number of words before
// "--". Whether a flag takes a value comes from the flags of all commands, so it does
// not depend on the line's command.
func (l *linter) split(argv []string) (flags []flagArg, words []string, named int) {
	for i := 0; i < len(argv); i++ {
		arg := argv[i]
		switch {
		case arg == "--":
			return flags, append(words, argv[i+1:]...), named
		case !isFlag(arg):
			words, named = append(words, arg), named+1
			continue
		}
		f := flagArg{arg: arg}
		if _, value, joined := strings.Cut(arg, "="); joined {
			f.value = &value
		} else if l.takes(f, words, argv[i+1:]) {
			i++
			f.value = &argv[i]
		}
		flags = append(flags, f)
	}
	return flags, words, named
}

// takes reports whether the argument after a flag is its value. An unknown flag takes
// one if the flag with the nearest name does. A value can begin with one dash
// ("--tag -old"), but a known flag is not a value. words are those before the flag.
func (l *linter) takes(f flagArg, words, rest []string) bool {
	name, long := f.name()
	meant := l.find(nil, name, long)
	if unclear(name) && long {
		valued := l.valued(name, words)
		return valued != nil && len(rest) > 0 && (len(words) > 0 || valued.fault("", rest[0]) == nil) && !strings.HasPrefix(rest[0], "-")
	}
	known := meant != nil
	if !known {
		meant = l.find(nil, nearest.Name(name, l.flagNames(nil)), true)
	}
	switch {
	case meant == nil, meant.value().toggle, len(rest) == 0, rest[0] == "--":
		return false
	case !known && strings.HasPrefix(rest[0], "-"):
		return false
	case !strings.HasPrefix(rest[0], "--"):
		return true
	}
	next, _ := flagArg{arg: rest[0]}.name()
	return l.find(nil, next, true) == nil
}

// unclear reports whether a flag is a switch of some commands and takes a value of others:
// claim --next --wait 90s, but transfer --wait; logs --code T101, but spawn --code;
// transcript --run RUN, but spawn --run. In front of the command, what follows it is its
// value if it can be.
func unclear(name string) bool { return slices.Contains([]string{"wait", "code", "run"}, name) }

// valued returns the value of an unclear flag for the command that the words before it
// name, or for any command without words; nil where it is a switch.
func (l *linter) valued(name string, words []string) *value {
	for _, cmd := range l.all {
		o := lookUp(cmd.flags, name, true)
		path := cmd.path()
		n := min(len(path), len(words))
		if o != nil && o.TakesValue() && slices.Equal(path[:n], words[:n]) {
			return o.value()
		}
	}
	return nil
}

// find returns the command's flag of this name, or any command's if cmd is nil. Flags
// of the same name take a value in all commands or in none, except unclear ones.
func (l *linter) find(cmd *command, name string, long bool) *option {
	for _, flags := range l.flagsOf(cmd) {
		if o := lookUp(flags, name, long); o != nil {
			return o
		}
	}
	return nil
}

// flagsOf are the command's flags: its own, those of commands that write, those of all
// commands. If cmd is nil, they are the flags of all commands.
func (l *linter) flagsOf(cmd *command) [][]cli.Flag {
	if cmd == nil {
		return l.every
	}
	return [][]cli.Flag{cmd.flags, cmd.writeFlags(l.writes), l.globals}
}

func (l *linter) flagNames(cmd *command) []string {
	var out []string
	for _, o := range shownOptions(slices.Concat(l.flagsOf(cmd)...)) {
		out = append(out, o.Name)
	}
	return out
}

func lookUp(flags []cli.Flag, name string, long bool) *option {
	for _, f := range flags {
		o := f.(*option)
		if long && o.Name == name || !long && slices.Contains(o.names[1:], name) {
			return o
		}
	}
	return nil
}

// isFlag reports whether an argument before "--" is a flag; "-" and negative numbers
// are words.
func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' && (arg[1] < '0' || arg[1] > '9') }

// name finds the command by the first words of the line; words are those before "--".
func (l *linter) name(words []string, flags []flagArg) {
	if len(words) == 0 {
		return
	}
	if strings.Contains(words[0], " ") {
		return // two words in one argument
	}
	if len(words) >= 2 {
		if l.cmd = named(l.all, words[0]+" "+words[1]); l.cmd != nil {
			return
		}
	}
	first, subs := named(l.all, words[0]), subNames(l.all, words[0])
	switch {
	case first != nil && len(subs) > 0 && len(words) >= 2 && l.misspelt(first, subs, words, flags):
		l.group = words[0]
	case first != nil:
		l.cmd = first
	case len(subs) > 0:
		l.group = words[0]
	}
}

// misspelt reports whether the second word of a line can only be a misspelt subcommand of
// first: first takes no operands; or the word is like one, and first cannot be meant with
// a single operand, or with a flag that it does not have.
func (l *linter) misspelt(first *command, subs, words []string, flags []flagArg) bool {
	if len(first.operands) == 0 {
		return true
	}
	if first.operands[0].lastSets == "" || nearest.Name(words[1], subs) == "" {
		return false
	}
	return len(words) == 2 || slices.ContainsFunc(flags, func(f flagArg) bool {
		name, long := f.name()
		return l.find(first, name, long) == nil
	})
}

// flag checks one flag of the line. If the line names no command, the flags of single
// commands are ignored: their meaning is unknown.
func (l *linter) flag(f flagArg) {
	name, long := f.name()
	o := l.find(l.cmd, name, long)
	if o == nil {
		l.faults = append(l.faults, l.unknownFlag(f))
		return
	}
	label, text := "--"+o.Name, "true"
	switch {
	case f.value != nil:
		text = *f.value
	case !o.value().toggle:
		l.faults = append(l.faults, fault{Field: label, Problem: label + " needs a value (" + o.value().shown + ")"})
		return
	}
	if l.cmd == nil && lookUp(l.writes, o.Name, true) == nil && lookUp(l.globals, o.Name, true) == nil {
		return
	}
	if o.value().old != nil {
		l.respell(o, text)
		return
	}
	if f := o.value().fault(label, text); f != nil {
		l.faults = append(l.faults, *f)
		return
	}
	switch o.Name {
	case "help":
		l.help = text == "true"
	case "version":
		l.version = text == "true"
	default:
		l.set(o, text)
	}
}

// set keeps a value. A command's own flag that takes one value can be given only once:
// silently dropping one of two values would lose what the caller meant.
func (l *linter) set(o *option, text string) {
	at := slices.IndexFunc(l.flags, func(f setFlag) bool { return f.Name == o.Name })
	if at < 0 || o.value().repeats {
		l.flags = append(l.flags, setFlag{o, text})
		return
	}
	if lookUp(l.globals, o.Name, true) == nil && l.flags[at].text != text {
		l.faults = append(l.faults, fault{Field: "--" + o.Name, Value: text, Problem: "--" + o.Name + " is given twice"})
	}
	l.flags[at].text = text
}

// operate keeps the operands and adds their faults, or the fault of a line without a
// command. named is the number of words before "--".
func (l *linter) operate(words []string, named int) {
	switch {
	case l.cmd != nil:
		l.operands = append(l.operands, words[len(l.cmd.path()):]...)
		l.threadOperands()
		l.named = len(l.operands) - (len(words) - named)
		l.checkOperands()
		l.moveOperands()
	case len(words) == 0:
		l.help = l.help || len(l.faults) == 0
	case l.group != "":
		l.faults = append(l.faults, unknownSubcommand(l.all, l.group, words[1:]))
	case words[0] == "help":
		l.help, l.operands = true, words[1:]
	default:
		names, f := topNames(l.all), fault{Field: "command", Value: words[0]}
		if slices.Contains(names, words[0]) {
			f.Problem = "put the command " + quoted(words[0]) + " before --"
		} else {
			f.Problem, f.Nearest = "there is no command "+quoted(words[0]), nearest.Name(words[0], names)
		}
		l.faults = append(l.faults, f)
	}
}

// moveOperands makes operands that stand for flags the values of these flags.
func (l *linter) moveOperands() {
	if len(l.cmd.operands) == 0 || l.cmd.operands[0].sets == "" || len(l.operands) == 0 || l.last != nil {
		return
	}
	spec, words := l.cmd.operands[0], l.operands
	l.operands, l.named = nil, 0
	if !spec.many {
		words = words[:1] // the rest are faults already
	}
	for _, name := range []string{spec.sets, spec.lastSets} {
		if name != "" && slices.ContainsFunc(l.flags, func(f setFlag) bool { return f.Name == name }) {
			l.faults = append(l.faults, fault{Field: "--" + name, Value: words[0], Problem: "--" + name + " cannot be used with the operand " + spec.shown})
			return
		}
	}
	if n := len(words) - 1; spec.lastSets != "" {
		if n == 0 {
			l.faults = append(l.faults, fault{Field: spec.shown, Value: words[0], Problem: "the last of the operands " + spec.shown + " is missing"})
			return
		}
		l.set(l.find(l.cmd, spec.lastSets, true), words[n])
		words = words[:n]
	}
	for _, word := range words {
		l.set(l.find(l.cmd, spec.sets, true), word)
	}
}

// checkOperands adds the faults of the operands. If the last one can only stand behind
// "--", no other can.
func (l *linter) checkOperands() {
	specs, behind := l.cmd.operands, len(l.cmd.operands)-1
	if behind >= 0 && specs[behind].dashed {
		l.checkEach(specs[behind:], l.operands[l.named:])
		l.checkEach(specs[:behind], l.operands[:l.named])
		return
	}
	l.checkEach(specs, l.operands)
}

func (l *linter) checkEach(specs []operand, operands []string) {
	specs = slices.Clone(specs)
	for i, text := range operands {
		if n := len(specs); i == n && n > 0 && specs[n-1].many {
			specs = append(specs, specs[n-1])
		}
		if i >= len(specs) {
			l.faults = append(l.faults, fault{Field: "operand", Value: text, Problem: "unexpected argument " + quoted(text)})
			return
		}
		if f := specs[i].fault(specs[i].shown, text); f != nil {
			l.faults = append(l.faults, *f)
		}
	}
	for _, o := range specs[len(operands):] {
		if !o.optional && !o.speaks && !o.meant && !l.help {
			l.faults = append(l.faults, fault{Field: o.shown, Problem: "the operand " + o.shown + " is missing"})
		}
	}
}

func (l *linter) unknownFlag(f flagArg) fault {
	name, _ := f.name()
	shown, _, _ := strings.Cut(f.arg, "=")
	bad := fault{Field: shown, Problem: "there is no flag " + quoted(shown)}
	if near := nearest.Name(name, l.flagNames(l.cmd)); near != "" {
		bad.Nearest = "--" + near
	}
	return bad
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
		if first, second, ok := strings.Cut(cmd.name, " "); ok && first == group {
			names = append(names, second)
		}
	}
	return names
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
