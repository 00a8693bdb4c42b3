package merging

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/merge"
	"leslie/store"
	"leslie/thread"
)

// This file checks decisions against the plan and records them, for people, agents and
// commands alike.

// Answer is a decision about a conflict, by its id, or about a path.
type Answer struct {
	About    string
	Decision merge.Decision
}

// by returns an answer of the caller.
func (s *Session) by(about, take, reason string, text []byte) Answer {
	return Answer{about, merge.Decision{Take: take, Text: text, How: string(s.call.stamp().Authority()), Actor: s.call.Actor, Reason: reason}}
}

// recordOf converts a decision to the form that a pending merge stores.
func recordOf(d merge.Decision) thread.Decision {
	out := thread.Decision{Take: d.Take, How: d.How, Actor: d.Actor, Reason: d.Reason}
	if d.Take == merge.TakeText {
		out.Text = blobOf(d.Text)
	}
	return out
}

// Answer records the decisions of a resolver and plans again. A different decision that
// was recorded in the meantime stays: late reports that there was one.
// Errors: T903 for an answer that does not fit its conflict; T303 and T402 as for
// thread.State.Decide; those of a write.
func (s *Session) Answer(answers ...Answer) (late bool, err error) {
	a := &answering{Session: s, answers: answers, asked: true, known: maps.Clone(s.record.Decisions)}
	err = s.recordAnswers(a)
	return a.late, err
}

// recordAnswers records answers as their own operation and plans again.
func (s *Session) recordAnswers(a *answering) error {
	if err := a.rehearse(); err != nil {
		return err
	}
	if a.work != nil {
		if err := a.follow(); err != nil {
			return err
		}
	}
	if err := s.call.Update(s.record.Target, a.prepare(), a.rule); err != nil {
		return err
	}
	return s.replanned()
}

// replanned plans again from what is loaded. It loads again only if something that was
// not read before has moved.
func (p *Planning) replanned() error {
	err := p.replan()
	if errors.Is(err, errMoved) {
		err = p.load()
	}
	return err
}

// answering is a change of the recorded decisions.
type answering struct {
	*Session
	answers []Answer
	// asked: a resolver was asked when the recorded decisions were those in known.
	// Decisions that have changed since stay.
	asked    bool
	known    map[string]thread.Decision
	declined map[string]string // why an agent's answers were refused, by path
	late     bool              // another decision was recorded before an answer
	replaced int               // how many earlier decisions were replaced

	expected thread.Merge  // with the answers, as rehearsed
	work     *workFiles    // nil: they follow once the session ends
	edits    bool          // the answers are the edits of these files
	followed []followed    // work files that follow the answers
	steps    []thread.Step // which put them into place
}

// follow plans which work files follow the answers.
func (a *answering) follow() (err error) {
	a.know()
	decisions, err := a.decisionsOf(a.expected.Decisions)
	if err != nil {
		return err
	}
	made, err := a.inputs.plan(decisions)
	if err != nil {
		return err
	}
	plan := made.all
	if a.edits {
		if err := a.work.take(plan); err != nil {
			return err
		}
	}
	a.followed, err = a.work.follow(plan, func(path string) bool {
		return slices.ContainsFunc(a.answers, func(one Answer) bool { return one.About == path })
	})
	return err
}

// know remembers the decided texts, for the next plan.
func (a *answering) know() (texts [][]byte) {
	for _, one := range a.answers {
		if one.Decision.Take == merge.TakeText {
			a.texts[blobOf(one.Decision.Text)] = one.Decision.Text
			texts = append(texts, one.Decision.Text)
		}
	}
	return texts
}

// prepare returns a function that stages the decided texts and the work files, nil if
// there is none.
func (a *answering) prepare() func(*store.Stage) error {
	texts := a.know()
	if len(texts)+len(a.followed) == 0 {
		return nil
	}
	return func(stage *store.Stage) (err error) {
		for _, text := range texts {
			if _, err := stage.Put(text); err != nil {
				return err
			}
		}
		a.steps, err = writeWork(stage, a.record.ID, a.followed)
		return err
	}
}

// rehearse rejects invalid answers before their texts are staged.
func (a *answering) rehearse() error {
	return a.call.View(func(s *thread.State) (err error) {
		a.expected, err = a.decide(s, a.call.stamp())
		return err
	})
}

// rule changes the decisions of the recorded merge.
func (a *answering) rule(s *thread.State, stamp thread.Stamp) error {
	before, err := s.Merge(string(a.record.ID))
	if err != nil {
		return err
	}
	rec, err := a.decide(s, stamp)
	if err != nil {
		return err
	}
	// What somebody else decided meanwhile is followed by the next decision.
	if maps.Equal(rec.Decisions, a.expected.Decisions) && maps.Equal(before.Work, a.expected.Work) {
		rec = placeWork(s, rec, a.followed, a.steps)
	}
	a.record = rec
	return nil
}

func (a *answering) decide(s *thread.State, stamp thread.Stamp) (thread.Merge, error) {
	if err := a.respectClaim(s); err != nil {
		return thread.Merge{}, err
	}
	return s.Decide(a.record.ID, a.change, a.declined, a.call.Policy, stamp)
}

func (a *answering) change(have map[string]thread.Decision) (map[string]thread.Decision, error) {
	open := slices.DeleteFunc(slices.Clone(a.answers), func(one Answer) bool {
		whole := a.wholeOf(one.About)
		return a.asked && (have[one.About] != a.known[one.About] || have[whole] != a.known[whole])
	})
	a.late = len(open) < len(a.answers)
	out, err := a.decided(have, open)
	a.replaced = 0
	for id, d := range have {
		if out[id] != d {
			a.replaced++
		}
	}
	return out, err
}

// decided returns the recorded decisions with these answers added. Errors: T903 for an
// answer that does not fit.
func (a *answering) decided(have map[string]thread.Decision, answers []Answer) (map[string]thread.Decision, error) {
	decisions, err := a.decisionsOf(have)
	if err != nil {
		return nil, err
	}
	for _, one := range answers {
		if decisions, err = a.plan.Decide(decisions, one.About, one.Decision); err != nil {
			return nil, a.invalidChoice(err)
		}
	}
	out := map[string]thread.Decision{}
	for id, d := range decisions {
		out[id] = recordOf(d)
	}
	return out, nil
}

// wholeOf returns the id under which the whole path of a conflict is decided.
func (a *answering) wholeOf(conflict string) string {
	for _, c := range a.plan.Conflicts {
		if c.ID == conflict {
			f, _ := a.file(c.Path)
			return f.ID
		}
	}
	return ""
}

// invalidChoice is T903 for a choice that does not fit its conflict.
func (a *answering) invalidChoice(err error) error {
	e := codes.InvalidArgument.Wrap(err, fact.Of("reason", err.Error()), fact.Of("mergeId", a.record.ID))
	var why *merge.InvalidChoice
	if errors.As(err, &why) && len(why.Threads) > 0 {
		e = e.With(fact.Of("threads", why.Threads))
	}
	return e.WithHint("See the conflicts of the merge and their choices").WithNext("leslie merge status " + string(a.record.ID))
}

// Choice is a decision about a part of a merge, as in a request.
type Choice struct {
	About string // a path, a conflict's id or the beginning of one; "": every open conflict
	// All: also replace earlier answers. Additions: only conflicts in which all sides
	// only added lines.
	All, Additions bool

	Take   string
	Reason string
	// Content returns the text if Take is merge.TakeText. It is called only once the
	// merge is known.
	Content func() ([]byte, error)
	// Whole: the content is that of the whole file at the path. Otherwise it is the text for
	// a conflict, and a path with several needs one of them to be named.
	Whole bool
}

// LostLines are lines of the target that a given content of a whole file lacks.
type LostLines struct {
	Path  string   `json:"path"`
	Lines int      `json:"lines"`
	Text  []string `json:"text"` // the first of them
}

// maxLost is how many lost lines of a file are listed.
const maxLost = 10

// lostBy returns what the answers take out of the target's files beyond what is in conflict.
func (s *Session) lostBy(answers []Answer) (all []LostLines, err error) {
	for _, one := range answers {
		f, planned := s.file(one.About)
		partly := slices.ContainsFunc(s.plan.Conflicts, func(c merge.Conflict) bool { return c.Path == one.About && !c.Whole() })
		if one.Decision.Take != merge.TakeText || !planned || !partly || !f.Before.There() {
			continue
		}
		before, err := s.inputs.reader.content(f.Before.Hash)
		if err != nil {
			return nil, err
		}
		has := map[string]int{}
		for line := range strings.Lines(string(one.Decision.Text)) {
			has[strings.TrimRight(line, "\r\n")]++
		}
		lost := LostLines{Path: one.About, Text: []string{}}
		for line := range strings.Lines(string(before)) {
			line = strings.TrimRight(line, "\r\n")
			if has[line]--; has[line] >= 0 {
				continue
			}
			if lost.Lines++; lost.Lines <= maxLost {
				lost.Text = append(lost.Text, line)
			}
		}
		if lost.Lines > 0 {
			all = append(all, lost)
		}
	}
	return all, nil
}

// Choose records a choice as the use case's own operation. Errors: those of Answer,
// and T903 for a choice without a conflict.
func (s *Session) Choose(c Choice) (*Result, error) {
	work, err := readWork(s)
	if err != nil {
		return nil, err
	}
	edited := work.answers(false)
	open := s
	if len(edited) > 0 {
		if err := (&answering{Session: s, answers: edited}).rehearse(); err != nil {
			return nil, err
		}
		if open, err = planWith(s, edited); err != nil {
			return nil, err
		}
		if err := work.take(open.plan); err != nil {
			return nil, err
		}
	}
	answers, err := choosing{open, c}.answers()
	if err != nil && len(edited) > 0 {
		// All that was open is decided by edits, which count before the choice.
		_, err = choosing{s, c}.answers()
	}
	if err != nil {
		return nil, err
	}
	a := &answering{Session: s, answers: append(edited, answers...), work: work}
	if err := a.rehearse(); err != nil {
		return nil, err
	}
	if err := a.follow(); err != nil {
		return nil, err
	}
	lost, err := s.lostBy(answers)
	if err != nil {
		return nil, err
	}
	return s.call.Commit(a.prepare(), func(st *thread.State, stamp thread.Stamp) (*Result, thread.ThreadID, error) {
		if err := a.rule(st, stamp); err != nil {
			return nil, "", err
		}
		if err := s.replan(); err != nil {
			return nil, "", err
		}
		r := s.decided(a.about)
		r.Replaced, r.Lost = a.replaced, lost
		return r, s.record.Target, nil
	})
}

// planWith returns the session as it is planned with more answers, which are not recorded.
func planWith(s *Session, answers []Answer) (*Session, error) {
	if len(answers) == 0 {
		return s, nil
	}
	p := *s.Planning
	planned := &Session{Planning: &p}
	a := &answering{Session: s, answers: answers}
	a.know()
	var err error
	if p.record.Decisions, err = a.decided(p.record.Decisions, answers); err != nil {
		return nil, err
	}
	return planned, planned.replan()
}

// about reports whether an answer is about a conflict.
func (a *answering) about(c merge.Conflict) bool {
	return slices.ContainsFunc(a.answers, func(one Answer) bool { return one.About == c.ID || one.About == c.Path })
}

// Only returns the conflicts that an argument names: a path, an id or the beginning of
// one. Errors: T903 if there is none.
func (s *Session) Only(about string) ([]merge.Conflict, error) {
	return choosing{s, Choice{About: about}}.conflicts(about)
}

// choosing is a choice for a session.
type choosing struct {
	*Session
	Choice
}

// answers returns the answers for a choice. A path, or everything, selects the open
// conflicts; All selects the resolved ones as well.
func (c choosing) answers() ([]Answer, error) {
	found, err := c.conflicts(c.About)
	if err != nil {
		return nil, err
	}
	if found[0].Path == codePrefix+c.About {
		c.About = found[0].Path
	}
	if c.Additions {
		found = slices.DeleteFunc(found, func(d merge.Conflict) bool { return !d.Additions() })
		if len(found) == 0 {
			return nil, c.noChoice("in no conflict did all sides only add lines")
		}
	}
	var text []byte
	if c.Take == merge.TakeText && c.Content != nil {
		if text, err = c.Content(); err != nil {
			return nil, err
		}
	}
	answers := func(about ...string) (out []Answer) {
		for _, one := range about {
			out = append(out, c.by(one, c.Take, c.Reason, text))
		}
		return out
	}
	var open, paths []string
	for _, d := range found {
		if d.Status == merge.Unresolved {
			open = append(open, d.ID)
		}
		if !slices.Contains(paths, d.Path) {
			paths = append(paths, d.Path)
		}
	}
	named, path := len(found) == 1 && c.About != found[0].Path, c.About != ""
	if c.Take == merge.TakeText && !named && !c.Whole && !found[0].Whole() {
		if len(found) > 1 {
			return nil, c.noChoice(quoted(c.About) + " has " + strconv.Itoa(len(found)) + " conflicts, and the content is for one").
				WithHint("Name the CONFLICT that it is for, or say that it is the whole file")
		}
		named = true
	}
	whole := path && !named && (c.Take == merge.TakeText || c.Take == merge.TakeDelete)
	switch {
	case named && path:
		return answers(found[0].ID), nil
	case c.All && c.Additions:
		return answers(ids(found)...), nil
	case c.All, whole && len(open) > 0:
		return answers(paths...), nil
	case len(open) == 0:
		reason := "every conflict of the merge is resolved already"
		if c.Additions {
			reason = "every conflict in which all sides only added lines is resolved already"
		} else if path {
			reason = "every conflict of " + quoted(c.About) + " is resolved already"
		}
		return nil, c.noChoice(reason).WithHint("To replace the answer: leslie merge resolve " + string(c.record.ID) + " " + external.Word(found[0].Path) + " --take " + cmp.Or(c.Take, "SIDE") + " --all, or name a CONFLICT")
	}
	return answers(open...), nil
}

func ids(all []merge.Conflict) []string {
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = c.ID
	}
	return out
}

// conflicts returns the conflicts of a path, the one with an id or an id prefix, or
// all for "". Errors: T903 if there is none, or if several ids have the prefix.
func (c choosing) conflicts(what string) (found []merge.Conflict, err error) {
	var code []merge.Conflict // of a file of the code that is named without its prefix
	for _, d := range c.plan.Conflicts {
		switch {
		case what == d.ID: // of which another one may be the beginning
			return []merge.Conflict{d}, nil
		case what == "", what == d.Path:
			found = append(found, d)
		case codePrefix+what == d.Path:
			code = append(code, d)
		}
	}
	if len(found) == 0 {
		found = code
	}
	if len(found) > 0 {
		return found, nil
	}
	for _, d := range c.plan.Conflicts {
		if len(what) >= minConflictPrefix && strings.HasPrefix(d.ID, what) {
			found = append(found, d)
		}
	}
	switch {
	case what == "":
		return nil, c.noChoice("every conflict of the merge is resolved already")
	case len(found) == 0:
		return nil, c.noChoice("the merge has no conflict and no path " + quoted(what))
	case len(found) > 1:
		return nil, c.noChoice(quoted(what) + " begins the ids of several conflicts")
	}
	return found, nil
}

// minConflictPrefix is how many characters a shortened id of a conflict must have.
const minConflictPrefix = 3

// noChoice returns T903 for a choice without a conflict.
func (c choosing) noChoice(reason string) *codes.Error {
	return codes.InvalidArgument.New(fact.Of("reason", reason), fact.Of("mergeId", c.record.ID)).
		WithHint("See the conflicts of the merge").WithNext("leslie merge status " + string(c.record.ID))
}
