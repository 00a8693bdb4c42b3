package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/thread"
)

// This file finds what a command is about if the line does not name it: the thread or the
// merge in whose folder the caller works; and for a person at a terminal the only pending
// merge, open request, open question or objective that is not done. Nobody else is
// guessed for: a script or an agent gets T903 that lists what it may name.

// kindOfOnly has the words for records of which there may be only one.
type kindOfOnly struct{ one, several, none, of string }

func wordsOf(kind idKind) kindOfOnly {
	switch kind {
	case mergeIDs:
		return kindOfOnly{"the only pending merge", "several merges are pending", "no merge is pending", "one merge is pending"}
	case approvalIDs:
		return kindOfOnly{"the only open request", "several requests are open", "no request is open", "one request is open"}
	case questionIDs:
		return kindOfOnly{"the only open question", "several questions are open", "no question is open", "one question is open"}
	}
	return kindOfOnly{"the only objective that is not done", "several objectives are open", "no objective is open", "one objective is open"}
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

// meantRecord returns the record that a command is about: its first operand, else the one
// that is meant without. If there is none, it adds the fault.
func meantRecord(c *call, kind idKind) string {
	operand := c.line.cmd.operands[0].shown
	given := c.operand(0)
	if given == "" && len(c.line.operands) > 0 {
		return "" // it is empty, which is a fault already
	}
	if given != "" && (kind != approvalIDs && kind != questionIDs || !canPrompt(c) || len(c.faults) > 0) {
		return given
	}
	if kind == mergeIDs {
		if id := folderOf(c.who.dir, "merges"); id != "" {
			return id
		}
	}
	all, names := candidatesFor(c, kind, given)
	switch words := wordsOf(kind); {
	case given != "" && (!names || len(all) == 0):
		return given
	case canPrompt(c) && len(all) == 1 && len(c.faults) == 0:
		take(c, all[0], words, given, c.flags.Args().Tail()...)
		return all[0].ID
	case given != "":
		c.faultAmong(operand, given, words.several+" for "+given+": "+sentence(all), all)
	case canPrompt(c) && len(all) > 1:
		c.faultAmong(operand, "", words.several+": "+sentence(all), all)
	case canPrompt(c):
		c.fault(operand, "", "the operand "+operand+" is missing, and "+words.none)
	case len(all) == 1:
		c.faultAmong(operand, "", "the operand "+operand+" is missing ("+words.of+": "+sentence(all)+")", all)
	case len(all) > 1:
		c.faultAmong(operand, "", "the operand "+operand+" is missing ("+words.several+": "+sentence(all)+")", all)
	default:
		c.fault(operand, "", "the operand "+operand+" is missing")
	}
	return ""
}

// meantWith is meantRecord for a command whose second operand is a text: a lone operand
// that names no record is that text, and the record is the one that is meant.
func meantWith(c *call, kind idKind) (record, text string) {
	lone := c.operand(0)
	if lone == "" || len(c.line.operands) != 1 {
		return meantRecord(c, kind), c.operand(1)
	}
	shown, folder := c.line.cmd.operands[0].shown, ""
	if kind == mergeIDs {
		folder = folderOf(c.who.dir, "merges")
	}
	noID := slices.IndexFunc(c.faults, func(f fault) bool { return f.Field == shown })
	guessed := canPrompt(c) && len(c.faults) == min(noID+1, 1)
	if noID < 0 && (folder == "" && !guessed || namesRecord(c, kind, lone)) {
		return meantRecord(c, kind), ""
	}
	if folder != "" {
		c.faults = slices.DeleteFunc(c.faults, func(f fault) bool { return f.Field == shown })
		c.params["operands"] = []string{folder, lone}
		return folder, lone
	}
	all, _ := candidatesFor(c, kind, "")
	problem, end := quoted(lone)+" is no id, and ", ""
	if !guessed {
		problem, end = c.faults[noID].Problem+" (", ")"
	}
	switch words := wordsOf(kind); {
	case guessed && len(all) == 1:
		c.faults = nil
		take(c, all[0], words, "", lone)
		return all[0].ID, lone
	case len(all) == 0:
		problem += words.none
	case len(all) == 1:
		problem += words.of + ": " + sentence(all)
	default:
		problem += words.several + ": " + sentence(all)
	}
	c.faults = slices.DeleteFunc(c.faults, func(f fault) bool { return f.Field == shown })
	c.faultAmong(shown, lone, problem+end, all)
	if guessed {
		return "", lone
	}
	return lone, ""
}

// namesRecord reports whether an operand stands for a record, or a thread for its question.
// What begins like the id of a record is no text, even if it names none.
func namesRecord(c *call, kind idKind, operand string) bool {
	prefix := map[idKind]string{mergeIDs: thread.PrefixMerge, questionIDs: thread.PrefixQuestion}[kind]
	if strings.HasPrefix(operand, prefix) {
		return true
	}
	project, err := app.Open(c.who.dir, environment(c))
	if err != nil {
		return true
	}
	named, err := app.Named(project.Call(c.ctx, c.caller(), app.Request{}), string(kind), operand)
	return named || err != nil
}

// take says which record is taken, the only one or the only one of a thread, and records
// it like an operand in front of the others.
func take(c *call, one codes.Candidate, words kindOfOnly, of string, others ...string) {
	c.meansNothing("without an id", "request-id", "expect-revision")
	c.params["operands"] = append([]string{one.ID}, others...)
	text := one.String() + " is " + words.one
	if of != "" {
		text += " of " + of
	}
	rendering{c}.aside(text)
}

// faultAmong adds a fault that lists what the caller may name.
func (c *given) faultAmong(field, value, problem string, all []codes.Candidate) {
	f := fault{Field: field, Value: value, Problem: problem}
	for _, one := range all {
		f.Allowed = append(f.Allowed, one.ID)
	}
	c.faults = append(c.faults, f)
}

// candidatesFor returns what a command without an operand may mean, or with a thread as
// the operand those of that thread; ok is false if the operand names no thread, or a
// record of its own. It writes no log and drops its warnings: the call itself reads the
// store next, or fails for another reason.
func candidatesFor(c *call, kind idKind, of string) (all []codes.Candidate, ok bool) {
	project, err := app.Open(c.who.dir, environment(c))
	if err != nil {
		return nil, false
	}
	all, ok, err = app.Candidates(project.Call(c.ctx, c.caller(), app.Request{}), string(kind), of)
	return all, ok && err == nil
}

// folderOf returns the thread ("threads") or the merge ("merges") in whose folder of the
// store a folder is, "" for none.
func folderOf(dir, kind string) string {
	parts := strings.Split(filepath.ToSlash(dir), "/")
	for i := len(parts) - 3; i >= 0; i-- {
		if slices.Equal(parts[i:i+2], []string{app.StoreFolder, kind}) && thread.ValidID(parts[i+2]) {
			return parts[i+2]
		}
	}
	return ""
}
