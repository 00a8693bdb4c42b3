package main

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/nearest"
	"leslie/internal/scope"
	"leslie/thread"
)

// This file defines flags as the library wants them, and the values that flags and
// operands accept.

// option is a flag: a cli.GenericFlag whose Value is a *value. An option is a definition
// and never changes, so many lines can be read with it.
type option struct {
	cli.GenericFlag
	names []string // its name, and its short name if it has one
}

// newOption defines a flag that takes a value.
func newOption(name string, v *value, usage string) *option {
	return &option{cli.GenericFlag{Name: name, Usage: usage, Value: v}, []string{name}}
}

// toggle defines a flag without a value.
func toggle(name, usage string) *option {
	return newOption(name, &value{check: checkToggle, toggle: true}, usage)
}

// short gives a flag a letter.
func (o *option) short(letter string) *option {
	o.names = append(o.names, letter)
	return o
}

// Apply registers a new value for the line. The library's Apply would register the short
// name as a second flag, which doubles repeated values. It would also read the
// environment variable from the process and stop at a bad one; call.globals reads it from the
// call's environment and reports a bad one with the other faults of the line.
func (o *option) Apply(set *flag.FlagSet) error {
	fresh := *o.value()
	set.Var(&fresh, o.Name, o.Usage)
	return nil
}

// Names are the flag's name and short name. The library calls it often, and its own
// Names uses a regular expression each time.
func (o *option) Names() []string { return o.names }

// TakesValue is false for a switch.
func (o *option) TakesValue() bool { return !o.value().toggle }

// String is the flag as help shows it: label, tab, usage.
func (o *option) String() string {
	usage := o.Usage
	for _, name := range o.EnvVars {
		usage += " [" + name + "]"
	}
	return o.label() + "\t" + usage
}

func (o *option) value() *value { return o.Value.(*value) }

// synopsis is the flag as a usage line shows it.
func (o *option) synopsis() string {
	if o.value().toggle {
		return "--" + o.Name
	}
	return "--" + o.Name + " " + o.value().shown
}

func (o *option) label() string {
	for _, letter := range o.names[1:] {
		return "-" + letter + ", " + o.synopsis()
	}
	return o.synopsis()
}

// options are flags as what they are.
func options(flags []cli.Flag) []*option {
	out := make([]*option, len(flags))
	for i, f := range flags {
		out[i] = f.(*option)
	}
	return out
}

// shownOptions are the flags without the spellings of leslie 1.x (spelling.go).
func shownOptions(flags []cli.Flag) []*option {
	return slices.DeleteFunc(options(flags), func(o *option) bool { return o.value().old != nil })
}

// value is the value of a flag or an operand: text that must pass a check. It is a
// cli.Generic.
type value struct {
	shown   string              // its name in help
	words   []string            // the allowed words; nil: any that pass check
	listed  []string            // the words that a list may have, for completion
	check   func(string) *fault // returns what is wrong with a text, or nil
	ids     idKind              // the kind of an id
	toggle  bool                // a switch: true or false
	repeats bool                // may be given several times
	needed  bool                // the command refuses a line without it
	old     *oldSpelling        // of a flag of leslie 1.x; nil for all others
	former  map[string]string   // words of leslie 1.x, and what they are called now
	clears  bool                // an empty text means something: it clears a field
	given   []string            // on the line
}

// Set adds or replaces the text, or returns the fault that the check found.
func (v *value) Set(text string) error {
	if f := v.fault("", text); f != nil {
		return f
	}
	if !v.repeats {
		v.given = nil
	}
	v.given = append(v.given, text)
	return nil
}

// String is the text; package flag also calls it on a nil value.
func (v *value) String() string {
	if v == nil {
		return ""
	}
	return strings.Join(v.given, ",")
}

// IsBoolFlag tells package flag that a switch has no argument.
func (v *value) IsBoolFlag() bool { return v.toggle }

// as sets how help calls the value.
func (v *value) as(shown string) *value {
	v.shown = shown
	return v
}

// formerly sets what words of leslie 1.x are called now.
func (v *value) formerly(words map[string]string) *value {
	v.former = words
	return v
}

// required marks a flag that the command needs, for usage lines. The command checks it
// with call.require: the library's own Required prints help to stdout.
func (v *value) required() *value {
	v.needed = true
	return v
}

// orEmpty lets the value be empty, to clear a field.
func (v *value) orEmpty() *value {
	v.clears = true
	return v
}

// fault returns the fault of a text, nil if it has none. label is the flag or operand
// as the caller writes it.
func (v *value) fault(label, text string) *fault {
	var f *fault
	switch {
	case text == "" && v.clears:
	case strings.TrimSpace(text) == "" && !v.toggle:
		f = wrong("is empty")
	case v.words != nil:
		f = checkWord(v.words, text)
		if now := v.former[text]; f != nil && now != "" {
			f.Problem, f.Nearest = f.Problem+"; "+text+" is called "+now+" now", now
		}
	default:
		f = v.check(text)
	}
	if f != nil {
		f.Field, f.Value, f.Problem = label, text, label+" "+f.Problem
	}
	return f
}

// anyText is any text that is not empty.
func anyText(shown string) *value { return &value{shown: shown, check: fits} }

// texts is the same, repeated.
func texts(shown string) *value { return &value{shown: shown, check: fits, repeats: true} }

// oneOf is one of a few words.
func oneOf(words ...string) *value {
	return &value{shown: strings.Join(words, "|"), words: words}
}

// listOf is a few of these words, separated by commas.
func listOf(words ...string) *value {
	check := parts(func(text string) *fault { return checkWord(words, text) })
	return &value{shown: strings.Join(words, ","), listed: words, check: check, repeats: true}
}

// anID is an id of this kind or a prefix of one.
func anID(shown string, of idKind) *value { return &value{shown: shown, check: checkID, ids: of} }

// aVersion is a version of a thread's artifacts.
func aVersion(shown string) *value {
	return &value{shown: shown, check: checkVersion, ids: threadIDs}
}

// someIDs are ids, separated by commas.
func someIDs(shown string, of idKind) *value {
	return &value{shown: shown, check: parts(checkID), ids: of, repeats: true}
}

// someChecks are names of checks, separated by commas.
func someChecks() *value { return &value{shown: "NAME,...", check: parts(checkID), repeats: true} }

// scopes are paths, folders and globs, separated by commas.
func scopes(shown string) *value { return &value{shown: shown, check: checkScopes, repeats: true} }

// aCount is a whole number from 0.
func aCount(shown string) *value { return &value{shown: shown, check: checkCount} }

// aNumber is a whole number from 1.
func aNumber(shown string) *value { return &value{shown: shown, check: checkNumber} }

// anAmount is an amount of money, 2.50.
func anAmount() *value { return &value{shown: "AMOUNT", check: checkAmount} }

// aDuration is 90s or 1h30m.
func aDuration() *value { return &value{shown: "D", check: checkDuration} }

// edits are +VALUE or -VALUE, repeated.
func edits(shown string) *value { return &value{shown: shown, check: checkEdit, repeats: true} }

// aCapability is the name of a capability.
func aCapability() *value { return &value{shown: "CAPABILITY", check: checkCapability} }

// capabilities are the same, separated by commas.
func capabilities() *value {
	return &value{shown: "CAP,...", check: parts(checkCapability), repeats: true}
}

// idKind is the table whose ids completion offers.
type idKind string

const (
	otherIDs     idKind = "" // not offered
	threadIDs    idKind = thread.TableThreads
	objectiveIDs idKind = thread.TableObjectives
	referenceIDs idKind = thread.TableReferences
	mergeIDs     idKind = thread.TableMerges
	approvalIDs  idKind = thread.TableApprovals
	questionIDs  idKind = thread.TableQuestions
	commentIDs   idKind = thread.TableComments
)

// fault is one thing that is wrong with a command line: an element of
// details.fields.
type fault struct {
	Line    int      `json:"line,omitempty"` // of a batch
	Field   string   `json:"field"`          // the flag, the operand's name, "command"
	Problem string   `json:"problem"`
	Value   string   `json:"value,omitempty"`
	Nearest string   `json:"nearest,omitempty"`
	Allowed []string `json:"allowed,omitempty"`
	// hint and next replace those of the command's usage if this is the only fault.
	hint, next string
}

// Error is the fault as it reads in the message.
func (f fault) Error() string {
	if f.Nearest != "" {
		return f.Problem + " (did you mean " + f.Nearest + "?)"
	}
	return f.Problem
}

func wrong(problem string) *fault { return &fault{Problem: problem} }

func fits(string) *fault { return nil }

func checkToggle(text string) *fault {
	if text == "true" || text == "false" {
		return nil
	}
	return wrong("is a switch and takes no value")
}

func checkWord(words []string, text string) *fault {
	if slices.Contains(words, text) {
		return nil
	}
	f := wrong("must be " + orList(words) + ", not " + strconv.Quote(text))
	f.Nearest, f.Allowed = nearest.Name(text, words), words
	return f
}

func checkID(text string) *fault {
	if thread.ValidID(text) {
		return nil
	}
	return wrong(fmt.Sprintf("must be an id (a letter or digit, then letters, digits, '-', '_'; at most %d), not %q", thread.MaxID, text))
}

func checkVersion(text string) *fault {
	if problem := app.VersionFault(text); problem != "" {
		return wrong(problem)
	}
	return nil
}

func checkCapability(text string) *fault {
	if thread.ValidID(text) {
		return nil
	}
	return wrong("must be a capability such as code_edit, not " + strconv.Quote(text))
}

// parts checks each part between commas.
func parts(check func(string) *fault) func(string) *fault {
	return func(text string) *fault {
		for part := range strings.SplitSeq(text, ",") {
			if strings.TrimSpace(part) == "" {
				return wrong("is empty")
			}
			if f := check(part); f != nil {
				return f
			}
		}
		return nil
	}
}

func checkScopes(text string) *fault {
	split := strings.Split(text, ",")
	if slices.Contains(split, "") {
		return wrong("has an empty part: " + strconv.Quote(text))
	}
	if _, err := scope.Parse(split); err != nil && !leadsOut(err) {
		return wrong("must be paths, folders or globs: " + err.Error())
	}
	return nil
}

func checkCount(text string) *fault {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return nil
	}
	return wrong("must be a whole number from 0, not " + strconv.Quote(text))
}

func checkNumber(text string) *fault {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return nil
	}
	return wrong("must be a whole number from 1, not " + strconv.Quote(text))
}

func checkAmount(text string) *fault {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && !math.IsInf(n, 0) {
		return nil
	}
	return wrong("must be an amount such as 2.50, not " + strconv.Quote(text))
}

func checkDuration(text string) *fault {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return nil
	}
	return wrong("must be a duration above zero such as 90s or 1h30m, not " + strconv.Quote(text))
}

func checkEdit(text string) *fault {
	if strings.TrimSpace(text[1:]) != "" && (text[0] == '+' || text[0] == '-') {
		return nil
	}
	return wrong("must be +VALUE to add or -VALUE to remove, not " + strconv.Quote(text))
}

// orList reads as "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// globalFlags are the flags of every command.
func globalFlags() []cli.Flag { return flagsIn(globalTable[:]) }

// writeFlags are the further flags of every command that writes.
func writeFlags() []cli.Flag { return flagsIn(writeTable[:]) }

func flagsIn(table []option) []cli.Flag {
	out := make([]cli.Flag, len(table))
	for i := range table {
		out[i] = &table[i]
	}
	return out
}

// The tables are static data, so that neither a start nor a line of a batch builds them.
var (
	globalTable = [...]option{
		{cli.GenericFlag{
			Name: "format", EnvVars: []string{"LESLIE_FORMAT"}, Usage: "how to answer",
			Value: &value{shown: "text|json|yaml", words: []string{"text", "json", "yaml", "table"}},
		}, []string{"format"}},
		{cli.GenericFlag{
			Name: "dir", EnvVars: []string{"LESLIE_DIR"}, Usage: "work as if started in DIR",
			Value: &value{shown: "DIR", check: fits},
		}, []string{"dir", "C"}},
		{cli.GenericFlag{
			Name: "as", EnvVars: []string{"LESLIE_AS"}, Usage: "who acts",
			Value: &value{shown: "user|agent|system", words: []string{"user", "agent", "system"}},
		}, []string{"as"}},
		{cli.GenericFlag{
			Name: "actor", EnvVars: []string{"LESLIE_ACTOR"}, Usage: "the name recorded with operations",
			Value: &value{shown: "NAME", check: fits},
		}, []string{"actor"}},
		{cli.GenericFlag{
			Name: "thread", EnvVars: []string{"LESLIE_THREAD"}, Usage: "the thread this call speaks for",
			Value: &value{shown: "ID", check: checkID, ids: threadIDs},
		}, []string{"thread"}},
		{cli.GenericFlag{
			Name: "no-input", EnvVars: []string{"LESLIE_NO_INPUT"}, Usage: "never prompt",
			Value: &value{check: checkToggle, toggle: true},
		}, []string{"no-input"}},
		{cli.GenericFlag{
			Name: "offline", EnvVars: []string{"LESLIE_OFFLINE"}, Usage: "read what this machine has, and do not ask the project's remote",
			Value: &value{check: checkToggle, toggle: true},
		}, []string{"offline"}},
		{cli.GenericFlag{Name: "no-pager", Usage: "show long answers without a pager", Value: &value{check: checkToggle, toggle: true}}, []string{"no-pager"}},
		{cli.GenericFlag{
			Name: "color", Usage: "colour in text answers",
			Value: &value{shown: "auto|always|never", words: []string{"auto", "always", "never"}},
		}, []string{"color"}},
		{cli.GenericFlag{
			Name: "debug", EnvVars: []string{"LESLIE_DEBUG"}, Usage: "debug lines on stderr, the chain of causes in errors",
			Value: &value{check: checkToggle, toggle: true},
		}, []string{"debug"}},
		{cli.GenericFlag{Name: "help", Usage: "show help", Value: &value{check: checkToggle, toggle: true}}, []string{"help", "h"}},
		{cli.GenericFlag{Name: "version", Usage: "show leslie's version", Value: &value{check: checkToggle, toggle: true}}, []string{"version"}},
	}
	writeTable = [...]option{
		{cli.GenericFlag{
			Name: "lock-timeout", Usage: "wait at most D for the lock",
			Value: &value{shown: "D", check: checkDuration},
		}, []string{"lock-timeout"}},
		{cli.GenericFlag{
			Name: "request-id", Usage: "retrying with the same id returns the first result",
			Value: &value{shown: "ID", check: fits},
		}, []string{"request-id"}},
		{cli.GenericFlag{
			Name: "expect-revision", Usage: "fail with T503 when what this changes was changed after revision N",
			Value: &value{shown: "N", check: checkCount},
		}, []string{"expect-revision"}},
	}
)
