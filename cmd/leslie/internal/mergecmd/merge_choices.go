package mergecmd

import (
	"fmt"
	"slices"
	"strconv"

	"leslie/cmd/leslie/internal/cli"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/merge"
)

// This file has the choices for a conflict: those that fit it, each with its letter.

// Words that are no choice of a side.
const (
	wordEdit  = "edit"
	wordAgent = "agent"
	wordView  = "view"
	wordRest  = "rest"
	wordSkip  = "skip"
	wordBack  = "back"
	WordQuit  = "quit"
)

// choicesFor returns the choices for a conflict.
func (p *mergePrompt) choicesFor(s *merging.Session, d merge.Conflict) cli.Menu {
	m := cli.Menu{Choices: sideChoices(d), Also: map[string]string{}}
	add := func(word, key, about string) {
		m.Choices = append(m.Choices, screen.Choice{Word: word, Key: key, About: about})
	}
	if editable(d) {
		add(wordEdit, "e", "write it in your editor")
	}
	if p.agent && d.Status == merge.Unresolved {
		add(wordAgent, "g", "let the agent try the open conflicts of "+d.Path)
	}
	if p.viewOf(s, d).Draw().Shortened {
		add(wordView, "v", "show all lines of the conflict")
	}
	if d.Status == merge.Unresolved {
		if len(remaining(s, p.skipped)) > 1 {
			add(wordRest, "r", "give one answer to all that remain, after their count is shown")
		}
		add(wordSkip, "s", "leave it open")
	} else {
		add(wordSkip, "s", "leave it as it is decided: "+decidedBy(d))
	}
	if len(p.past) > 0 {
		add(wordBack, "k", "go back to the last answer")
	}
	add(WordQuit, "q", "leave; the answers so far are kept and the merge stays pending")
	for _, side := range d.Sides {
		if d.Fits(side.Thread) == nil {
			m.Also[side.Thread] = side.Thread
		}
	}
	m.Refuse = func(word string) string { return refusal(d, word, p.agent) }
	return m
}

// sideChoices returns the choices of a side, or of none, that fit a conflict.
func sideChoices(d merge.Conflict) (out []screen.Choice) {
	keys := map[string]string{
		merge.TakeOurs: "o", merge.TakeTheirs: "t", merge.TakeBase: "a", merge.TakeBoth: "h", merge.TakeDelete: "d",
		merge.TakeKeep: "p",
	}
	number := 0
	for _, take := range d.Takes() {
		c := screen.Choice{Word: take, Key: keys[take], About: aboutTake(d, take)}
		if c.Key == "" {
			number++
			c.Key, c.ID = strconv.Itoa(number), true
		}
		out = append(out, c)
	}
	return out
}

// aboutTake says what a choice does.
func aboutTake(d merge.Conflict, take string) string {
	switch take {
	case merge.TakeOurs:
		return "take what the target has: " + d.Sides[0].Thread
	case merge.TakeTheirs:
		return "take what the source has: " + d.Sides[1].Thread
	case merge.TakeBase:
		return "take what both had before, without the changes of either"
	case merge.TakeBoth:
		return "take the lines of every side, one after the other"
	case merge.TakeDelete:
		return "have no such file"
	case merge.TakeKeep:
		if d.Kind == merge.PathClash {
			return "leave the target as it is"
		}
		return "take the file, which a side deleted"
	}
	return "take what this thread has"
}

// editable reports whether a conflict can be edited as text.
func editable(d merge.Conflict) bool {
	if d.Kind == merge.BinaryFile || d.Kind == merge.TooLarge {
		return false
	}
	_, err := d.Marked()
	return err == nil
}

// refusal says why a word that is a choice for other conflicts is none for this one.
func refusal(d merge.Conflict, word string, agent bool) string {
	takes := []string{merge.TakeOurs, merge.TakeTheirs, merge.TakeBase, merge.TakeBoth, merge.TakeDelete,
		merge.TakeKeep}
	switch {
	case slices.Contains(takes, word):
		if err, ok := d.Fits(word).(*merge.InvalidChoice); ok {
			return word + " does not fit here: " + err.Reason
		}
	case word == wordEdit:
		return "edit does not fit here: the file is not shown as text"
	case word == wordAgent && !agent:
		return "no agent may resolve it"
	case word == wordBack:
		return "there is no answer to go back to"
	case word == wordView:
		return "all of its lines are shown"
	case word == wordRest:
		return "no other conflict remains"
	}
	return ""
}

// remaining returns the open conflicts that were not skipped.
func remaining(s *merging.Session, skipped map[string]bool) []merge.Conflict {
	return slices.DeleteFunc(s.Open(""), func(d merge.Conflict) bool { return skipped[d.ID] })
}

// rest gives one answer to all conflicts that remain, in the file or in all, once their
// number was shown. It returns false if there is no answer.
func (p *mergePrompt) rest(s *merging.Session, d merge.Conflict) (done bool, err error) {
	m := cli.Menu{Question: "One answer for all that remain:", Choices: append(sideChoices(d),
		screen.Choice{Word: wordSkip, Key: "s", About: "leave them open"},
		screen.Choice{Word: "none", Key: "n", About: "ask about this one only"})}
	word, ok := p.Pick(m)
	if !ok {
		return false, p.leave()
	}
	if word == "none" {
		return false, nil
	}
	left := remaining(s, p.skipped)
	here := slices.DeleteFunc(slices.Clone(left), func(o merge.Conflict) bool { return o.Path != d.Path })
	m = cli.Menu{Question: word + " for how many?"}
	if fit, about := fitting(here, word); len(here) < len(left) && len(fit) > 1 {
		m.Choices = append(m.Choices, screen.Choice{Word: "file", Key: "f", About: about})
		m.Question += " file: " + about + ";"
	}
	_, about := fitting(left, word)
	m.Choices = append(m.Choices, screen.Choice{Word: "all", Key: "a", About: about},
		screen.Choice{Word: "none", Key: "n", About: "ask about this one only"})
	m.Question += " all: " + about + "."
	scope, ok := p.Pick(m)
	switch {
	case !ok:
		return false, p.leave()
	case scope == "none":
		return false, nil
	case scope == "file":
		left = here
	}
	return p.answerAll(s, left, word)
}

// fitting returns the conflicts that a word can answer, and says how many these are.
func fitting(all []merge.Conflict, word string) (fit []merge.Conflict, about string) {
	fit = slices.DeleteFunc(slices.Clone(all),
		func(d merge.Conflict) bool { return word != wordSkip && d.Fits(word) != nil })
	var paths []string
	for _, d := range fit {
		if !slices.Contains(paths, d.Path) {
			paths = append(paths, d.Path)
		}
	}
	about = fact.Plural(len(fit), "conflict") + " in " + fact.Plural(len(paths), "file")
	if len(paths) == 1 {
		about = fact.Plural(len(fit), "conflict") + " of " + paths[0]
	}
	if left := len(all) - len(fit); left > 0 {
		about += fmt.Sprintf(" (%d more, which it does not fit, stay open)", left)
	}
	return fit, about
}

// answerAll records one answer for several conflicts, as one operation.
func (p *mergePrompt) answerAll(s *merging.Session, all []merge.Conflict, word string) (done bool, err error) {
	fit, about := fitting(all, word)
	if word == wordSkip {
		for _, d := range fit {
			p.skipped[d.ID] = true
			p.done(d.ID)
		}
		p.Say("%s: left open", about)
		return true, nil
	}
	var answers []merging.Answer
	for _, d := range fit {
		answers = append(answers, merging.Answer{About: d.ID, Decision: decision(p.c, word)})
	}
	if word == merge.TakeBase {
		if ok, err := p.mayDrop(s, answers...); !ok || err != nil {
			return false, err
		}
	}
	late, err := s.Answer(answers...)
	if err != nil {
		return false, err
	}
	if late {
		p.Say("some of them have been decided in the meantime")
	}
	var said []string
	for _, d := range s.Conflicts() {
		if slices.ContainsFunc(fit, func(o merge.Conflict) bool { return o.ID == d.ID }) {
			said = append(said, place(d)+": "+decidedBy(d))
			p.done(d.ID)
		}
	}
	for i, line := range said {
		if i == MaxShownLines {
			p.Say("(%d more)", len(said)-i)
			break
		}
		p.Say("%s", line)
	}
	return true, nil
}
