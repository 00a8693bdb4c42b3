package cli

import (
	"slices"
	"strconv"
	"strings"

	"leslie/internal/app"
	"leslie/internal/nearest"
)

// This file prepares a line for the library, which lacks some things. Flags can be
// anywhere before "--"; lint moves them behind the command's name, because the library
// silently treats a flag after an operand as an operand. Lint also finds all faults of
// a line, with the nearest names; the library stops at the first. The resulting argv
// (line.argv) has no fault that the library could find. A line with faults still goes
// to its command, which adds its own and returns T903.

// CompletionFlag is the last word of a line that a shell wants to complete. The name is
// the library's.
const CompletionFlag = "--generate-bash-completion"

// Line is a command line as lint has read it.
type Line struct {
	Cmd      *Command // nil if the line names none
	Group    string   // the first word of a command whose subcommand is missing or unknown
	Flags    []SetFlag
	Operands []string
	Named    int // how many operands come before "--"
	Help     bool
	Version  bool
	Last     *string // the last word of a line to complete; nil otherwise
	Faults   []Fault
	// unsure is how many words behind flags that do not exist may be operands or values:
	// so many operands are not said to be missing.
	unsure int
}

// SetFlag is a flag of the line with its checked value.
type SetFlag struct {
	*option
	Text string
}

// Has reports whether a flag is on the line and not switched off.
func (l Line) Has(name string) bool {
	return slices.ContainsFunc(l.Flags, func(f SetFlag) bool { return f.Name == name && f.Text != "false" })
}

// Asks reports whether a line asks for help, version or completion instead of running
// its command.
func (l Line) Asks() bool { return l.Help || l.Version || l.Last != nil }

// argv is the line in the order that the library wants: command, flags, "--",
// operands. A line without a command goes to the root, which answers with its faults.
func (l Line) argv() []string {
	out, operands := []string{"leslie"}, l.Operands
	switch {
	case l.Last != nil && l.Cmd != nil:
		out = append(out, l.Cmd.Path()...)
	case l.Last != nil:
		out = append(out, strings.Fields(l.Group)...)
	case l.Version:
		operands = nil
	case l.Help:
		out = append(out, "help")
		if l.Cmd != nil {
			operands = l.Cmd.Path()
		} else if l.Group != "" {
			operands = []string{l.Group}
		}
	case l.Cmd != nil:
		out = append(out, l.Cmd.Path()...)
	default:
		operands = nil
	}
	every := globalFlags()
	for _, f := range l.Flags {
		if lookUp(every, f.Name, true) != nil || l.Cmd != nil && (l.Last != nil || !l.Help && !l.Version) {
			out = append(out, "--"+f.Name+"="+f.Text)
		}
	}
	switch {
	case l.Last != nil:
		return append(out, CompletionFlag)
	case l.Version:
		out = append(out, "--version")
	}
	return append(append(out, "--"), operands...)
}

// ParseLine reads argv.
func ParseLine(all []*Command, argv []string) Line {
	l := linter{all: all, writes: writeFlags(), globals: globalFlags()}
	l.every = make([][]Flag, 0, len(all)+2)
	for _, cmd := range all {
		l.every = append(l.every, cmd.Flags)
	}
	l.every = append(l.every, l.writes, l.globals)
	argv, l.Last = typed(argv)
	flags, words, named := l.split(argv)
	if named > 0 {
		words, named = l.ownWords(flags, words, named)
	}
	if l.Last != nil && named > 0 && words[0] == "help" {
		l.Help, words, named = true, words[1:], named-1
	}
	return l.likeliest(flags, words, named)
}

// likeliest reads the line with what follows flags that do not exist as their values, and
// with it as operands, and returns the reading with the fewest faults: a flag that does not
// exist is one fault, whatever its value would be elsewhere on the line.
func (l *linter) likeliest(flags []flagArg, words []string, named int) Line {
	l.name(words[:named], flags)
	var open []int // words that may be values
	for _, f := range flags {
		name, long := f.name()
		if f.next > 0 && l.find(l.Cmd, name, long) == nil && !l.namesCommand(words, f.next-1) {
			open = append(open, f.next-1)
		}
	}
	every := l.without(flags, words, named, open)
	if len(open) == 0 {
		return every
	}
	best := every
	for _, taken := range append([][]int{nil}, singles(open)...) {
		if one := l.without(flags, words, named, taken); len(one.Faults) < len(best.Faults) {
			best = one
		}
	}
	return best
}

// ownWords are the words of a line with the name of its command, which may be two words, in place of an
// alias. It counts them in named and in what may be values of flags.
func (l *linter) ownWords(flags []flagArg, words []string, named int) ([]string, int) {
	own := ownName(l.all, words[0])
	if own == words[0] {
		return words, named
	}
	name := strings.Fields(own)
	more := len(name) - 1
	for i := range flags {
		if flags[i].next > 1 {
			flags[i].next += more
		}
	}
	return append(name, words[1:]...), named + more
}

func singles(all []int) (out [][]int) {
	for _, one := range all {
		out = append(out, []int{one})
	}
	return out
}

// namesCommand reports whether the word at a place of the line can only name its command or
// its subcommand.
func (l *linter) namesCommand(words []string, at int) bool {
	switch at {
	case 0:
		return slices.Contains(topNames(l.all), ownName(l.all, words[0]))
	case 1:
		return FindCommand(l.all, words[0]+" "+words[1]) != nil
	}
	return false
}

// without reads the line without the words that are values of flags that do not exist.
func (l *linter) without(flags []flagArg, words []string, named int, values []int) Line {
	one := *l
	one.Cmd, one.Group = nil, ""
	rest := make([]string, 0, len(words))
	for i, word := range words {
		if !slices.Contains(values, i) {
			rest = append(rest, word)
		}
	}
	named -= len(values)
	one.name(rest[:named], flags)
	for _, f := range flags {
		one.flag(f)
	}
	one.operate(rest, named)
	return one.Line
}

// typed are the words of a line to complete, and the last of them; last is nil if there
// is nothing to complete. After "--" the flag is an operand. But a "--" directly before it
// is the beginning of a flag at the cursor, and the line must not run then.
func typed(argv []string) (rest []string, last *string) {
	n := len(argv) - 1
	if n < 0 || argv[n] != CompletionFlag || slices.Contains(argv[:max(n-1, 0)], "--") {
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
	Line
	all             []*Command
	writes, globals []Flag
	every           [][]Flag // the flags of all commands
}

// flagArg is a flag as the line has it.
type flagArg struct {
	arg   string  // --format, or --format=json
	value *string // nil without one
	next  int     // the number of the word behind it that may be its value, from 1; 0 for none
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
		case !IsFlag(arg):
			words, named = append(words, arg), named+1
			continue
		}
		f := flagArg{arg: arg}
		if _, value, joined := strings.Cut(arg, "="); joined {
			f.value = &value
		} else if l.takes(f, words, argv[i+1:]) {
			i++
			f.value = &argv[i]
		} else if i+1 < len(argv) && argv[i+1] != "--" && !IsFlag(argv[i+1]) {
			f.next = len(words) + 1
		}
		flags = append(flags, f)
	}
	return flags, words, named
}

// takes reports whether the argument after a flag is its value. What follows a flag that no
// command has is read both ways (likeliest). A value can begin with one dash
// ("--tag -old"), but a known flag is not a value. words are those before the flag.
func (l *linter) takes(f flagArg, words, rest []string) bool {
	name, long := f.name()
	meant := l.find(nil, name, long)
	if AmbiguousFlag(name) && long {
		valued := l.valued(name, words)
		return valued != nil && len(rest) > 0 && (len(words) > 0 || valued.Fault("", rest[0]) == nil) &&
			!strings.HasPrefix(rest[0], "-")
	}
	switch {
	case meant == nil, meant.Typed().Toggle, len(rest) == 0, rest[0] == "--":
		return false
	case !strings.HasPrefix(rest[0], "--"):
		return true
	}
	next, _ := flagArg{arg: rest[0]}.name()
	return l.find(nil, next, true) == nil
}

// AmbiguousFlag reports whether a flag is a switch of some commands and takes a value of others:
// claim --next --wait 90s, but transfer --wait; logs --code T101, but spawn --code;
// transcript --run RUN, but spawn --run. In front of the command, what follows it is its
// value if it can be.
func AmbiguousFlag(name string) bool { return slices.Contains([]string{"wait", "code", "run"}, name) }

// valued returns the value of an unclear flag for the command that the words before it
// name, or for any command without words; nil where it is a switch.
func (l *linter) valued(name string, words []string) *Value {
	for _, cmd := range l.all {
		o := lookUp(cmd.Flags, name, true)
		path := cmd.Path()
		n := min(len(path), len(words))
		if o != nil && o.TakesValue() && slices.Equal(path[:n], words[:n]) {
			return o.Typed()
		}
	}
	return nil
}

// find returns the command's flag of this name, or any command's if cmd is nil. Flags
// of the same name take a value in all commands or in none, except unclear ones.
func (l *linter) find(cmd *Command, name string, long bool) *option {
	for _, flags := range l.flagsOf(cmd) {
		if o := lookUp(flags, name, long); o != nil {
			return o
		}
	}
	return nil
}

// flagsOf are the command's flags: its own, those of commands that write, those of all
// commands. If cmd is nil, they are the flags of all commands.
func (l *linter) flagsOf(cmd *Command) [][]Flag {
	if cmd == nil {
		return l.every
	}
	return [][]Flag{cmd.Flags, cmd.Further, cmd.writeFlags(l.writes), l.globals}
}

func (l *linter) flagNames(cmd *Command) []string {
	var out []string
	for _, o := range ShownOptions(slices.Concat(l.flagsOf(cmd)...)) {
		out = append(out, o.Name)
	}
	return out
}

func lookUp(flags []Flag, name string, long bool) *option {
	for _, f := range flags {
		o := f.(*option)
		if long && o.Name == name || !long && slices.Contains(o.names[1:], name) {
			return o
		}
	}
	return nil
}

// IsFlag reports whether an argument before "--" is a flag; "-" and negative numbers
// are words.
func IsFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' && (arg[1] < '0' || arg[1] > '9') }

// name finds the command by the first words of the line; words are those before "--".
func (l *linter) name(words []string, flags []flagArg) {
	if len(words) == 0 {
		return
	}
	if strings.Contains(words[0], " ") {
		return // two words in one argument
	}
	if len(words) >= 2 {
		if l.Cmd = FindCommand(l.all, words[0]+" "+words[1]); l.Cmd != nil {
			return
		}
	}
	first, subs := FindCommand(l.all, words[0]), subNames(l.all, words[0])
	switch {
	case first != nil && len(subs) > 0 && len(words) >= 2 && l.misspelt(first, subs, words, flags):
		l.Group = words[0]
	case first != nil:
		l.Cmd = first
	case len(subs) > 0:
		l.Group = words[0]
	}
}

// misspelt reports whether the second word of a line can only be a misspelt subcommand of
// first: first takes no operands; or the word is like one, and first cannot be meant with
// a single operand, or with a flag that it does not have.
func (l *linter) misspelt(first *Command, subs, words []string, flags []flagArg) bool {
	if len(first.Operands) == 0 {
		return true
	}
	if first.Operands[0].LastSets == "" || nearest.Name(words[1], subs) == "" {
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
	o := l.find(l.Cmd, name, long)
	if o == nil {
		l.Faults = append(l.Faults, l.unknownFlag(f))
		if f.next > 0 || f.value != nil && !strings.Contains(f.arg, "=") {
			l.unsure++
		}
		return
	}
	label, text := "--"+o.Name, "true"
	switch {
	case f.value != nil:
		text = *f.value
	case !o.Typed().Toggle:
		l.Faults = append(l.Faults, Fault{Field: label, Problem: label + " needs a value (" + o.Typed().Shown + ")"})
		return
	}
	if l.Cmd == nil && lookUp(l.writes, o.Name, true) == nil && lookUp(l.globals, o.Name, true) == nil {
		return
	}
	if o.Typed().Old != nil {
		l.respell(o, text)
		return
	}
	if f := o.Typed().Fault(label, text); f != nil {
		l.Faults = append(l.Faults, *f)
		return
	}
	switch o.Name {
	case "help":
		l.Help = text == "true"
	case "version":
		l.Version = text == "true"
	default:
		l.set(o, text)
	}
}

// set keeps a value. A command's own flag that takes one value can be given only once:
// silently dropping one of two values would lose what the caller meant.
func (l *linter) set(o *option, text string) {
	at := slices.IndexFunc(l.Flags, func(f SetFlag) bool { return f.Name == o.Name })
	if at < 0 || o.Typed().repeats {
		l.Flags = append(l.Flags, SetFlag{o, text})
		return
	}
	if lookUp(l.globals, o.Name, true) == nil && l.Flags[at].Text != text {
		l.Faults = append(l.Faults, Fault{Field: "--" + o.Name, Value: text,
			Problem: "--" + o.Name + " is given twice"})
	}
	l.Flags[at].Text = text
}

// operate keeps the operands and adds their faults, or the fault of a line without a
// command. named is the number of words before "--".
func (l *linter) operate(words []string, named int) {
	switch {
	case l.Cmd != nil:
		l.Operands = append(l.Operands, words[len(l.Cmd.Path()):]...)
		l.threadOperands()
		l.Named = len(l.Operands) - (len(words) - named)
		l.checkOperands()
		l.moveOperands()
	case len(words) == 0:
		l.Help = l.Help || len(l.Faults) == 0
	case l.Group != "":
		l.Faults = append(l.Faults, unknownSubcommand(l.all, l.Group, words[1:]))
	case words[0] == "help":
		l.Help, l.Operands = true, words[1:]
	default:
		names, f := topNames(l.all), Fault{Field: "command", Value: words[0]}
		if slices.Contains(names, words[0]) {
			f.Problem = "put the command " + strconv.Quote(words[0]) + " before --"
		} else {
			f.Problem = "there is no command " + strconv.Quote(words[0])
			if wish, ok := wishOf(words[0]); ok {
				f.Hint, f.Next = wish.hint(), wish.next(l.all)
			} else {
				f.Nearest = nearest.Name(words[0], append(names, aliasesOf(l.all)...))
			}
		}
		l.Faults = append(l.Faults, f)
	}
}

// moveOperands makes operands that stand for flags the values of these flags.
func (l *linter) moveOperands() {
	if len(l.Cmd.Operands) == 0 || l.Cmd.Operands[0].Sets == "" || len(l.Operands) == 0 || l.Last != nil {
		return
	}
	spec, words := l.Cmd.Operands[0], l.Operands
	l.Operands, l.Named = nil, 0
	if !spec.Many {
		words = words[:1] // the rest are faults already
	}
	for _, name := range []string{spec.Sets, spec.LastSets} {
		if name != "" && slices.ContainsFunc(l.Flags, func(f SetFlag) bool { return f.Name == name }) {
			problem := "--" + name + " cannot be used with the operand " + spec.Shown
			if slices.Contains(Names(l.Cmd.Flags), "title") {
				problem += ": --title is for a title beside it"
			}
			l.Faults = append(l.Faults, Fault{Field: "--" + name, Value: words[0], Problem: problem})
			return
		}
	}
	if n := len(words) - 1; spec.LastSets != "" {
		if n == 0 {
			l.Faults = append(l.Faults, Fault{Field: spec.Shown, Value: words[0],
				Problem: "the last of the operands " + spec.Shown + " is missing"})
			return
		}
		l.move(spec, spec.LastSets, words[n])
		words = words[:n]
	}
	for _, word := range words {
		l.move(spec, spec.Sets, word)
	}
}

// move makes an operand the value of a flag, or adds what the flag refuses about it.
func (l *linter) move(spec Operand, name, word string) {
	o := l.find(l.Cmd, name, true)
	f := o.Typed().Fault(spec.Shown, word)
	if f == nil {
		l.set(o, word)
		return
	}
	if !slices.ContainsFunc(l.Faults, func(told Fault) bool { return told.Field == f.Field && told.Value == f.Value }) {
		l.Faults = append(l.Faults, *f)
	}
}

// checkOperands adds the faults of the operands. If the last one can only stand behind
// "--", no other can.
func (l *linter) checkOperands() {
	specs, behind := l.Cmd.Operands, len(l.Cmd.Operands)-1
	if behind >= 0 && specs[behind].Dashed {
		l.checkEach(specs[behind:], l.Operands[l.Named:])
		l.checkEach(specs[:behind], l.Operands[:l.Named])
		return
	}
	l.checkEach(specs, l.Operands)
}

func (l *linter) checkEach(specs []Operand, operands []string) {
	specs = slices.Clone(specs)
	for i, text := range operands {
		if n := len(specs); i == n && n > 0 && specs[n-1].Many {
			specs = append(specs, specs[n-1])
		}
		if i >= len(specs) {
			l.Faults = append(l.Faults, Fault{Field: "operand", Value: text,
				Problem: "unexpected argument " + strconv.Quote(text)})
			return
		}
		if f := specs[i].Fault(specs[i].Shown, text); f != nil {
			l.Faults = append(l.Faults, *f)
		}
	}
	for _, o := range specs[len(operands):] {
		if o.Optional || o.Speaks || o.Meant || l.Help {
			continue
		}
		if l.unsure > 0 {
			l.unsure--
		} else {
			l.Faults = append(l.Faults, Fault{Field: o.Shown, Problem: "the operand " + o.Shown + " is missing"})
		}
	}
}

func (l *linter) unknownFlag(f flagArg) Fault {
	name, _ := f.name()
	shown, _, _ := strings.Cut(f.arg, "=")
	bad := Fault{Field: shown, Problem: "there is no flag " + strconv.Quote(shown)}
	if near := nearest.Name(name, l.flagNames(l.Cmd)); near != "" {
		bad.Nearest = "--" + near
	} else {
		bad.Nearest = l.longer(name)
	}
	return bad
}

// longer is the only flag that is meant by a part of its name, --strategy for --conflict-strategy,
// or by its value, --json for --format json; "" for none or several.
func (l *linter) longer(name string) string {
	var found []string
	for _, o := range ShownOptions(slices.Concat(l.flagsOf(l.Cmd)...)) {
		switch {
		case slices.Contains(strings.Split(o.Name, "-"), name):
			found = append(found, "--"+o.Name)
		case slices.Contains(o.Value.(*Value).Words, name):
			found = append(found, "--"+o.Name+" "+name)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// FindCommand returns the command with a name, or nil.
func FindCommand(all []*Command, name string) *Command {
	for _, cmd := range all {
		if cmd.Name == name {
			return cmd
		}
	}
	return nil
}

// topNames are the first words of all commands.
func topNames(all []*Command) []string {
	names := []string{"help"}
	for _, cmd := range all {
		if first := cmd.Path()[0]; !slices.Contains(names, first) {
			names = append(names, first)
		}
	}
	return names
}

// subNames are the second words of a group's commands.
func subNames(all []*Command, group string) []string {
	var names []string
	for _, cmd := range all {
		if first, second, ok := strings.Cut(cmd.Name, " "); ok && first == group {
			names = append(names, second)
		}
	}
	return names
}

func unknownSubcommand(all []*Command, group string, words []string) Fault {
	subs := subNames(all, group)
	f := Fault{Field: "subcommand", Allowed: subs,
		Problem: strconv.Quote(group) + " needs a subcommand: " + app.OrList(subs)}
	if len(words) > 0 {
		f.Value = words[0]
		f.Problem = "there is no subcommand " + strconv.Quote(words[0]) + " of " + strconv.Quote(group)
		f.Nearest = nearest.Name(words[0], subs)
	}
	return f
}
