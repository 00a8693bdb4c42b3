package cli

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/nearest"
	"leslie/internal/scope"
	"leslie/thread"
)

// This file defines flags as the library wants them, and the values that flags and
// operands accept.

// option is a flag: a urfave.GenericFlag whose Value is a *value. An option is a definition
// and never changes, so many lines can be read with it.
type option struct {
	urfave.GenericFlag
	names []string // its name, and its short name if it has one
}

// NewFlag defines a flag that takes a value.
func NewFlag(name string, v *Value, usage string) *option {
	return &option{urfave.GenericFlag{Name: name, Usage: usage, Value: v}, []string{name}}
}

// Toggle defines a flag without a value.
func Toggle(name, usage string) *option {
	return NewFlag(name, &Value{Check: checkToggle, Toggle: true}, usage)
}

// Short gives a flag a letter.
func (o *option) Short(letter string) *option {
	o.names = append(o.names, letter)
	return o
}

// Apply registers a new value for the line. The library's Apply would register the short
// name as a second flag, which doubles repeated values. It would also read the
// environment variable from the process and stop at a bad one; Call.globals reads it from the
// call's environment and reports a bad one with the other faults of the line.
func (o *option) Apply(set *flag.FlagSet) error {
	fresh := *o.Typed()
	set.Var(&fresh, o.Name, o.Usage)
	return nil
}

// Names are the flag's name and short name. The library calls it often, and its own
// Names uses a regular expression each time.
func (o *option) Names() []string { return o.names }

// TakesValue is false for a switch.
func (o *option) TakesValue() bool { return !o.Typed().Toggle }

// String is the flag as help shows it: label, tab, usage.
func (o *option) String() string {
	usage := o.Usage
	for _, name := range o.EnvVars {
		usage += " [" + name + "]"
	}
	return o.label() + "\t" + usage
}

func (o *option) Typed() *Value { return o.Value.(*Value) }

// synopsis is the flag as a usage line shows it.
func (o *option) synopsis() string {
	if o.Typed().Toggle {
		return "--" + o.Name
	}
	return "--" + o.Name + " " + o.Typed().Shown
}

func (o *option) label() string {
	for _, letter := range o.names[1:] {
		return "-" + letter + ", " + o.synopsis()
	}
	return o.synopsis()
}

// Flag is a flag in the form that the library takes.
type Flag = urfave.Flag

// Options are flags as what they are.
func Options(flags []Flag) []*option {
	out := make([]*option, len(flags))
	for i, f := range flags {
		out[i] = f.(*option)
	}
	return out
}

// ShownOptions are the flags without the spellings of leslie 1.x (spelling.go).
func ShownOptions(flags []Flag) []*option {
	return slices.DeleteFunc(Options(flags), func(o *option) bool { return o.Typed().Old != nil })
}

// Names are the names of flags.
func Names(flags []Flag) []string {
	var out []string
	for _, o := range Options(flags) {
		out = append(out, o.Name)
	}
	return out
}

// Value is the value of a flag or an operand: text that must pass a check. It is a
// urfave.Generic.
type Value struct {
	Shown   string              // its name in help
	Words   []string            // the allowed words; nil: any that pass check
	Listed  []string            // the words that a list may have, for completion
	Check   func(string) *Fault // returns what is wrong with a text, or nil
	IDs     IDKind              // what completion offers, of an id its kind
	signs   bool                // + or - comes before it
	Toggle  bool                // a switch: true or false
	repeats bool                // may be given several times
	Needed  bool                // the command refuses a line without it
	Old     *oldSpelling        // of a flag of leslie 1.x; nil for all others
	former  map[string]string   // words of leslie 1.x, and what they are called now
	clears  bool                // an empty text means something: it clears a field
	Given   []string            // on the line
}

// Set adds or replaces the text, or returns the fault that the check found.
func (v *Value) Set(text string) error {
	if f := v.Fault("", text); f != nil {
		return f
	}
	if !v.repeats {
		v.Given = nil
	}
	v.Given = append(v.Given, text)
	return nil
}

// String is the text; package flag also calls it on a nil value.
func (v *Value) String() string {
	if v == nil {
		return ""
	}
	return strings.Join(v.Given, ",")
}

// IsBoolFlag tells package flag that a switch has no argument.
func (v *Value) IsBoolFlag() bool { return v.Toggle }

// As sets how help calls the value.
func (v *Value) As(shown string) *Value {
	v.Shown = shown
	return v
}

// Formerly sets what words of leslie 1.x are called now.
func (v *Value) Formerly(words map[string]string) *Value {
	v.former = words
	return v
}

// Required marks a flag that the command needs, for usage lines. The command checks it
// with Call.Require: the library's own Required prints help to stdout.
func (v *Value) Required() *Value {
	v.Needed = true
	return v
}

// OrEmpty lets the value be empty, to clear a field.
func (v *Value) OrEmpty() *Value {
	v.clears = true
	return v
}

// Fault returns the fault of a text, nil if it has none. label is the flag or operand
// as the caller writes it.
func (v *Value) Fault(label, text string) *Fault {
	var f *Fault
	switch {
	case text == "" && v.clears:
	case strings.TrimSpace(text) == "" && !v.Toggle:
		f = NewFault("is empty")
	case v.Words != nil:
		f = checkWord(v.Words, text)
		if now := v.former[text]; f != nil && now != "" {
			f.Problem, f.Nearest = f.Problem+"; "+text+" is called "+now+" now", now
		}
	default:
		f = v.Check(text)
	}
	if f != nil {
		f.Field, f.Value, f.Problem = label, text, label+" "+f.Problem
	}
	return f
}

// Text is any text that is not empty.
func Text(shown string) *Value { return &Value{Shown: shown, Check: AcceptAny} }

// Texts is the same, repeated.
func Texts(shown string) *Value { return &Value{Shown: shown, Check: AcceptAny, repeats: true} }

// OneOf is one of a few words.
func OneOf(words ...string) *Value {
	return &Value{Shown: strings.Join(words, "|"), Words: words}
}

// ListOf is a few of these words, separated by commas.
func ListOf(words ...string) *Value {
	check := parts(func(text string) *Fault { return checkWord(words, text) })
	return &Value{Shown: strings.Join(words, ","), Listed: words, Check: check, repeats: true}
}

// ID is an id of this kind or a prefix of one. Callers choose those of threads and
// objectives; leslie makes the others, which have no '.' and so are told from paths.
func ID(shown string, of IDKind) *Value {
	if of == ThreadIDs || of == ObjectiveIDs || of == OtherIDs {
		return &Value{Shown: shown, Check: formOf(of), IDs: of}
	}
	return &Value{Shown: shown, Check: checkMadeID, IDs: of}
}

// ThreadVersion is a version of a thread's artifacts.
func ThreadVersion(shown string) *Value {
	return &Value{Shown: shown, Check: checkVersion, IDs: versionIDs}
}

// IDs are ids, separated by commas.
func IDs(shown string, of IDKind) *Value {
	return &Value{Shown: shown, Check: parts(formOf(of)), IDs: of, repeats: true}
}

// CheckNames are names of checks, separated by commas.
func CheckNames() *Value {
	return &Value{Shown: "NAME,...", Check: parts(checkID), IDs: checkNames, repeats: true}
}

// Scopes are paths, folders and globs, separated by commas.
func Scopes(shown string) *Value {
	return &Value{Shown: shown, Check: checkScopes, IDs: FileNames, repeats: true}
}

// NonNegative is a whole number from 0.
func NonNegative(shown string) *Value { return &Value{Shown: shown, Check: checkCount} }

// Positive is a whole number from 1.
func Positive(shown string) *Value { return &Value{Shown: shown, Check: checkNumber} }

// Amount is an amount of money, 2.50.
func Amount() *Value { return &Value{Shown: "AMOUNT", Check: checkAmount} }

// Duration is 90s or 1h30m.
func Duration() *Value { return &Value{Shown: "D", Check: checkDuration} }

// Edits are +VALUE or -VALUE, repeated.
func Edits(shown string, of IDKind) *Value {
	return &Value{Shown: shown, Check: checkEdit, IDs: of, signs: true, repeats: true}
}

// Capability is the name of a capability.
func Capability() *Value {
	return &Value{Shown: "CAPABILITY", Check: checkCapability, IDs: capabilityNames}
}

// Capabilities are the same, separated by commas.
func Capabilities() *Value {
	return &Value{Shown: "CAP,...", Check: parts(checkCapability), IDs: capabilityNames, repeats: true}
}

// Fault is one thing that is wrong with a command line: an element of
// details.fields.
type Fault struct {
	Line    int      `json:"line,omitempty"` // of a batch
	Field   string   `json:"field"`          // the flag, the operand's name, "command"
	Problem string   `json:"problem"`
	Value   string   `json:"value,omitempty"`
	Nearest string   `json:"nearest,omitempty"`
	Allowed []string `json:"allowed,omitempty"`
	// Hint and Next replace those of the command's usage if this is the only fault.
	Hint, Next string `json:"-"`
}

// Error is the fault as it reads in the message.
func (f Fault) Error() string {
	if f.Nearest != "" {
		return f.Problem + " (did you mean " + f.Nearest + "?)"
	}
	return f.Problem
}

// NewFault is a fault of a value: what is wrong, behind the name of its flag or operand.
func NewFault(problem string) *Fault { return &Fault{Problem: problem} }

// AcceptAny accepts every text.
func AcceptAny(string) *Fault { return nil }

func checkToggle(text string) *Fault {
	if text == "true" || text == "false" {
		return nil
	}
	return NewFault("is a switch and takes no value")
}

func checkWord(words []string, text string) *Fault {
	if slices.Contains(words, text) {
		return nil
	}
	f := NewFault("must be " + app.OrList(words) + ", not " + strconv.Quote(text))
	f.Nearest, f.Allowed = nearest.Name(text, words), words
	return f
}

// formOf is the check of ids of a kind. The branch of a thread stands for it.
func formOf(kind IDKind) func(text string) *Fault {
	if kind == ThreadIDs {
		return checkThread
	}
	return checkID
}

func checkID(text string) *Fault {
	if thread.ValidID(text) {
		return nil
	}
	return NewFault(fmt.Sprintf("must be an id (%s), not %q", thread.IDForm, text))
}

func checkThread(text string) *Fault {
	if thread.NamesThread(text) {
		return nil
	}
	return checkID(text)
}

func checkMadeID(text string) *Fault {
	if thread.ValidName(text) {
		return nil
	}
	return NewFault(fmt.Sprintf("must be an id (a letter or digit, then letters, digits, '-', '_'; at most %d), not %q",
		thread.MaxID, text))
}

func checkVersion(text string) *Fault {
	if problem := app.VersionFault(text); problem != "" {
		return NewFault(problem)
	}
	return nil
}

func checkCapability(text string) *Fault {
	if thread.ValidName(text) {
		return nil
	}
	return NewFault("must be a capability such as code_edit, not " + strconv.Quote(text))
}

// parts checks each part between commas.
func parts(check func(string) *Fault) func(string) *Fault {
	return func(text string) *Fault {
		for part := range strings.SplitSeq(text, ",") {
			if strings.TrimSpace(part) == "" {
				return NewFault("is empty")
			}
			if f := check(part); f != nil {
				return f
			}
		}
		return nil
	}
}

func checkScopes(text string) *Fault {
	split := strings.Split(text, ",")
	if slices.Contains(split, "") {
		return NewFault("has an empty part: " + strconv.Quote(text))
	}
	if _, err := scope.Parse(split); err != nil && !app.IsUnsafePath(err) {
		return NewFault("must be paths, folders or globs: " + err.Error())
	}
	return nil
}

func checkCount(text string) *Fault {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return nil
	}
	return NewFault("must be a whole number from 0, not " + strconv.Quote(text))
}

func checkNumber(text string) *Fault {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return nil
	}
	return NewFault("must be a whole number from 1, not " + strconv.Quote(text))
}

func checkAmount(text string) *Fault {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 && !math.IsInf(n, 0) {
		return nil
	}
	return NewFault("must be an amount above zero such as 2.50, not " + strconv.Quote(text))
}

func checkDuration(text string) *Fault {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return nil
	}
	return NewFault("must be a duration above zero such as 90s or 1h30m, not " + strconv.Quote(text))
}

func checkEdit(text string) *Fault {
	if strings.TrimSpace(text[1:]) != "" && (text[0] == '+' || text[0] == '-') {
		return nil
	}
	return NewFault("must be +VALUE to add or -VALUE to remove, not " + strconv.Quote(text))
}

// globalFlags are the flags of every command.
func globalFlags() []Flag { return flagsIn(globalTable[:]) }

// writeFlags are the further flags of every command that writes.
func writeFlags() []Flag { return flagsIn(writeTable[:]) }

func flagsIn(table []option) []Flag {
	out := make([]Flag, len(table))
	for i := range table {
		out[i] = &table[i]
	}
	return out
}

// The tables are static data, so that neither a start nor a line of a batch builds them.
var (
	globalTable = [...]option{
		{urfave.GenericFlag{
			Name: "format", EnvVars: []string{"LESLIE_FORMAT"}, Usage: "how to answer",
			Value: &Value{Shown: "text|json|yaml", Words: []string{"text", "json", "yaml", "table"}},
		}, []string{"format"}},
		{urfave.GenericFlag{
			Name: "dir", EnvVars: []string{"LESLIE_DIR"}, Usage: "work as if started in DIR",
			Value: &Value{Shown: "DIR", Check: AcceptAny},
		}, []string{"dir", "C"}},
		{urfave.GenericFlag{
			Name: "as", EnvVars: []string{"LESLIE_AS"}, Usage: "who acts",
			Value: &Value{Shown: "user|agent|system", Words: []string{"user", "agent", "system"}},
		}, []string{"as"}},
		{urfave.GenericFlag{
			Name: "actor", EnvVars: []string{"LESLIE_ACTOR"}, Usage: "the name recorded with operations",
			Value: &Value{Shown: "NAME", Check: AcceptAny},
		}, []string{"actor"}},
		{urfave.GenericFlag{
			Name: "thread", EnvVars: []string{"LESLIE_THREAD"}, Usage: "the thread this call speaks for",
			Value: &Value{Shown: "ID", Check: checkThread, IDs: ThreadIDs},
		}, []string{"thread"}},
		{urfave.GenericFlag{
			Name: "no-input", EnvVars: []string{"LESLIE_NO_INPUT"}, Usage: "never prompt",
			Value: &Value{Check: checkToggle, Toggle: true},
		}, []string{"no-input"}},
		{urfave.GenericFlag{
			Name: "offline", EnvVars: []string{"LESLIE_OFFLINE"},
			Usage: "read what this machine has, and do not ask the project's remote",
			Value: &Value{Check: checkToggle, Toggle: true},
		}, []string{"offline"}},
		{urfave.GenericFlag{Name: "no-pager", Usage: "show long answers without a pager",
			Value: &Value{Check: checkToggle, Toggle: true}}, []string{"no-pager"}},
		{urfave.GenericFlag{
			Name: "color", Usage: "colour in text answers",
			Value: &Value{Shown: "auto|always|never", Words: []string{"auto", "always", "never"}},
		}, []string{"color"}},
		{urfave.GenericFlag{
			Name: "debug", EnvVars: []string{"LESLIE_DEBUG"},
			Usage: "debug lines on stderr, the chain of causes in errors",
			Value: &Value{Check: checkToggle, Toggle: true},
		}, []string{"debug"}},
		{urfave.GenericFlag{Name: "help", Usage: "show help", Value: &Value{Check: checkToggle, Toggle: true}},
			[]string{"help", "h"}},
		{urfave.GenericFlag{Name: "version", Usage: "show leslie's version",
			Value: &Value{Check: checkToggle, Toggle: true}}, []string{"version"}},
	}
	writeTable = [...]option{
		{urfave.GenericFlag{
			Name: "lock-timeout", Usage: "wait at most D for the lock",
			Value: &Value{Shown: "D", Check: checkDuration},
		}, []string{"lock-timeout"}},
		{urfave.GenericFlag{
			Name: "request-id", Usage: "retrying with the same id returns the first result",
			Value: &Value{Shown: "ID", Check: AcceptAny},
		}, []string{"request-id"}},
		{urfave.GenericFlag{
			Name: "expect-revision", Usage: "fail with T503 when what this changes was changed after revision N",
			Value: &Value{Shown: "N", Check: checkCount},
		}, []string{"expect-revision"}},
	}
)

// ReasonFlag is --reason of commands that record why.
func ReasonFlag() Flag {
	return NewFlag("reason", Text("R"), "why, for the record")
}

// LimitFlag is --limit of every list.
func LimitFlag() Flag {
	return NewFlag("limit", NonNegative("N"), "show at most N (default 50, 0 = all)")
}

// RecordFlags are --mine, --by and --since of a list of what people and agents have made.
func RecordFlags(what string) []Flag {
	return append(ByFlags("only "+what+" of yours", "only "+what+" of this actor"), SinceFlag(what))
}

// HolderFlags are --mine and --by of a list of threads.
func HolderFlags() []Flag {
	return ByFlags("only threads that you have claimed", "only threads that ACTOR has claimed")
}

// ByFlags are --mine and --by of a list.
func ByFlags(mine, by string) []Flag {
	return []Flag{Toggle("mine", mine), NewFlag("by", Text("ACTOR"), by)}
}

// SinceFlag is --since of a list of what has a number and a time.
func SinceFlag(what string) Flag {
	return NewFlag("since", &Value{Shown: "REV|TIME", Check: checkSince},
		"only "+what+" after revision REV, or since a time or age (today, 2026-02-09, 2h)")
}

// FromFlag is --since of a list of what has only a time.
func FromFlag(what string) Flag {
	return NewFlag("since", &Value{Shown: "TIME", Check: checkPast}, what+" since a time or age (today, 2026-02-09, 2h)")
}

func checkPast(text string) *Fault {
	if _, ok := past(text, time.Time{}); ok {
		return nil
	}
	return NewFault("must be " + pastForms + ", not " + strconv.Quote(text))
}

func checkSince(text string) *Fault {
	if _, err := strconv.Atoi(text); err == nil {
		return checkCount(text)
	}
	if _, ok := past(text, time.Time{}); ok {
		return nil
	}
	return NewFault("must be a revision, " + pastForms + ", not " + strconv.Quote(text))
}

// TimeFlag is --time of every list with times.
func TimeFlag() Flag {
	return NewFlag("time", OneOf("iso", "relative"),
		"how text has times (relative for a person at a terminal, else iso)")
}
