package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/thread"
)

// This file finds what a command is about if the line does not name it: the thread or the
// merge in whose folder the caller works; and for a person at a terminal the only pending
// merge or objective that is not done. Requests and questions are shown there, and asked
// about (decide.go, answer.go). Nobody else is
// guessed for: a script or an agent gets T903 that lists what it may name.

// inferWords has the words for records of which there may be only one.
type inferWords struct{ one, several, none, of string }

func wordsOf(kind IDKind) inferWords {
	switch kind {
	case MergeIDs:
		return inferWords{"the only pending merge", "several merges are pending", "no merge is pending",
			"one merge is pending"}
	case ApprovalIDs:
		return inferWords{"the only open request", "several requests are open", "no request is open",
			"one request is open"}
	case QuestionIDs:
		return inferWords{"the only open question", "several questions are open", "no question is open",
			"one question is open"}
	}
	return inferWords{"the only objective that is not marked done", "several objectives are not marked done",
		"there is none that is not marked done", "one objective is not marked done"}
}

// maxSentence is how many candidates a sentence names.
const maxSentence = 5

// sentence names the first candidates: "a (x), b (y), and 3 more".
func sentence(all []codes.Candidate) string {
	var parts []string
	for _, one := range all[:min(len(all), maxSentence)] {
		parts = append(parts, one.String())
	}
	if more := len(all) - maxSentence; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// MeantRecord returns the record that a command is about: its first operand, else the one
// that is meant without. If there is none, it adds the fault.
func (c *Call) MeantRecord(kind IDKind) string {
	operand := c.Line.Cmd.Operands[0].Shown
	given := c.Operand(0)
	if given == "" && len(c.Line.Operands) > 0 {
		return "" // it is empty, which is a fault already
	}
	if given != "" {
		return given
	}
	if kind == MergeIDs {
		if id := idFromPath(c.Who.Dir, "merges"); id != "" {
			return id
		}
	}
	all, _ := c.CandidatesFor(kind, "")
	switch words := wordsOf(kind); {
	case c.CanPrompt() && len(all) == 1 && len(c.Faults) == 0:
		c.take(all[0], words)
		return all[0].ID
	case c.CanPrompt() && len(all) > 1:
		c.faultAmong(operand, "", words.several+": "+sentence(all), all)
	case c.CanPrompt():
		c.Fault(operand, "", "the operand "+operand+" is missing, and "+words.none)
	case len(all) == 1:
		c.faultAmong(operand, "", "the operand "+operand+" is missing ("+words.of+": "+sentence(all)+")", all)
		if n := len(c.Faults); n > 0 && !c.Line.Cmd.Writes {
			c.Faults[n-1].Hint, c.Faults[n-1].Next = c.usageHint(), "leslie "+c.Line.Cmd.Name+" "+all[0].ID
		}
	case len(all) > 1:
		c.faultAmong(operand, "", "the operand "+operand+" is missing ("+words.several+": "+sentence(all)+")", all)
	default:
		c.Fault(operand, "", "the operand "+operand+" is missing")
	}
	return ""
}

// MeantWith is MeantRecord for a command whose second operand is a text: a lone operand
// that names no record is that text, and the record is the one that is meant.
func (c *Call) MeantWith(kind IDKind) (record, text string) {
	lone := c.Operand(0)
	if lone == "" || len(c.Line.Operands) != 1 {
		return c.MeantRecord(kind), c.Operand(1)
	}
	shown, folder := c.Line.Cmd.Operands[0].Shown, ""
	if kind == MergeIDs {
		folder = idFromPath(c.Who.Dir, "merges")
	}
	noID := slices.IndexFunc(c.Faults, func(f Fault) bool { return f.Field == shown })
	guessed := c.CanPrompt() && len(c.Faults) == min(noID+1, 1)
	if noID < 0 && (folder == "" && !guessed || c.NamesRecord(kind, lone)) {
		return c.MeantRecord(kind), ""
	}
	if folder != "" {
		c.Faults = slices.DeleteFunc(c.Faults, func(f Fault) bool { return f.Field == shown })
		c.Params["operands"] = []string{folder, lone}
		return folder, lone
	}
	all, _ := c.CandidatesFor(kind, "")
	problem, end := strconv.Quote(lone)+" is no id, and ", ""
	if !guessed {
		problem, end = c.Faults[noID].Problem+" (", ")"
	}
	switch words := wordsOf(kind); {
	case guessed && len(all) == 1:
		c.Faults = nil
		c.take(all[0], words, lone)
		return all[0].ID, lone
	case len(all) == 0:
		problem += words.none
	case len(all) == 1:
		problem += words.of + ": " + sentence(all)
	default:
		problem += words.several + ": " + sentence(all)
	}
	c.Faults = slices.DeleteFunc(c.Faults, func(f Fault) bool { return f.Field == shown })
	c.faultAmong(shown, lone, problem+end, all)
	if guessed {
		return "", lone
	}
	return lone, ""
}

// NamesRecord reports whether an operand stands for a record, or a thread for its question.
// What begins like the id of a record is no text, even if it names none.
func (c *Call) NamesRecord(kind IDKind, operand string) bool {
	prefix := map[IDKind]string{MergeIDs: thread.PrefixMerge, QuestionIDs: thread.PrefixQuestion}[kind]
	if strings.HasPrefix(operand, prefix) {
		return true
	}
	project, err := app.Open(c.Who.Dir, c.Environment())
	if err != nil {
		return true
	}
	named, err := project.Call(c.Ctx, c.Caller(), app.Request{}).NamesRecord(string(kind), operand)
	return named || err != nil
}

// take says which record is taken, the only one, and records it like an operand in front of
// the others.
func (c *Call) take(one codes.Candidate, words inferWords, others ...string) {
	c.MeansNothing("without an id", "request-id", "expect-revision")
	c.Params["operands"] = append([]string{one.ID}, others...)
	c.aside(one.String() + " is " + words.one)
}

// faultAmong adds a fault that lists what the caller may name.
func (c *Given) faultAmong(field, value, problem string, all []codes.Candidate) {
	if value == "" && missedBy(c.Line, field) {
		return
	}
	f := Fault{Field: field, Value: value, Problem: problem}
	for _, one := range all {
		f.Allowed = append(f.Allowed, one.ID)
	}
	c.Faults = append(c.Faults, f)
}

// CandidatesFor returns what a command without an operand may mean, or with a thread as
// the operand those of that thread; ok is false if the operand names no thread, or a
// record of its own. It writes no log and drops its warnings: the call itself reads the
// store next, or fails for another reason.
func (c *Call) CandidatesFor(kind IDKind, of string) (all []codes.Candidate, ok bool) {
	project, err := app.Open(c.Who.Dir, c.Environment())
	if err != nil {
		return nil, false
	}
	all, ok, err = project.Call(c.Ctx, c.Caller(), app.Request{}).Candidates(string(kind), of)
	return all, ok && err == nil
}

// idFromPath returns the thread ("threads") or the merge ("merges") in whose folder of the
// store a folder is, "" for none.
func idFromPath(dir, kind string) string {
	parts := strings.Split(filepath.ToSlash(dir), "/")
	for i := len(parts) - 3; i >= 0; i-- {
		if slices.Equal(parts[i:i+2], []string{app.StoreFolder, kind}) && thread.ValidID(parts[i+2]) {
			return parts[i+2]
		}
	}
	return ""
}
