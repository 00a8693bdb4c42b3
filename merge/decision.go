package merge

import (
	"maps"
	"slices"
	"strings"
)

// This file defines the choices for a conflict and their results.

// Decision is the choice for one conflict, or for a whole path.
type Decision struct {
	// Take is one of the words below, or the id of a thread in the conflict.
	Take string
	// Text is the answer if Take is TakeText.
	Text []byte
	How  string // who or what decided: "user", "agent", ...
	// Actor and Reason are for the record; this package does not use them.
	Actor, Reason string
}

// The choices that are not a thread's id.
const (
	TakeOurs   = "ours"   // the target's version
	TakeTheirs = "theirs" // the sources' version, if they all have the same
	TakeBase   = "base"   // the base
	TakeBoth   = "both"   // every changed side, one after the other
	TakeDelete = "delete" // no such file
	TakeKeep   = "keep"   // modify/delete: the remaining version; path: the target unchanged
	TakeText   = "text"   // Decision.Text
)

// InvalidChoice says why a choice does not fit a conflict. It is a mistake of the
// caller.
type InvalidChoice struct {
	Path       string
	ConflictID string // "" for a decision about the path
	Take       string
	Reason     string // a clause that could follow "because"
	// Threads has the ids to choose from instead of an ambiguous choice.
	Threads []string
}

// Error returns a sentence.
func (u *InvalidChoice) Error() string {
	at := u.Path
	if u.ConflictID != "" {
		at += " (" + u.ConflictID + ")"
	}
	return "'" + u.Take + "' does not fit the conflict in " + at + ": " + u.Reason
}

func (d Conflict) invalidChoice(take, reason string, threads ...string) *InvalidChoice {
	return &InvalidChoice{Path: d.Path, ConflictID: d.ID, Take: take, Reason: reason, Threads: threads}
}

// Fits returns nil if a choice can answer the conflict, otherwise an *InvalidChoice.
// Make ignores decisions that do not fit.
func (d Conflict) Fits(take string) error {
	if u := d.misfit(take); u != nil {
		return u
	}
	return nil
}

// Takes returns the choices other than a text that can answer the conflict: the
// words, and the threads instead of an ambiguous "theirs".
func (d Conflict) Takes() []string {
	all := []string{TakeOurs, TakeTheirs, TakeBase, TakeBoth, TakeDelete, TakeKeep}
	if d.misfit(TakeTheirs) != nil {
		all = append(all, d.threads(d.Sides[1:])...)
	}
	return slices.DeleteFunc(all, func(take string) bool { return d.misfit(take) != nil })
}

func (d Conflict) misfit(take string) *InvalidChoice {
	if d.Kind == PathClash && !d.choice && take != TakeOurs && take != TakeKeep && take != d.Sides[0].Thread {
		return d.invalidChoice(take, "the path cannot be written; choose ours, or rename the file in its source to merge it")
	}
	switch take {
	case TakeText:
		if d.Kind == Mode {
			return d.invalidChoice(take, "only the executable bits differ; choose a side")
		}
	case TakeBase:
		return d.misfitBase(take)
	case TakeBoth:
		if d.Whole() {
			return d.invalidChoice(take, "the file is in conflict as a whole; choose one side or give its text")
		}
		if key, twice := d.rowTwice(); twice {
			return d.invalidChoice(take, "the table would have more than one row about '"+key+"'; choose one side or give the text")
		}
	case TakeDelete:
		if !d.Whole() || d.Kind == Mode {
			return d.invalidChoice(take, "nobody deleted the file")
		}
	default:
		_, u := d.pick(take)
		return u
	}
	return nil
}

func (d Conflict) misfitBase(take string) *InvalidChoice {
	switch {
	case d.Kind == Mode:
		return d.invalidChoice(take, "only the executable bits differ; choose a side")
	case d.Whole() && d.Base.Hash == "":
		return d.invalidChoice(take, "the sides have no common base")
	}
	return nil
}

// pick returns the side that a choice names.
func (d Conflict) pick(take string) (ConflictSide, *InvalidChoice) {
	switch take {
	case TakeOurs:
		return d.Sides[0], nil
	case TakeTheirs:
		return d.only(take, d.Sides[1:])
	case TakeKeep:
		if d.Kind == PathClash {
			return d.Sides[0], nil
		}
		if d.Kind != ModifyDelete {
			return ConflictSide{}, d.invalidChoice(take, "nobody deleted the file")
		}
		return d.only(take, slices.DeleteFunc(slices.Clone(d.Sides), func(s ConflictSide) bool { return s.Absent }))
	}
	i := slices.IndexFunc(d.Sides, func(s ConflictSide) bool { return s.Thread == take })
	if i < 0 {
		return ConflictSide{}, d.invalidChoice(take, "it is neither a choice nor a thread of this conflict", d.threads(d.Sides)...)
	}
	return d.Sides[i], nil
}

// only returns the version of these sides, which must all be the same.
func (d Conflict) only(take string, sides []ConflictSide) (ConflictSide, *InvalidChoice) {
	for _, s := range sides {
		if s.identity() != sides[0].identity() {
			threads := d.threads(sides)
			return ConflictSide{}, d.invalidChoice(take, "it is ambiguous; name one of "+strings.Join(threads, ", "), threads...)
		}
	}
	return sides[0], nil
}

func (d Conflict) threads(sides []ConflictSide) []string {
	var out []string
	for _, s := range sides {
		if !slices.Contains(out, s.Thread) {
			out = append(out, s.Thread)
		}
	}
	return out
}

// Text returns the text with which a decision replaces a conflict that is a part of
// its file. The decision must fit.
func (d Conflict) Text(decision Decision) []byte {
	switch decision.Take {
	case TakeText:
		return decision.Text
	case TakeBase:
		return []byte(d.Base.Text)
	case TakeBoth:
		return []byte(d.both())
	}
	side, _ := d.pick(decision.Take)
	return []byte(side.Text)
}

// both returns the text of every changed side, without repeating equal texts.
func (d Conflict) both() string {
	var seen []string
	out := ""
	for i, s := range d.Sides {
		if slices.Contains(seen, s.Text) || i == 0 && s.Text == d.Base.Text {
			continue
		}
		seen = append(seen, s.Text)
		if out != "" && s.Text != "" && !strings.HasSuffix(out, "\n") {
			out += eolOf(out, s.Text, d.Context.Before, d.Base.Text)
		}
		out += s.Text
	}
	return out
}

// eolOf returns the line ending of the first text that has one.
func eolOf(texts ...string) string {
	for _, text := range texts {
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			if i > 0 && text[i-1] == '\r' {
				return "\r\n"
			}
			return "\n"
		}
	}
	return "\n"
}

// ended returns an answer with a line ending after its last line if lines follow.
func (r *Result) ended(hunk int, text []byte) []byte {
	if len(text) == 0 || text[len(text)-1] == '\n' || hunk == len(r.Hunks)-1 {
		return text
	}
	return append(slices.Clone(text), r.markerEnding(r.Hunks[hunk])...)
}

// decided returns the text that these decisions give the conflict, if one of them
// does and fits.
func (d Conflict) decided(decisions map[string]Decision) ([]byte, bool) {
	decision, ok := decisions[d.ID]
	if !ok || d.Fits(decision.Take) != nil {
		return nil, false
	}
	return d.Text(decision), true
}

// chosen returns the file that a fitting decision gives the whole path, and its
// content if that is new.
func (f *filePlan) chosen(d Conflict, decision Decision) (File, []byte) {
	switch decision.Take {
	case TakeText:
		executable, _ := f.executable()
		return fileOf(decision.Text, executable), append([]byte{}, decision.Text...)
	case TakeDelete:
		return File{}, nil
	case TakeBase:
		return f.sides[0].base.File, nil
	}
	picked, _ := d.pick(decision.Take)
	if d.Kind == Mode {
		file := f.folded
		file.Executable = picked.Executable
		if picked.Absent {
			file = File{}
		}
		return file, nil
	}
	for _, file := range f.versions() {
		if file.Hash == picked.Hash && file.Executable == picked.Executable {
			return file, nil
		}
	}
	return File{}, nil
}

// Decide adds a decision to have, removes those that it replaces, and returns the
// result. what is the id of a conflict, or a path. For a path, text and delete decide
// the whole file, and so does every choice if the whole file is in conflict; any
// other choice applies to each of its conflicts, so cleanly merged parts stay.
//
// Errors: an *InvalidChoice if the choice does not fit or there is no such conflict.
func (p *Plan) Decide(have map[string]Decision, what string, d Decision) (map[string]Decision, error) {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]Decision{}
	}
	if i := slices.IndexFunc(p.Conflicts, func(c Conflict) bool { return c.ID == what }); i >= 0 {
		c, _ := p.change(p.Conflicts[i].Path)
		delete(out, c.ID)
		return out, decide(out, p.Conflicts[i], d)
	}
	c, ok := p.change(what)
	conflicts := p.conflictsAt(what)
	if !ok || len(conflicts) == 0 {
		return nil, &InvalidChoice{Path: what, Take: d.Take, Reason: "there is no such conflict"}
	}
	return out, p.decidePath(out, c, conflicts, d)
}

func (p *Plan) decidePath(out map[string]Decision, c Change, conflicts []Conflict, d Decision) error {
	delete(out, c.ID)
	for _, conflict := range conflicts {
		delete(out, conflict.ID)
	}
	if !conflicts[0].Whole() && (d.Take == TakeText || d.Take == TakeDelete) {
		out[c.ID] = d
		return nil
	}
	for _, conflict := range conflicts {
		if conflict.settled {
			continue
		}
		if err := decide(out, conflict, d); err != nil {
			return err
		}
	}
	return nil
}

func decide(out map[string]Decision, conflict Conflict, d Decision) error {
	if err := conflict.Fits(d.Take); err != nil {
		return err
	}
	out[conflict.ID] = d
	return nil
}
