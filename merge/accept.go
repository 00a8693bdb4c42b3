package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// This file judges what an agent made of the conflicts of one file. The judge
// trusts nothing: an answer is taken when it can be shown that nothing was lost
// that the agent did not give a reason for, and else the conflict stays open.

// Work is what an agent left behind for one file.
type Work struct {
	// Before and After are the file with markers as the agent got it and left it.
	// Of a file in conflict as a whole, Before is whatever it got.
	Before, After []byte
	Resolutions   []Resolution
}

// Accepted is the answer to one conflict, and the agent's reason, if it gave one.
type Accepted struct {
	ConflictID string
	Decision   Decision
	Reason     string
}

// Judgement is every answer, or why none is taken.
type Judgement struct {
	Accepted []Accepted
	// Refused is a sentence that tells the agent what to do better.
	Refused string
}

// ByAgent is the How of an agent's decisions.
const ByAgent = "agent"

// Accept judges an agent's work on a change and its open conflicts, which are
// picked from conflicts (all of Plan.Conflicts will do).
//
// If After differs from Before it is the answer, and the resolutions give the
// reasons; where it can be cut into answers in several ways, resolutions that
// say the same decide. Otherwise the resolutions are the answer. The answers are
// accepted only together, when every open conflict has one, no marker is left,
// every byte outside the conflicts is as it was, each line that a side added in a
// conflict is in its answer or the conflict has a reason, and a JSON file of
// which every version parses still does. Choices that leave out versions which
// are not shown as text want a reason too.
//
// That the inputs have not moved meanwhile is the caller's to check.
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

// judge looks at the work on one file. Its errors are sentences for the agent.
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

// know takes the resolutions of open conflicts; others are a mistake.
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

// texts is the answer to every open conflict, each a part of the file.
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
		return nil, refusal(fmt.Sprintf("A conflict marker is left in line %d of the merged file; replace each conflict, markers included, by its answer.", n))
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
		return refusal("It cannot be told which lines of the merged file answer which conflict; give each answer in resolutions.json, with choice and text.")
	case m.line > 0:
		return refusal(fmt.Sprintf("Line %d of the merged file lies outside the conflicts and was changed; change nothing but the conflicts.", m.line))
	default:
		return refusal("A line between two conflicts was changed in the merged file; change nothing but the conflicts.")
	}
}

func (j *judge) marked() Marked { return j.change.Marked(j.all) }

// byChoice is the answers that the resolutions give.
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

// choice is the decision that a resolution is.
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

// answered is the merge with these answers.
func (j *judge) answered(texts [][]byte) *Result {
	var answers []Answer
	for i, hunk := range j.change.Merge.Conflicts() {
		answers = append(answers, Answer{hunk, texts[i], ByAgent})
	}
	return j.change.Merge.Answered(answers...)
}

// parts judges the answers to the conflicts of a file.
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

// texts are the sides that have anything.
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
	return Accepted{d.ID, decision, strings.TrimSpace(j.given[d.ID].Reason)}
}

func (j *judge) reasoned(d Conflict) bool { return strings.TrimSpace(j.given[d.ID].Reason) != "" }

// complete refuses an answer that lacks a line which a side added, unless there
// is a reason.
func (j *judge) complete(d Conflict, answer []byte) error {
	if j.reasoned(d) {
		return nil
	}
	if line, thread := d.lost(answer); thread != "" {
		return refusal(fmt.Sprintf("%s lost the line %q of %s; keep it, or give a reason in resolutions.json.", j.name(d), inert(line), thread))
	}
	return nil
}

// lost is the first line that a side added and an answer lacks, and whose it is;
// how lines end does not count. A line that a side put in beside one that the
// base has already must be there once more than the other sides left it.
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

// countsOf counts lines without their ends.
func countsOf(text string) map[string]int {
	out := map[string]int{}
	for line := range strings.Lines(text) {
		out[strings.TrimRight(line, "\r\n")]++
	}
	return out
}

// parses refuses JSON that is broken though every version of it was not.
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
		return refusal(fmt.Sprintf("With these answers %s is no valid JSON any more, though every version of it was.", j.path()))
	}
	return nil
}

// whole judges the answer to a file that is in conflict as a whole.
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

// wholeChoice is the decision about a whole file. An edited file is its text
// where the conflict is one of texts; what was changed here and deleted there
// wants a word.
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

// outcome is the text that a decision about a whole file leaves, and the
// versions that are there; shown is false if one of them is not shown.
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
