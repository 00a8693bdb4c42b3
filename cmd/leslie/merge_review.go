package main

import (
	"context"
	"errors"
	"slices"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/internal/screen"
	"leslie/merge"
	"leslie/thread"
)

// This file shows the person what a merge would do, and asks whether to apply it.

// Words of the questions about a whole merge.
const (
	wordYes   = "yes"
	wordNo    = "no"
	wordDiff  = "diff"
	wordLater = "later"
)

// Review implements merging.Person.
func (p *mergePrompt) Review(_ context.Context, s *merging.Session) error {
	if err := p.begin(s); err != nil {
		return err
	}
	question := menu{question: "Apply it?", choices: []screen.Choice{
		{Word: wordYes, Key: "y", About: "apply the merge"},
		{Word: wordNo, Key: "n", About: "go back to the last answer"},
		{Word: wordDiff, Key: "d", About: "show what changes in " + string(s.View().Target()) + ", line by line"},
		{Word: wordLater, Key: "l", About: "leave; the answers are kept and the merge stays pending"},
	}, also: map[string]string{wordBack: wordNo, "k": wordNo, wordQuit: wordLater, "q": wordLater}}
	for {
		p.summary(s)
		word, err := p.apply(s, question)
		switch {
		case err != nil:
			return err
		case word == wordYes:
			return nil
		case word == wordLater:
			return merging.ErrLeft
		case len(p.past) == 0:
			p.say("no answer can be changed here; leslie merge resolve changes one")
			continue
		}
		p.back()
		if err := p.questions(s); err != nil {
			return err
		}
		if len(s.Open("")) > 0 {
			return nil
		}
	}
}

// apply asks the question about a whole merge, and shows the diff as often as it is asked
// for.
func (p *mergePrompt) apply(s *merging.Session, question menu) (word string, err error) {
	for {
		word, ok := p.pick(question)
		switch {
		case !ok:
			return "", p.leave()
		case word != wordDiff:
			return word, nil
		}
		files, err := app.MergeDiff(s)
		if err != nil {
			p.say("there is no diff: %s", err.Error())
			continue
		}
		if err := p.diff(p.c, files, s.View().Target()); err != nil {
			return "", err
		}
	}
}

// summary draws what the merge does to each file, and how its conflicts were decided.
func (p *mergePrompt) summary(s *merging.Session) {
	v := screen.MergeSummary{Width: p.width, Colours: p.coloured, Limit: maxShownFiles, More: "diff shows all"}
	conflicts := s.Conflicts()
	for _, f := range s.View().Files() {
		one := screen.MergeFile{Path: f.Path, Verb: verbOf(f)}
		for _, d := range conflicts {
			if d.Path == f.Path {
				one.Decided = append(one.Decided, decidedBy(d))
			}
		}
		if one.Decided == nil {
			one.Note = string(f.How)
		}
		v.Files = append(v.Files, one)
	}
	changed := slices.DeleteFunc(slices.Clone(s.View().Files()), merge.Change.Idle)
	p.say("\n%s", p.paint(bold, "the merge of "+joined(s.View().Sources())+" into "+string(s.View().Target())+" changes "+many(len(changed), "file")))
	p.draw(v.Draw().Lines)
}

// maxShownFiles is how many files of a merge are listed before it is applied.
const maxShownFiles = 20

// verbOf says in one word what a merge does to a path.
func verbOf(f merge.Change) string {
	switch {
	case f.Idle() && !f.Before.There():
		return "omit"
	case f.Idle():
		return "keep"
	case !f.Before.There():
		return "add"
	case f.Deletes():
		return "delete"
	}
	return "change"
}

// diff shows what a merge changes in its target, line by line.
func (p *prompt) diff(c *call, files []app.FileDiff, target thread.ThreadID) error {
	shown := &page{terminal: true, coloured: p.coloured}
	for _, f := range files {
		fileDiffText(shown, f)
	}
	if len(files) == 0 {
		shown.line("%s stays as it is", string(target))
	}
	return p.long(c, []byte(shown.String()))
}

// Approve implements merging.Approver.
func (p *mergePrompt) Approve(_ context.Context, g thread.Approval, s *merging.Session) (merging.Verdict, error) {
	if err := p.begin(s); err != nil {
		return merging.Verdict{}, err
	}
	p.say("\n%s %s  %s", p.paint(bold, "approval"), g.ID, g.Reason)
	p.summary(s)
	word, err := p.apply(s, menu{question: "Apply this merge?", choices: []screen.Choice{
		{Word: wordYes, Key: "y", About: "approve and apply it"},
		{Word: wordNo, Key: "n", About: "deny it; you are asked why"},
		{Word: wordDiff, Key: "d", About: "show what changes in " + string(s.View().Target()) + ", line by line"},
		{Word: wordLater, Key: "l", About: "leave; the request stays open and the merge pending"},
	}, also: map[string]string{wordQuit: wordLater, "q": wordLater}})
	switch {
	case errors.Is(err, merging.ErrLeft):
		return merging.Verdict{}, nil
	case err != nil || word == wordLater:
		return merging.Verdict{}, err
	case word == wordYes:
		return merging.Verdict{Decision: thread.Approve}, nil
	}
	reason, ok := p.text("Why? (may be left empty)")
	if !ok {
		return merging.Verdict{}, interrupted(p.c)
	}
	return merging.Verdict{Decision: thread.Deny, Reason: reason}, nil
}

// leftPending returns what a person sees instead of the error of a merge that was left
// pending: a no is no error. "" for every other error.
func (c rendering) leftPending(failure *codes.Error) string {
	if failure == nil {
		return ""
	}
	id := failure.Facts().Text("mergeId")
	if id == "" || !personReads(c.call, c.env.stderrTTY) {
		return ""
	}
	on := "go on with " + c.callerLine("leslie merge continue "+id)
	left := errors.Is(failure.Unwrap(), merging.ErrLeft)
	switch {
	case failure.Code() == codes.Interrupted:
		return "interrupted; the merge is left pending; " + on
	case left && failure.Code() == codes.ApprovalDenied:
		return "denied; the merge is left pending; " + c.callerLine("leslie merge abort "+id) + " ends it"
	case left:
		return "left pending; " + on
	}
	return ""
}
