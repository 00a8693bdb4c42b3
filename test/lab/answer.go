//go:build unix

package lab

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

// Line is a command that a worker is about to run.
type Line struct {
	Command   string // as help names it
	Argv      []string
	Stdin     string
	As        string // "": the worker chooses
	Scenario  bool   // of a scenario: another actor than the rows
	May       string // the codes it may fail with
	Many      bool   // it may make several operations
	Stream    bool   // it answers with JSON lines
	NoKill    bool   // it is not killed
	Reads     bool   // it makes no operation
	NoRequest bool   // it takes no request id
	// Connected: the project is on servers, which may be away.
	Connected bool
}

// Waits reports whether a command waits after its operation. Its answer then has the
// revision at the end of the wait.
func (l Line) Waits() bool { return slices.Contains(l.Argv, "--wait") }

// Repeatable reports whether a line can have a request id, with which it can be repeated.
func (l Line) Repeatable() bool {
	return !l.Reads && !l.NoRequest && !slices.Contains(l.Argv, "--dry-run")
}

// fatal lists the codes that no call may ever fail with or warn of.
const fatal = "T901 T902 T502 T506 T508 T512 T513 W502 W503 W506"

// away is what servers that are not there, or slow, do to any call.
const away = "T510 T511"

// InternalText matches error text that should have become a code.
var InternalText = regexp.MustCompile(`panic:|goroutine \d+|runtime error|<nil>|%!|invalid memory|: no such file or directory|: file exists|` +
	`unexpected end of JSON|invalid character|context (canceled|deadline)|file already closed|bad file descriptor|\.go:\d+`)

// Wrong returns how an answer breaks the contract, or "".
func (l Line) Wrong(o Outcome) string {
	switch {
	case o.Err != nil:
		return o.Err.Error()
	case o.Killed:
		return l.wrongKilled(o)
	case l.Stream:
		return l.wrongStream(o)
	case o.Doc == nil:
		return fmt.Sprintf("exit status %d, and stdout is not one JSON document", o.Status)
	case o.Doc.Success != (o.Doc.Error == nil) || o.Doc.Success != (o.Status == 0):
		return fmt.Sprintf("exit status %d does not agree with the document", o.Status)
	}
	return FirstOf(l.wrongCode(o), l.wrongWarning(o), l.wrongWords(o))
}

// FirstOf returns the first text that is not empty, or "".
func FirstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

// wrongKilled: a killed call has written nothing, or its whole answer.
func (l Line) wrongKilled(o Outcome) string {
	if l.Stream || len(o.Stdout) == 0 || o.Doc != nil {
		return l.wrongWords(o)
	}
	return "killed in the middle of its answer"
}

func (l Line) wrongCode(o Outcome) string {
	if o.Doc.Error == nil {
		return ""
	}
	code, details := o.Doc.Error.Code, o.Doc.Error.Details
	may := l.May + " T501"
	if l.Connected {
		may += " " + away
	}
	_, told := details["changed"].(bool)
	switch {
	case o.Status != exitOf(code):
		return fmt.Sprintf("exit status %d with %s", o.Status, code)
	case strings.Contains(fatal, code) || !slices.Contains(strings.Fields(may), code):
		return "unexpected error " + code
	case details["operation"] == nil, !told && code != "T511":
		return "the error's details lack operation or changed"
	case code == "T511" && !l.unknown(o):
		return "it does not say that the outcome is unknown, or not how to find out"
	}
	return ""
}

// unknown reports whether T511 says that nobody knows whether something changed, and that
// the same line with its request id finds out, unless it had content that is gone.
func (l Line) unknown(o Outcome) bool {
	changed, there := o.Doc.Error.Details["changed"]
	id := slices.Index(l.Argv, "--request-id") + 1
	again := id == 0 || slices.Contains(l.Argv, "-") ||
		slices.ContainsFunc(o.Doc.Error.Next, func(line string) bool { return strings.Contains(line, "--request-id "+l.Argv[id]) })
	return there && changed == nil && again
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

func (l Line) wrongWarning(o Outcome) string {
	for _, w := range o.Doc.Warnings {
		if strings.Contains(fatal, w.Code) {
			return "it warns: " + w.Code + " " + w.Message
		}
		// A merge or a rollback met a concurrent save, and kept it.
		if w.Code == "W505" && (l.Scenario || !strings.Contains(fmt.Sprint(w.Context), "saved")) {
			return "it warns: " + w.Code + " " + w.Message
		}
	}
	return ""
}

// wrongWords looks for unexpected output on stderr and for internal error text.
func (l Line) wrongWords(o Outcome) string {
	for said := range strings.Lines(string(o.Stderr)) {
		waits := strings.HasPrefix(said, "leslie: waiting for the lock ")
		asked := strings.HasPrefix(said, "time=") && slices.Contains(l.Argv, "--debug")
		if !l.Stream && !waits && !asked {
			return "stderr: " + said
		}
		if InternalText.MatchString(said) {
			return "internal error text: " + said
		}
	}
	if o.Doc == nil || o.Doc.Error == nil {
		return ""
	}
	if found := InternalText.FindString(o.Doc.Error.Message + "\n" + o.Doc.Error.Hint); found != "" {
		return "internal error text: " + found
	}
	return ""
}

// wrongStream: JSON lines on stdout, an error as one line on stderr.
func (l Line) wrongStream(o Outcome) string {
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
