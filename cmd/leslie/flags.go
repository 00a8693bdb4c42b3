package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/internal/nearest"
	"leslie/internal/scope"
	"leslie/thread"
)

// kind says what a flag's value or an operand must be.
type kind int

const (
	kindSwitch       kind = iota // no value
	kindText                     // any text but an empty one
	kindTexts                    // the same, may be given several times
	kindEnum                     // one of a few words
	kindID                       // an id or a prefix of one
	kindIDs                      // ids, separated by commas
	kindScopes                   // paths, folders and globs, separated by commas
	kindCount                    // a whole number from 0
	kindDuration                 // 90s, 1h30m
	kindEdits                    // +VALUE or -VALUE, may be given several times
	kindCapability               // the name of a capability
	kindCapabilities             // the same, separated by commas
)

// repeats reports whether a flag of this kind may be given several times.
func (k kind) repeats() bool {
	return k == kindTexts || k == kindIDs || k == kindScopes || k == kindEdits || k == kindCapabilities
}

// flagSpec is one flag: what the parser, the checks, help and the block for
// agents all read.
type flagSpec struct {
	name, short string
	kind        kind
	value       string   // how help calls the value
	words       []string // of an enum
	env         string   // the environment variable that stands in for it
	usage       string
}

// operandSpec is one operand of a command.
type operandSpec struct {
	name     string // how help calls it
	kind     kind
	optional bool
	// speaks: a missing operand is the thread that the call speaks for.
	speaks bool
	// many: it may be given several times; only the last operand may.
	many bool
}

// fault is one thing that is wrong with a command line: an element of
// details.fields.
type fault struct {
	Line    int      `json:"line,omitempty"` // of a batch
	Field   string   `json:"field"`          // the flag, the operand's name, "command"
	Problem string   `json:"problem"`
	Value   string   `json:"value,omitempty"`
	Nearest string   `json:"nearest,omitempty"`
	Allowed []string `json:"allowed,omitempty"`
}

// sentence is the fault as it reads in the message.
func (f fault) sentence() string {
	if f.Nearest != "" {
		return f.Problem + " (did you mean " + f.Nearest + "?)"
	}
	return f.Problem
}

// checkValue returns what is wrong with a value, nil when nothing is. label is
// the flag or the operand as the caller knows it.
func checkValue(label string, k kind, words []string, value string) *fault {
	bad := func(format string, args ...any) *fault {
		return &fault{Field: label, Value: value, Problem: label + " " + fmt.Sprintf(format, args...)}
	}
	if strings.TrimSpace(value) == "" && k != kindSwitch {
		return bad("is empty")
	}
	switch k {
	case kindEnum:
		if !slices.Contains(words, value) {
			f := bad("must be %s, not %s", orList(words), strconv.Quote(value))
			f.Nearest, f.Allowed = nearest.Name(value, words), words
			return f
		}
	case kindID:
		if !thread.ValidID(value) {
			return bad("wants an id (a letter or digit, then letters, digits, '-', '_'; at most %d), not %s", thread.MaxID, strconv.Quote(value))
		}
	case kindIDs:
		return checkParts(label, kindID, value)
	case kindCapability:
		if !thread.ValidID(value) {
			return bad("wants a capability such as code_edit, not %s", strconv.Quote(value))
		}
	case kindCapabilities:
		return checkParts(label, kindCapability, value)
	case kindScopes:
		if slices.Contains(strings.Split(value, ","), "") {
			return bad("has an empty part: %s", strconv.Quote(value))
		}
		if _, err := scope.Parse(strings.Split(value, ",")); err != nil && !leadsOut(err) {
			return bad("wants paths, folders or globs: %s", err)
		}
	case kindCount:
		if n, err := strconv.Atoi(value); err != nil || n < 0 {
			return bad("wants a whole number from 0, not %s", strconv.Quote(value))
		}
	case kindDuration:
		if d, err := time.ParseDuration(value); err != nil || d <= 0 {
			return bad("wants a duration above zero such as 90s or 1h30m, not %s", strconv.Quote(value))
		}
	case kindEdits:
		if strings.TrimSpace(value[1:]) == "" || value[0] != '+' && value[0] != '-' {
			return bad("wants +VALUE to add or -VALUE to drop, not %s", strconv.Quote(value))
		}
	}
	return nil
}

func checkParts(label string, k kind, value string) *fault {
	for part := range strings.SplitSeq(value, ",") {
		if f := checkValue(label, k, nil, part); f != nil {
			f.Value = value
			return f
		}
	}
	return nil
}

// orList reads as "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// globalFlags are the flags of every command.
func globalFlags() []flagSpec { return globalTable[:] }

// writeFlags are the further flags of every command that writes.
func writeFlags() []flagSpec { return writeTable[:] }

// The tables are data of the program: nothing makes them when it starts.
var (
	globalTable = [...]flagSpec{
		{name: "format", kind: kindEnum, value: "text|json|yaml", words: []string{"text", "json", "yaml", "table"}, env: "LESLIE_FORMAT", usage: "how to answer"},
		{name: "dir", short: "C", kind: kindText, value: "DIR", env: "LESLIE_DIR", usage: "work as if started in DIR"},
		{name: "as", kind: kindEnum, value: "user|agent|system", words: []string{"user", "agent", "system"}, env: "LESLIE_AS", usage: "who acts"},
		{name: "actor", kind: kindText, value: "NAME", env: "LESLIE_ACTOR", usage: "the name recorded with operations"},
		{name: "thread", kind: kindID, value: "ID", env: "LESLIE_THREAD", usage: "the thread this call speaks for"},
		{name: "no-input", kind: kindSwitch, env: "LESLIE_NO_INPUT", usage: "never prompt"},
		{name: "color", kind: kindEnum, value: "auto|always|never", words: []string{"auto", "always", "never"}, usage: "colour in text answers"},
		{name: "debug", kind: kindSwitch, env: "LESLIE_DEBUG", usage: "debug lines on stderr, the chain of causes in errors"},
		{name: "help", short: "h", kind: kindSwitch, usage: "show help"},
	}
	writeTable = [...]flagSpec{
		{name: "lock-timeout", kind: kindDuration, value: "D", usage: "wait at most D for the lock"},
		{name: "request-id", kind: kindText, value: "ID", usage: "the same line with the same id gives the first answer again"},
		{name: "expect-revision", kind: kindCount, value: "N", usage: "fail with T503 when what this changes was changed after revision N"},
	}
)
