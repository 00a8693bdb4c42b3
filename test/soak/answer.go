//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"leslie/test/harness"
)

// This file holds one answer against the contract: its form, its exit status,
// its code, and that no inner failure shows through.

// line is what a worker is about to call.
type line struct {
	command  string // as help names it
	argv     []string
	stdin    string
	as       string // "" lets the worker draw one
	scenario bool   // of a scenario: its operations are distinct from those of the rows
	may      string // the codes with which it may end
	many     bool   // it may make several operations
	stream   bool   // it answers with lines
	noKill   bool   // it is not killed
	reads    bool   // it makes no operation
}

// waits reports whether a line makes its operation and then waits: its answer
// tells what it saw at last, at that revision.
func (l line) waits() bool { return slices.Contains(l.argv, "--wait") }

// fatal are codes that no call may ever end with or warn of.
const fatal = "T901 T902 T502 T506 T508 W502 W503 W506"

// inner is text of failures that should have got a code of their own.
var inner = regexp.MustCompile(`panic:|goroutine \d+|runtime error|<nil>|%!|invalid memory|: no such file or directory|: file exists|` +
	`unexpected end of JSON|invalid character|context (canceled|deadline)|file already closed|bad file descriptor|\.go:\d+`)

// wrong says how an answer breaks the contract, "" when it does not.
func (l line) wrong(o outcome) string {
	switch {
	case o.Err != nil:
		return o.Err.Error()
	case o.Killed:
		return l.lastWords(o)
	case l.stream:
		return l.wrongStream(o)
	case o.Doc == nil:
		return fmt.Sprintf("exit status %d, and stdout is not one JSON document", o.Status)
	case o.Doc.Success != (o.Doc.Error == nil) || o.Doc.Success != (o.Status == 0):
		return fmt.Sprintf("exit status %d does not agree with the document", o.Status)
	}
	return firstOf(l.wrongCode(o), l.wrongWarning(o), l.wrongWords(o))
}

func firstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

// lastWords: a killed call has said nothing, or its whole answer.
func (l line) lastWords(o outcome) string {
	if l.stream || len(o.Stdout) == 0 || o.Doc != nil {
		return l.wrongWords(o)
	}
	return "killed in the middle of its answer"
}

func (l line) wrongCode(o outcome) string {
	if o.Doc.Error == nil {
		return ""
	}
	code, details := o.Doc.Error.Code, o.Doc.Error.Details
	_, told := details["changed"].(bool)
	switch {
	case o.Status != exitOf(code):
		return fmt.Sprintf("exit status %d with %s", o.Status, code)
	case strings.Contains(fatal, code) || !slices.Contains(strings.Fields(l.may), code) && code != "T501":
		return code + " is no way for this call to end"
	case !told || details["operation"] == nil:
		return "the error's details lack operation or changed"
	}
	return ""
}

// exitOf is the exit status that belongs to a code.
func exitOf(code string) int {
	switch {
	case code == "T903":
		return 2
	case code == "T904":
		return 130
	case len(code) == 4 && code[0] == 'T' && code[1] >= '1' && code[1] <= '7':
		return 10 + int(code[1]-'0')
	}
	return 1
}

func (l line) wrongWarning(o outcome) string {
	for _, w := range o.Doc.Warnings {
		if strings.Contains(fatal, w.Code) {
			return "it warns: " + w.Code + " " + w.Message
		}
		// Of a merge or a rollback that met a save, which stays.
		if w.Code == "W505" && (l.scenario || !strings.Contains(fmt.Sprint(w.Context), "saved")) {
			return "it warns: " + w.Code + " " + w.Message
		}
	}
	return ""
}

// wrongWords looks for what only a programmer should ever see.
func (l line) wrongWords(o outcome) string {
	for said := range strings.Lines(string(o.Stderr)) {
		waits := strings.HasPrefix(said, "leslie: waiting for the lock ")
		asked := strings.HasPrefix(said, "time=") && slices.Contains(l.argv, "--debug")
		if !l.stream && !waits && !asked {
			return "stderr: " + said
		}
		if inner.MatchString(said) {
			return "an inner failure: " + said
		}
	}
	if o.Doc == nil || o.Doc.Error == nil {
		return ""
	}
	if found := inner.FindString(o.Doc.Error.Message + "\n" + o.Doc.Error.Hint); found != "" {
		return "an inner failure: " + found
	}
	return ""
}

// wrongStream: JSON lines on stdout, an error as one line on stderr.
func (l line) wrongStream(o outcome) string {
	for raw := range bytes.Lines(o.Stdout) {
		if !json.Valid(raw) {
			return fmt.Sprintf("a line of the stream is no JSON: %.200s", raw)
		}
	}
	if o.Status == 0 {
		return l.wrongWords(o)
	}
	doc, err := harness.Read(o.Stderr)
	if err != nil || doc.Error == nil {
		return fmt.Sprintf("exit status %d, and stderr is not one error", o.Status)
	}
	o.Doc = doc
	return l.wrongCode(o)
}
