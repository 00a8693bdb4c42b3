package mergecmd

import (
	"context"
	"errors"
	"slices"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/merges"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/merge"
	"leslie/thread"
)

// This file shows the person what a merge would do, and asks whether to apply it.

// Words of the questions about a whole merge.
const (
	WordYes   = "yes"
	WordNo    = "no"
	WordDiff  = "diff"
	WordLater = "later"
)

// Review implements merging.Person.
func (p *mergePrompt) Review(_ context.Context, s *merging.Session) error {
	if err := p.begin(s); err != nil {
		return err
	}
	question := cli.Menu{Question: "Apply it?", Choices: []screen.Choice{
		{Word: WordYes, Key: "y", About: "apply the merge"},
		{Word: WordNo, Key: "n", About: "go back to the last answer"},
		{Word: WordDiff, Key: "d", About: "show what changes in " + s.View().Into() + ", line by line"},
		{Word: WordLater, Key: "l", About: "leave; the answers are kept and the merge stays pending"},
	}, Also: map[string]string{wordBack: WordNo, "k": WordNo, WordQuit: WordLater, "q": WordLater}}
	for {
		p.summary(s)
		word, err := p.apply(s, question)
		switch {
		case err != nil:
			return err
		case word == WordYes:
			return nil
		case word == WordLater:
			return merging.ErrLeft
		case len(p.past) == 0:
			p.Say("no answer can be changed here; leslie merge resolve changes one")
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
func (p *mergePrompt) apply(s *merging.Session, question cli.Menu) (word string, err error) {
	for {
		word, ok := p.Pick(question)
		switch {
		case !ok:
			return "", p.leave()
		case word != WordDiff:
			return word, nil
		}
		d, err := merges.SessionDiff(p.c.Ctx, s)
		if err != nil {
			p.Say("there is no diff: %s", err.Error())
			continue
		}
		if err := ShowDiff(p.Prompt, p.c, d, s.View().Into()); err != nil {
			return "", err
		}
	}
}

// summary draws what the merge does to each file, and how its conflicts were decided.
func (p *mergePrompt) summary(s *merging.Session) {
	v := screen.MergeSummary{Width: p.Width, Colours: p.Coloured, Limit: MaxShownFiles, More: "diff shows all"}
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
	p.Say("\n%s", p.Paint(cli.Bold, "the merge of "+app.Joined(s.View().Sources())+" into "+s.View().Into()+
		" changes "+fact.Plural(len(changed), "file")))
	p.Draw(v.Draw().Lines)
}

// MaxShownFiles is how many files of a merge are listed before it is applied.
const MaxShownFiles = 20

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

// ShowDiff shows what a merge changes in its target, line by line.
func ShowDiff(p *cli.Prompt, c *cli.Call, d *merges.DiffResult, target string) error {
	shown := &page.Page{Terminal: true, Coloured: p.Coloured}
	if d.Code != nil {
		diffText{DiffResult: d}.codeText(shown)
	}
	for _, f := range d.Files {
		FileDiffText(shown, f)
	}
	if len(d.Files) == 0 && d.Code == nil {
		shown.Line("%s stays as it is", target)
	}
	return long(p, c, []byte(shown.String()))
}

// Approve implements merging.Approver.
func (p *mergePrompt) Approve(_ context.Context, g thread.Approval, s *merging.Session) (merging.Verdict, error) {
	if err := p.begin(s); err != nil {
		return merging.Verdict{}, err
	}
	p.Say("\n%s %s  %s", p.Paint(cli.Bold, "approval"), g.ID, g.Reason)
	p.summary(s)
	word, err := p.apply(s, cli.Menu{Question: "Apply this merge?", Choices: []screen.Choice{
		{Word: WordYes, Key: "y", About: "approve and apply it"},
		{Word: WordNo, Key: "n", About: "deny it; you are asked why"},
		{Word: WordDiff, Key: "d", About: "show what changes in " + s.View().Into() + ", line by line"},
		{Word: WordLater, Key: "l", About: "leave; the request stays open and the merge pending"},
	}, Also: map[string]string{WordQuit: WordLater, "q": WordLater}})
	switch {
	case errors.Is(err, merging.ErrLeft):
		return merging.Verdict{}, nil
	case err != nil || word == WordLater:
		return merging.Verdict{}, err
	case word == WordYes:
		return merging.Verdict{Decision: thread.Approve}, nil
	}
	reason, ok := p.Text("Why? (may be left empty)")
	if !ok {
		return merging.Verdict{}, p.c.Interrupted()
	}
	return merging.Verdict{Decision: thread.Deny, Reason: reason}, nil
}
