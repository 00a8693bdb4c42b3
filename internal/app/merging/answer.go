package merging

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/merge"
	"leslie/store"
	"leslie/thread"
)

// This file is the one way of a decision: from whoever took it, over the plan
// that it has to fit, to the record.

// Answer is a decision about a conflict, by its id, or about a path.
type Answer struct {
	About    string
	Decision merge.Decision
}

// by is an answer of the caller.
func (s *Session) by(about, take, reason string, text []byte) Answer {
	return Answer{about, merge.Decision{Take: take, Text: text, How: string(s.call.As), Actor: s.call.Actor, Reason: reason}}
}

// recordOf is a decision as a pending merge keeps it.
func recordOf(d merge.Decision) thread.Decision {
	out := thread.Decision{Take: d.Take, How: d.How, Actor: d.Actor, Reason: d.Reason}
	if d.Take == merge.TakeText {
		out.Text = blobOf(d.Text)
	}
	return out
}

// Answer records what somebody decided who was asked, and plans again. What was
// decided otherwise while they thought about it stays: late says that there was
// such an answer. Errors: T903 for one that does not fit its conflict; T303 and
// T402 as of thread.State.Decide; those of a write.
func (s *Session) Answer(answers ...Answer) (late bool, err error) {
	a := &answering{Session: s, answers: answers, asked: true, known: maps.Clone(s.record.Decisions)}
	err = s.settle(a)
	return a.late, err
}

// settle records answers in an operation of their own and plans again.
func (s *Session) settle(a *answering) error {
	if err := a.rehearse(); err != nil {
		return err
	}
	if err := s.call.Update(s.record.Target, a.prepare(), a.rule); err != nil {
		return err
	}
	return s.replanned()
}

// replanned plans again from what is loaded; it is loaded anew if something was not
// read before and has moved.
func (s *Session) replanned() error {
	err := s.replan()
	if errors.Is(err, errMoved) {
		err = s.load()
	}
	return err
}

// answering is a change of the decisions on record.
type answering struct {
	*Session
	answers []Answer
	// asked: somebody was asked, when these were the decisions on record. What was
	// decided otherwise since then stays.
	asked    bool
	known    map[string]thread.Decision
	declined map[string]string // why an agent's answers were refused, by path
	late     bool              // an answer came behind another one
}

// prepare stages the texts that are decided on, nil where there is none.
func (a *answering) prepare() func(*store.Stage) error {
	var texts [][]byte
	for _, one := range a.answers {
		if one.Decision.Take == merge.TakeText {
			a.texts[blobOf(one.Decision.Text)] = one.Decision.Text // which the next plan wants
			texts = append(texts, one.Decision.Text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return func(stage *store.Stage) error {
		for _, text := range texts {
			if _, err := stage.Put(text); err != nil {
				return err
			}
		}
		return nil
	}
}

// rehearse refuses answers before their texts are staged.
func (a *answering) rehearse() error {
	return a.call.View(func(s *thread.State) error {
		_, err := a.decide(s, thread.Stamp{Time: a.call.Now(), As: a.call.As, Actor: a.call.Actor})
		return err
	})
}

// rule changes the decisions of the merge on record.
func (a *answering) rule(s *thread.State, stamp thread.Stamp) error {
	rec, err := a.decide(s, stamp)
	if err == nil {
		a.record = rec
	}
	return err
}

func (a *answering) decide(s *thread.State, stamp thread.Stamp) (thread.Merge, error) {
	return s.Decide(a.record.ID, a.change, a.declined, a.call.Policy, stamp)
}

func (a *answering) change(have map[string]thread.Decision) (map[string]thread.Decision, error) {
	open := slices.DeleteFunc(slices.Clone(a.answers), func(one Answer) bool {
		whole := a.wholeOf(one.About)
		return a.asked && (have[one.About] != a.known[one.About] || have[whole] != a.known[whole])
	})
	a.late = len(open) < len(a.answers)
	return a.decided(have, open)
}

// decided is the decisions on record with these answers among them. Errors: T903
// for one that does not fit.
func (s *Session) decided(have map[string]thread.Decision, answers []Answer) (map[string]thread.Decision, error) {
	decisions, err := s.decisionsOf(have)
	if err != nil {
		return nil, err
	}
	for _, one := range answers {
		if decisions, err = s.plan.Decide(decisions, one.About, one.Decision); err != nil {
			return nil, s.invalidChoice(err)
		}
	}
	out := map[string]thread.Decision{}
	for id, d := range decisions {
		out[id] = recordOf(d)
	}
	return out, nil
}

// wholeOf is the id under which the path of a conflict is decided as a whole.
func (s *Session) wholeOf(conflict string) string {
	for _, c := range s.plan.Conflicts {
		if c.ID == conflict {
			f, _ := s.file(c.Path)
			return f.ID
		}
	}
	return ""
}

// invalidChoice is T903 for a choice that does not fit its conflict.
func (s *Session) invalidChoice(err error) error {
	e := codes.InvalidArgument.Wrap(err, fact.Of("reason", err.Error()), fact.Of("mergeId", s.record.ID))
	var why *merge.InvalidChoice
	if errors.As(err, &why) && len(why.Threads) > 0 {
		e = e.With(fact.Of("threads", why.Threads))
	}
	return e.WithHint("See the conflicts of the merge and what they allow").WithNext("leslie merge status " + string(s.record.ID))
}

// Choice is a decision about a part of a merge, as a request has it.
type Choice struct {
	About  string // a path, a conflict's id or the beginning of one; "": every open conflict
	Take   string
	Reason string
	// Content gives the text when Take is merge.TakeText. It is asked for once the
	// merge is known.
	Content func() ([]byte, error)
}

// Choose records a choice as the use case's own operation. Errors: those of Answer,
// and T903 for a choice about nothing.
func (s *Session) Choose(c Choice) (*Result, error) {
	answers, err := s.meant(c)
	if err != nil {
		return nil, err
	}
	a := &answering{Session: s, answers: answers}
	if err := a.rehearse(); err != nil {
		return nil, err
	}
	return s.call.Commit(a.prepare(), func(st *thread.State, stamp thread.Stamp) (*Result, thread.ThreadID, error) {
		if err := a.rule(st, stamp); err != nil {
			return nil, "", err
		}
		if err := s.replan(); err != nil {
			return nil, "", err
		}
		return s.Result(Pending), s.record.Target, nil
	})
}

// meant are the answers that a choice is.
func (s *Session) meant(c Choice) ([]Answer, error) {
	var text []byte
	if c.Take == merge.TakeText && c.Content != nil {
		var err error
		if text, err = c.Content(); err != nil {
			return nil, err
		}
	}
	var out []Answer
	for _, d := range s.plan.Conflicts {
		switch {
		case c.About == d.ID: // of which another one may be the beginning
			return []Answer{s.by(d.ID, c.Take, c.Reason, text)}, nil
		case c.About == "" && d.Status == merge.Unresolved, len(c.About) >= 4 && strings.HasPrefix(d.ID, c.About):
			out = append(out, s.by(d.ID, c.Take, c.Reason, text))
		case c.About == d.Path && c.About != "":
			return []Answer{s.by(d.Path, c.Take, c.Reason, text)}, nil
		}
	}
	if len(out) > 0 && (c.About == "" || len(out) == 1) {
		return out, nil
	}
	reason := "the merge has no conflict and no path " + quoted(c.About)
	switch {
	case c.About == "":
		reason = "every conflict of the merge is resolved already"
	case len(out) > 1:
		reason = quoted(c.About) + " begins the ids of several conflicts"
	}
	return nil, codes.InvalidArgument.New(fact.Of("reason", reason), fact.Of("mergeId", s.record.ID)).
		WithHint("See the conflicts of the merge").WithNext("leslie merge status " + string(s.record.ID))
}
