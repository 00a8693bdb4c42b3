package mergecmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/merge"
	"leslie/thread"
)

// This file asks the person at the terminal, who resolves the conflicts of a merge.
// merge_choices.go has the choices, and merge_review.go what is asked before it is applied.

// mergePrompt asks the person. It is a merging.Person and a merging.Approver.
type mergePrompt struct {
	c *cli.Call
	*cli.Prompt
	// agent: there is one; first: its help is offered before anything else; all: the
	// person accepted it for every file.
	agent, first, all bool
	// skipped has the conflicts that the person left open, offered the paths for which
	// the prompt has offered the agent.
	skipped, offered map[string]bool
	// past has the conflicts that were answered or skipped, the last one at the end; again
	// is the one to which the person went back.
	past  []string
	again string
}

// person returns the person at the terminal, who resolves and approves; both are nil if
// nobody can be asked.
func person(c *cli.Call) (merging.Person, merging.Approver) {
	if !c.CanPrompt() {
		return nil, nil
	}
	p := &mergePrompt{c: c, skipped: map[string]bool{}, offered: map[string]bool{}}
	return p, p
}

// begin prepares to ask about a session, and tells what the person has to know first.
func (p *mergePrompt) begin(s *merging.Session) (err error) {
	if p.Prompt == nil {
		p.Prompt = p.c.Prompt()
		for _, d := range s.Conflicts() {
			if d.Result != nil && d.Result.Take != "" && !decidedWhole(d) {
				p.past = append(p.past, d.ID)
			}
		}
		if n := s.View().Reused(); n > 0 {
			p.Say("%s of the merge that was undone %s taken over; no at the end goes back to them", fact.Plural(n, "decision"),
				map[bool]string{true: "is", false: "are"}[n == 1])
		}
		if s.View().Resumed() {
			p.Say("the merge of %s into %s was pending: it goes on", app.Joined(s.View().Sources()), s.View().Into())
		}
	}
	p.agent, p.first, err = s.CanAskAgent()
	p.tell(s)
	return err
}

// decidedWhole reports whether a conflict that is a part of its file was decided with the
// whole file.
func decidedWhole(d merge.Conflict) bool {
	return !d.Whole() && d.Result != nil && (d.Result.Absent || d.Result.Hash != "")
}

// tell says what is new: why the agent did not resolve a file, what has changed while the
// person was asked, and which edits do not fit any more.
func (p *mergePrompt) tell(s *merging.Session) {
	if moved := s.View().Moved(); len(moved) > 0 {
		open := s.Open("")
		p.Say("\n%s changed meanwhile, so the merge was planned again; answers to what is as it was are kept.",
			app.Joined(moved))
		if len(open) > 0 {
			p.Say("%s asked about again:", has(len(open), "conflict is", "conflicts are"))
			for _, d := range open {
				p.Say("    %s", place(d))
			}
		}
	}
	for _, d := range s.View().Declines() {
		p.Say("the agent did not resolve %s: %s", d.Path, d.Reason)
	}
	for _, file := range s.View().Outdated() {
		p.Say("a side changed in lines that you edited in %s, so your edits do not count; merge resolve --file "+
			"takes them", p.c.Place(file))
	}
}

// has formats a count with a noun and its verb.
func has(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// Resolve implements merging.Resolver. It records each answer at once, so that nothing is
// lost if the person is interrupted.
func (p *mergePrompt) Resolve(_ context.Context, s *merging.Session) error {
	if err := p.begin(s); err != nil {
		return err
	}
	return p.questions(s)
}

// questions asks about each open conflict that was not skipped, and about the one to
// which the person went back.
func (p *mergePrompt) questions(s *merging.Session) error {
	for {
		d, ok := p.next(s)
		if !ok {
			return nil
		}
		p.show(s, d)
		if p.first && !p.offered[d.Path] && d.Status == merge.Unresolved {
			asked, err := p.offer(s, d)
			if err != nil {
				return err
			}
			if asked {
				continue
			}
		}
		if err := p.ask(s, d); err != nil {
			return err
		}
	}
}

// next returns the conflict that is asked about next.
func (p *mergePrompt) next(s *merging.Session) (merge.Conflict, bool) {
	all := s.Conflicts()
	i := slices.IndexFunc(all, func(d merge.Conflict) bool { return d.ID == p.again })
	if i < 0 {
		i = slices.IndexFunc(all, func(d merge.Conflict) bool {
			return d.Status == merge.Unresolved && !p.skipped[d.ID]
		})
	}
	if i < 0 {
		return merge.Conflict{}, false
	}
	return all[i], true
}

// back goes back to the last answer.
func (p *mergePrompt) back() {
	last := len(p.past) - 1
	p.again = p.past[last]
	delete(p.skipped, p.again)
	p.past = p.past[:last]
}

// done notes that a conflict was answered or skipped.
func (p *mergePrompt) done(ids ...string) {
	p.again = ""
	for _, id := range ids {
		p.past = append(slices.DeleteFunc(p.past, func(past string) bool { return past == id }), id)
	}
}

// offer asks whether the agent may try, and lets it. It returns false if it may not.
func (p *mergePrompt) offer(s *merging.Session, d merge.Conflict) (asked bool, err error) {
	p.offered[d.Path] = true
	if !p.all {
		answer, ok := p.Pick(cli.Menu{Question: "Conflict detected. Allow Agent to attempt auto-resolution?",
			Choices: []screen.Choice{
				{Word: "yes", Key: "y", About: "the agent tries to resolve " + d.Path},
				{Word: "no", Key: "n", About: "you resolve it yourself"},
				{Word: "all", Key: "a", About: "the agent tries every file"},
			}})
		switch {
		case !ok:
			return false, p.leave()
		case answer == "no":
			return false, nil
		}
		p.all = answer == "all"
	}
	return true, p.askAgent(s, d.Path)
}

// askAgent lets the agent try the open conflicts of a path.
func (p *mergePrompt) askAgent(s *merging.Session, path string) error {
	p.Say("the agent tries to resolve %s ...", path)
	open := s.Open(path)
	if err := s.AskAgent(path); err != nil {
		return err
	}
	p.tell(s)
	for _, d := range s.Conflicts() {
		was := slices.ContainsFunc(open, func(o merge.Conflict) bool { return o.ID == d.ID })
		if was && d.How == merge.ByAgent {
			p.Say("%s: %s", place(d), decidedBy(d))
			p.done(d.ID)
		}
	}
	return nil
}

// leave is the error of a person who left; T904 if the call was interrupted.
func (p *mergePrompt) leave() error {
	if err := p.c.Interrupted(); err != nil {
		return err
	}
	return merging.ErrLeft
}

// show draws a conflict.
func (p *mergePrompt) show(s *merging.Session, d merge.Conflict) {
	p.Say("")
	p.Draw(p.viewOf(s, d).Draw().Lines)
}

// long shows a text in the pager if it is longer than the screen.
func long(p *cli.Prompt, c *cli.Call, text []byte) error {
	if c.NeedsPager(text) && c.ShowInPager(text) {
		return nil
	}
	_, err := p.Out.Write(text)
	return err
}

// viewOf returns the view of a conflict.
func (p *mergePrompt) viewOf(s *merging.Session, d merge.Conflict) screen.Conflict {
	v := screen.Conflict{
		Conflict: d, Titles: s.View().Titles(), Decided: decidedBy(d), Width: p.Width, Colours: p.Coloured,
		More: wordView + " shows all",
	}
	for _, other := range s.Conflicts() {
		if byMerger(other) {
			continue
		}
		if v.Total++; other.ID == d.ID {
			v.Number = v.Total
		}
	}
	sides, base := s.View().Versions(d)
	for _, f := range sides {
		v.Files = append(v.Files, screen.File(f))
	}
	v.Base = screen.File(base)
	return v
}

// byMerger reports whether a merger resolved a conflict, which nobody is asked about.
func byMerger(d merge.Conflict) bool { return d.Result != nil && d.Result.Take == "" }

// decidedBy says how a conflict is decided: the choice, and who chose if that was no
// person; "" for an open one.
func decidedBy(d merge.Conflict) string {
	if d.Result == nil {
		return ""
	}
	word := d.Result.Take
	switch {
	case word == "":
		return d.How
	case word == merge.TakeText:
		word = "edited"
	}
	switch {
	case d.How == merge.ByAgent && word == "edited":
		return "agent"
	case d.How != string(thread.User):
		return d.How + ": " + word
	}
	return word
}

// place returns a conflict's file and its number in it.
func place(d merge.Conflict) string { return fmt.Sprintf("%s %d/%d", d.Path, d.Hunk, d.Of) }

// ask asks about one conflict until it is answered or skipped, or the person goes back.
// Its error is merging.ErrLeft if the person leaves.
func (p *mergePrompt) ask(s *merging.Session, d merge.Conflict) error {
	choices := p.choicesFor(s, d)
	for {
		word, ok := p.Pick(choices)
		if !ok {
			return p.leave()
		}
		switch word {
		case WordQuit:
			return merging.ErrLeft
		case wordAgent:
			p.again = ""
			return p.askAgent(s, d.Path)
		case wordBack:
			p.back()
			return nil
		case wordSkip:
			p.skipped[d.ID] = d.Status == merge.Unresolved
			p.done(d.ID)
			return nil
		case wordView:
			v := p.viewOf(s, d)
			v.All = true
			if err := long(p.Prompt, p.c, []byte(strings.Join(v.Draw().Lines, "\n")+"\n")); err != nil {
				return err
			}
			continue
		}
		var done bool
		var err error
		if word == wordRest {
			done, err = p.rest(s, d)
		} else {
			done, err = p.answer(s, d, word)
		}
		if done || err != nil {
			return err
		}
	}
}

// answer records a choice for a conflict. It returns false if there is no answer yet.
func (p *mergePrompt) answer(s *merging.Session, d merge.Conflict, word string) (done bool, err error) {
	choice := decision(p.c, word)
	switch word {
	case wordEdit:
		if choice.Text, err = p.edit(d); err != nil {
			p.Say("%s stays as it was: %s", place(d), err.Error())
			return false, nil
		}
		choice.Take = merge.TakeText
	case merge.TakeBase:
		if ok, err := p.mayDrop(s, merging.Answer{About: d.ID, Decision: choice}); !ok || err != nil {
			return false, err
		}
	}
	late, err := s.Answer(merging.Answer{About: d.ID, Decision: choice})
	switch {
	case err != nil:
		return false, err
	case late:
		p.Say("%s has been decided in the meantime", d.ID)
	case word == wordEdit:
		p.Say("%s: edited", place(d))
	default:
		p.Say("%s: %s", place(d), word)
	}
	p.done(d.ID)
	return true, nil
}

// decision is a choice of the person at the terminal.
func decision(c *cli.Call, take string) merge.Decision {
	return merge.Decision{Take: take, How: string(c.Who.As), Actor: c.Who.Actor}
}

// mayDrop asks before answers drop files, or empty them: the base may have none of their
// lines.
func (p *mergePrompt) mayDrop(s *merging.Session, answers ...merging.Answer) (bool, error) {
	files, err := s.View().Foresee(answers...)
	if err != nil {
		return false, err
	}
	about := map[string]bool{}
	for _, d := range s.Conflicts() {
		about[d.Path] = about[d.Path] || slices.ContainsFunc(answers,
			func(a merging.Answer) bool { return a.About == d.ID })
	}
	var gone []string
	for _, f := range files {
		switch {
		case !about[f.Path] || f.Open > 0:
		case !f.After.There():
			gone = append(gone, f.Path)
		case f.After.Size == 0:
			gone = append(gone, f.Path+" (empty)")
		}
	}
	if len(gone) == 0 {
		return true, nil
	}
	answer, ok := p.Pick(cli.Menu{Question: "Without the lines of the sides nothing is left of " +
		strings.Join(gone, ", ") + ". Take the base?", Choices: []screen.Choice{
		{Word: "yes", Key: "y", About: "take the base, which drops it"},
		{Word: "no", Key: "n", About: "ask again"},
	}})
	if !ok {
		return false, p.leave()
	}
	return answer == "yes", nil
}
