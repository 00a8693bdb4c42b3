package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// This file checks an agent's answers to the conflicts of one file. It trusts
// nothing: it accepts an answer only if it can prove that nothing was lost for which
// the agent gave no reason. Otherwise the conflict stays open.

// Work is the output of an agent for one file.
type Work struct {
	// Before and After are the file with markers as the agent received it and left
	// it. If the whole file is in conflict, Before is whatever the agent received.
	Before, After []byte
	Resolutions   []Resolution
}

// Accepted is the answer to one conflict, with the agent's reason, if it gave one.
type Accepted struct {
	ConflictID string
	Decision   Decision
}

// Judgement has all answers, or the reason why none is accepted.
type Judgement struct {
	Accepted []Accepted
	// Refused is a sentence that tells the agent what to correct.
	Refused string
}

// ByAgent is the How of an agent's decisions.
const ByAgent = "agent"

// Accept checks an agent's work on the open conflicts of a change. It selects them
// from conflicts, so callers may pass all of Plan.Conflicts.
//
// If After differs from Before, After is the answer and the resolutions give the
// reasons; if After can be split into answers in several ways, resolutions with the
// same result decide. Otherwise the resolutions are the answer. Accept accepts all
// answers or none: every open conflict needs an answer, no marker may be left, every
// byte outside the conflicts must be unchanged, each line that a side added in a
// conflict must be in its answer unless the conflict has a reason, and a JSON file
// whose versions all parse must still parse. Choices that drop a version which is
// not shown as text need a reason, too.
//
// The caller must check that the inputs have not changed in between.
func Accept(c Change, conflicts []Conflict, w Work) Judgement {
	j := judge{change: c, all: c.own(conflicts), work: w, given: map[string]Resolution{}}
	for _, d := range j.all {
		if d.Status == Unresolved {
			j.open = append(j.open, d)
		}
	}
	accepted, err := j.judge()
	if err != nil {
		return Judgement{Refused: err.Error()}
	}
	return Judgement{Accepted: accepted}
}

// judge checks the work on one file. Its errors are sentences for the agent.
type judge struct {
	change    Change
	all, open []Conflict
	work      Work
	given     map[string]Resolution
}

func (j *judge) judge() ([]Accepted, error) {
	if len(j.open) == 0 {
		return nil, refusal(fmt.Sprintf("No conflict of %s is open.", j.path()))
	}
	if err := j.know(); err != nil {
		return nil, err
	}
	if j.open[0].Whole() {
		return j.whole(j.open[0])
	}
	texts, err := j.texts()
	if err != nil {
		return nil, err
	}
	return j.parts(texts)
}

func (j *judge) path() string { return inert(j.change.Path) }

// know records the resolutions, which must be about open conflicts.
func (j *judge) know() error {
	for _, r := range j.work.Resolutions {
		if !slices.ContainsFunc(j.open, func(d Conflict) bool { return d.ID == r.ConflictID }) {
			return refusal(fmt.Sprintf("resolutions.json answers %q, which is no open conflict of %s.", r.ConflictID, j.path()))
		}
		if _, twice := j.given[r.ConflictID]; twice {
			return refusal(fmt.Sprintf("resolutions.json answers %q twice.", r.ConflictID))
		}
		j.given[r.ConflictID] = r
	}
	return nil
}

func (j *judge) edited() bool { return !bytes.Equal(j.work.Before, j.work.After) }

// texts returns the answer to every open conflict, each a part of the file.
func (j *judge) texts() ([][]byte, error) {
	chosen, err := j.byChoice()
	if !j.edited() {
		return chosen, err
	}
	if err == nil {
		if merged, clean := j.answered(chosen).Merged(); clean && bytes.Equal(merged, j.work.After) {
			return chosen, nil
		}
	}
	if n := j.marked().left(j.work.After, true); n > 0 {
		return nil, refusal(fmt.Sprintf("A conflict marker is left in line %d of the merged file; replace each conflict, including its markers, by its answer.", n))
	}
	texts, wrong := aligned(j.work.After, j.change.Merge.segments())
	if wrong != nil {
		return nil, wrong.sentence()
	}
	return texts, nil
}

func (m *misfit) sentence() error {
	switch {
	case m.ambiguous:
		return refusal("It is ambiguous which lines of the merged file answer which conflict; give each answer in resolutions.json, with choice and text.")
	case m.line > 0:
		return refusal(fmt.Sprintf("Line %d of the merged file is outside the conflicts and was changed; change only the conflicts.", m.line))
	default:
		return refusal("A line between two conflicts was changed in the merged file; change only the conflicts.")
	}
}

func (j *judge) marked() Marked { return j.change.Marked(j.all) }

// byChoice returns the answers given by the resolutions.
func (j *judge) byChoice() ([][]byte, error) {
	var out [][]byte
	hunks := j.change.Merge.Conflicts()
	for i, d := range j.open {
		decision, err := j.choice(d)
		if err != nil {
			return nil, err
		}
		out = append(out, j.change.Merge.ended(hunks[i], d.Text(decision)))
	}
	return out, nil
}

// choice returns the decision given by a resolution.
func (j *judge) choice(d Conflict) (Decision, error) {
	r := j.given[d.ID]
	if r.Choice == "" {
		return Decision{}, refusal(fmt.Sprintf("%s is not answered.", j.name(d)))
	}
	if err := d.Fits(r.Choice); err != nil {
		return Decision{}, refusal(err.Error() + ".")
	}
	if r.Choice == TakeText && !r.HasText {
		return Decision{}, refusal(fmt.Sprintf("%s has the choice text but no text.", j.name(d)))
	}
	decision := Decision{Take: r.Choice, How: ByAgent}
	if r.Choice == TakeText {
		decision.Text = []byte(r.Text)
	}
	return decision, nil
}

func (j *judge) name(d Conflict) string {
	return fmt.Sprintf("Conflict %s (%d of %d) in %s", d.ID, d.Hunk, d.Of, j.path())
}

// answered returns the merge with these answers.
func (j *judge) answered(texts [][]byte) *Result {
	var answers []Answer
	for i, hunk := range j.change.Merge.Conflicts() {
		answers = append(answers, Answer{hunk, texts[i], ByAgent})
	}
	return j.change.Merge.Answered(answers...)
}

// parts checks the answers to the conflicts of a file.
func (j *judge) parts(texts [][]byte) ([]Accepted, error) {
	var out []Accepted
	marked := j.marked()
	for i, d := range j.open {
		if n := marked.left(texts[i], true); n > 0 {
			return nil, refusal(fmt.Sprintf("%s: line %d of the answer is a conflict marker.", j.name(d), n))
		}
		if err := j.complete(d, texts[i]); err != nil {
			return nil, err
		}
		out = append(out, j.accepted(d, Decision{Take: TakeText, Text: texts[i], How: ByAgent}))
	}
	merged, _ := j.answered(texts).Merged()
	return out, j.parses(merged, j.change.Merge.texts())
}

// texts returns the sides that are not empty.
func (r *Result) texts() []string {
	var out []string
	for _, side := range r.sides {
		if side.text != "" {
			out = append(out, side.text)
		}
	}
	return out
}

func (j *judge) accepted(d Conflict, decision Decision) Accepted {
	decision.Reason = strings.TrimSpace(j.given[d.ID].Reason)
	return Accepted{d.ID, decision}
}

func (j *judge) reasoned(d Conflict) bool { return strings.TrimSpace(j.given[d.ID].Reason) != "" }

// complete refuses an answer without a line that a side added, unless there is a
// reason.
func (j *judge) complete(d Conflict, answer []byte) error {
	if j.reasoned(d) {
		return nil
	}
	if line, thread := d.lost(answer); thread != "" {
		return refusal(fmt.Sprintf("%s lost the line %q of %s; keep it, or give a reason in resolutions.json.", j.name(d), inert(line), thread))
	}
	return nil
}

// lost returns the first line that a side added and that is missing from an answer,
// with the thread that added it. It ignores line endings. If a side added another
// copy of a line that the base has, the answer must have one more copy than the
// other sides left.
func (d Conflict) lost(answer []byte) (line, thread string) {
	base, have := countsOf(d.Base.Text), countsOf(string(answer))
	sides := make([]map[string]int, len(d.Sides))
	for i, s := range d.Sides {
		sides[i] = countsOf(s.Text)
	}
	for i, s := range d.Sides {
		for text := range strings.Lines(s.Text) {
			text = strings.TrimRight(text, "\r\n")
			added := sides[i][text] - base[text]
			if added <= 0 {
				continue
			}
			left := base[text]
			for k := range sides {
				left = min(left, sides[k][text])
			}
			if have[text] < added+left {
				return text, s.Thread
			}
		}
	}
	return "", ""
}

// countsOf counts lines without their line endings.
func countsOf(text string) map[string]int {
	out := map[string]int{}
	for line := range strings.Lines(text) {
		out[strings.TrimRight(line, "\r\n")]++
	}
	return out
}

// parses refuses JSON that does not parse although every version of it does.
func (j *judge) parses(merged []byte, versions []string) error {
	if strings.ToLower(path.Ext(j.change.Path)) != ".json" {
		return nil
	}
	for _, v := range versions {
		if !json.Valid([]byte(v)) {
			return nil
		}
	}
	if !json.Valid(merged) {
		return refusal(fmt.Sprintf("With these answers %s is no longer valid JSON, although every version of it was.", j.path()))
	}
	return nil
}

// whole checks the answer to a file that is in conflict as a whole.
func (j *judge) whole(d Conflict) ([]Accepted, error) {
	decision, err := j.wholeChoice(d)
	if err != nil {
		return nil, err
	}
	text, versions, shown := d.outcome(decision)
	switch {
	case d.Kind == Mode || d.Kind == PathClash || decision.Take == TakeKeep:
	case !shown && !j.reasoned(d):
		return nil, refusal(fmt.Sprintf("%s leaves out a version that cannot be shown; give a reason in resolutions.json.", j.name(d)))
	default:
		if err := j.complete(d, text); err != nil {
			return nil, err
		}
	}
	if decision.Take == TakeText {
		if err := j.parses(text, versions); err != nil {
			return nil, err
		}
	}
	return []Accepted{j.accepted(d, decision)}, nil
}

// wholeChoice returns the decision about a whole file. An edited file is the answer
// if the conflict is between texts; a modify/delete conflict needs an explicit
// choice.
func (j *judge) wholeChoice(d Conflict) (Decision, error) {
	r := j.given[d.ID]
	textual := d.Kind == Content || d.Kind == AddAdd
	byFile := j.edited() && (textual || d.Kind == ModifyDelete && r.Choice == TakeText)
	if byFile {
		return Decision{Take: TakeText, Text: j.work.After, How: ByAgent}, nil
	}
	if r.Choice == TakeText && (d.Kind == BinaryFile || d.Kind == TooLarge) {
		return Decision{}, refusal(fmt.Sprintf("%s cannot be answered by a text; choose a side.", j.name(d)))
	}
	decision, err := j.choice(d)
	if err != nil && j.edited() && r.Choice == "" {
		return Decision{}, refusal(fmt.Sprintf("%s has to be answered in resolutions.json; choose keep or delete, or a side.", j.name(d)))
	}
	return decision, err
}

// outcome returns the text that a decision about a whole file leaves, and the
// existing versions; shown is false if one of them is not shown as text.
func (d Conflict) outcome(decision Decision) (text []byte, versions []string, shown bool) {
	shown = true
	for _, s := range d.Sides {
		if !s.Absent {
			versions = append(versions, s.Text)
			shown = shown && s.Lines != Range{}
		}
	}
	switch decision.Take {
	case TakeText:
		return decision.Text, versions, shown
	case TakeDelete:
		return nil, versions, shown
	case TakeBase:
		return []byte(d.Base.Text), versions, shown
	}
	side, _ := d.pick(decision.Take)
	return []byte(side.Text), versions, shown
}
