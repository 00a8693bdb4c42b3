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

// This file checks one answer against the contract: its form, its exit status, its code,
// and that it shows no internal error text.

// line is a command that a worker is about to run.
type line struct {
	command  string // as help names it
	argv     []string
	stdin    string
	as       string // "": the worker chooses
	scenario bool   // of a scenario: another actor than the rows
	may      string // the codes it may fail with
	many     bool   // it may make several operations
	stream   bool   // it answers with JSON lines
	noKill   bool   // it is not killed
	reads    bool   // it makes no operation
}

// waits reports whether a command waits after its operation. Its answer then has the
// revision at the end of the wait.
func (l line) waits() bool { return slices.Contains(l.argv, "--wait") }

// fatal lists the codes that no call may ever fail with or warn of.
const fatal = "T901 T902 T502 T506 T508 W502 W503 W506"

// internalText matches error text that should have become a code.
var internalText = regexp.MustCompile(`panic:|goroutine \d+|runtime error|<nil>|%!|invalid memory|: no such file or directory|: file exists|` +
	`unexpected end of JSON|invalid character|context (canceled|deadline)|file already closed|bad file descriptor|\.go:\d+`)

// wrong returns how an answer breaks the contract, or "".
func (l line) wrong(o outcome) string {
	switch {
	case o.Err != nil:
		return o.Err.Error()
	case o.Killed:
		return l.wrongKilled(o)
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

// wrongKilled: a killed call has written nothing, or its whole answer.
func (l line) wrongKilled(o outcome) string {
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
		return "unexpected error " + code
	case !told || details["operation"] == nil:
		return "the error's details lack operation or changed"
	}
	return ""
}

// exitOf returns the exit status for a code.
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
		// A merge or a rollback met a concurrent save, and kept it.
		if w.Code == "W505" && (l.scenario || !strings.Contains(fmt.Sprint(w.Context), "saved")) {
			return "it warns: " + w.Code + " " + w.Message
		}
	}
	return ""
}

// wrongWords looks for unexpected output on stderr and for internal error text.
func (l line) wrongWords(o outcome) string {
	for said := range strings.Lines(string(o.Stderr)) {
		waits := strings.HasPrefix(said, "leslie: waiting for the lock ")
		asked := strings.HasPrefix(said, "time=") && slices.Contains(l.argv, "--debug")
		if !l.stream && !waits && !asked {
			return "stderr: " + said
		}
		if internalText.MatchString(said) {
			return "internal error text: " + said
		}
	}
	if o.Doc == nil || o.Doc.Error == nil {
		return ""
	}
	if found := internalText.FindString(o.Doc.Error.Message + "\n" + o.Doc.Error.Hint); found != "" {
		return "internal error text: " + found
	}
	return ""
}

// wrongStream: JSON lines on stdout, an error as one line on stderr.
func (l line) wrongStream(o outcome) string {
	for raw := range bytes.Lines(o.Stdout) {
		if !json.Valid(raw) {
			return fmt.Sprintf("a line of the stream is not JSON: %.200s", raw)
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
