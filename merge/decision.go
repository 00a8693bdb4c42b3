package merge

import (
	"maps"
	"slices"
	"strings"
)

// This file says what may be chosen for a conflict, and what comes of it.

// Decision is what somebody chose for one conflict, or for a whole path.
type Decision struct {
	// Take is one of the words below, or the id of a thread that takes part.
	Take string
	// Text is the answer when Take is TakeText.
	Text []byte
	How  string // who or what decided: "user", "agent", ...
	// Actor and Reason are for the record; they mean nothing here.
	Actor, Reason string
}

// The choices that are not a thread's id.
const (
	TakeOurs   = "ours"   // the target's
	TakeTheirs = "theirs" // the sources', if they bring one and the same
	TakeBase   = "base"   // what they began from
	TakeBoth   = "both"   // every side that changed something, one after the other
	TakeDelete = "delete" // no such file
	TakeKeep   = "keep"   // modify/delete: the one version that is left; path: the target as it is
	TakeText   = "text"   // Decision.Text
)

// InvalidChoice says why a choice does not fit a conflict. It is an error of the caller.
type InvalidChoice struct {
	Path       string
	ConflictID string // "" when the path is meant
	Take       string
	Reason     string // a clause that reads on after "because"
	// Threads are the ids that may be named instead, for an ambiguous choice.
	Threads []string
}

// Error is a sentence.
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

// Fits tells whether a choice answers the conflict: nil, or an *InvalidChoice. It is the
// one rule: Make ignores a decision that does not fit.
func (d Conflict) Fits(take string) error {
	if u := d.misfit(take); u != nil {
		return u
	}
	return nil
}

// Takes are the choices other than a text that answer the conflict: the words, and
// the threads instead of an ambiguous "theirs".
func (d Conflict) Takes() []string {
	all := []string{TakeOurs, TakeTheirs, TakeBase, TakeBoth, TakeDelete, TakeKeep}
	if d.misfit(TakeTheirs) != nil {
		all = append(all, d.threads(d.Sides[1:])...)
	}
	return slices.DeleteFunc(all, func(take string) bool { return d.misfit(take) != nil })
}

func (d Conflict) misfit(take string) *InvalidChoice {
	if d.Kind == PathClash && take != TakeOurs && take != TakeKeep && take != d.Sides[0].Thread {
		return d.invalidChoice(take, "nothing is written there; choose ours, and rename the file at its source to bring it in")
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

// pick is the side that a choice names.
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
		return ConflictSide{}, d.invalidChoice(take, "it is no choice and no thread that takes part", d.threads(d.Sides)...)
	}
	return d.Sides[i], nil
}

// only is the one version that these sides hold.
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

// Text is what a decision puts in the place of a conflict that is a part of its
// file. The decision has to fit.
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

// both is every side that changed something, each text once.
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

// eolOf is how lines end, by the first text that tells.
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

// ended is an answer to a hunk with an end to its last line where lines follow.
func (r *Result) ended(hunk int, text []byte) []byte {
	if len(text) == 0 || text[len(text)-1] == '\n' || hunk == len(r.Hunks)-1 {
		return text
	}
	return append(slices.Clone(text), r.markerEnding(r.Hunks[hunk])...)
}

// decided is the text that a decision among these gives the conflict, if one
// does and fits.
func (d Conflict) decided(decisions map[string]Decision) ([]byte, bool) {
	decision, ok := decisions[d.ID]
	if !ok || d.Fits(decision.Take) != nil {
		return nil, false
	}
	return d.Text(decision), true
}

// chosen is the file that a fitting decision gives the whole path; its content
// too where that is new.
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

// Decide is what a person's or an agent's word does to the decisions: have with
// this one in it and those out of it that it replaces. what is the id of a
// conflict, or a path. Of a path, text and delete are about the whole file, and
// so is every choice where it is in conflict as a whole; any other choice is
// taken for each of its conflicts, so that what merged cleanly stays.
//
// Errors: an *InvalidChoice when the choice does not fit, or there is no such conflict.
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
