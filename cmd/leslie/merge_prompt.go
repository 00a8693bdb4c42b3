package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/internal/app/merging"
	"leslie/internal/external"
	"leslie/merge"
	"leslie/thread"
)

// This file asks the person at the terminal, who resolves the conflicts of a merge and
// decides whether to apply it.

// mergePrompt asks the person. It is a merging.Resolver and a merging.Approver.
type mergePrompt struct {
	c *call
	*prompt
	// skipped has the conflicts that the person left open, offered the paths for which
	// the prompt has offered the agent.
	skipped, offered map[string]bool
	agent            bool // whether there is an agent
}

// person returns the resolver and approver for the terminal; both are nil if nobody
// can be asked.
func (c *call) person() (merging.Resolver, merging.Approver) {
	if !canPrompt(c) {
		return nil, nil
	}
	p := &mergePrompt{c: c}
	return p, p
}

// Resolve shows each open conflict and asks. It records each answer at once, so that
// nothing is lost if the person is interrupted.
func (p *mergePrompt) Resolve(_ context.Context, s *merging.Session) error {
	can, offer, err := s.CanAskAgent()
	if err != nil {
		return err
	}
	p.prompt, p.agent = newPrompt(p.c), can
	p.skipped, p.offered = map[string]bool{}, map[string]bool{}
	allAgent := false
	for {
		d, ok := p.next(s)
		if !ok {
			return nil
		}
		p.show(d)
		if offer && !p.offered[d.Path] {
			answer := "yes"
			if !allAgent {
				answer, ok = p.choose("Conflict detected. Allow Agent to attempt auto-resolution?", "yes", "no", "all")
				if !ok {
					return interrupted(p.c)
				}
			}
			allAgent = allAgent || answer == "all"
			p.offered[d.Path] = true
			if allAgent || answer == "yes" {
				if err := s.AskAgent(d.Path); err != nil {
					return err
				}
				p.sayResolved(s, d.Path)
				continue
			}
		}
		quit, err := p.askOne(s, d)
		if quit || err != nil {
			return err
		}
	}
}

// next returns the first open conflict that was not skipped.
func (p *mergePrompt) next(s *merging.Session) (merge.Conflict, bool) {
	open := s.Open("")
	i := slices.IndexFunc(open, func(d merge.Conflict) bool { return !p.skipped[d.ID] })
	if i < 0 {
		return merge.Conflict{}, false
	}
	return open[i], true
}

// show draws a conflict: both sides against the base.
func (p *mergePrompt) show(d merge.Conflict) {
	p.say("\n%s %s  %s %d/%d  %s", p.paint(bold, "conflict"), escape(d.Path), d.Kind, d.Hunk, d.Of, d.ID)
	if d.Detail != "" {
		p.say("  %s", escape(d.Detail))
	}
	part := func(colour, title, text string, absent bool) {
		p.say("%s", p.paint(colour, title))
		if absent {
			p.say("    (no such file)")
		}
		for line := range strings.Lines(text) {
			p.say("    %s", p.paint(colour, escape(strings.TrimRight(line, "\r\n"))))
		}
	}
	for line := range strings.Lines(d.Context.Before) {
		p.say("    %s", escape(strings.TrimRight(line, "\r\n")))
	}
	for i, s := range d.Sides {
		part([]string{green, red, yellow}[min(i, 2)], "  "+s.Role+" ("+s.Thread+")", s.Text, s.Absent)
		if i == 0 {
			part(bold, "  base ("+d.Base.From+")", d.Base.Text, false)
		}
	}
	for line := range strings.Lines(d.Context.After) {
		p.say("    %s", escape(strings.TrimRight(line, "\r\n")))
	}
}

// askOne asks about one conflict until it has an answer.
func (p *mergePrompt) askOne(s *merging.Session, d merge.Conflict) (quit bool, err error) {
	words := []string{"ours", "theirs", "base", "both", "edit", "skip", "quit"}
	if p.agent {
		words = slices.Insert(words, 5, "agent")
	}
	for {
		answer, ok := p.word(words...)
		switch {
		case !ok || answer == "quit":
			return true, interrupted(p.c)
		case answer == "agent" && p.agent:
			err := s.AskAgent(d.Path)
			p.sayResolved(s, d.Path)
			return false, err
		case answer == "skip":
			p.skipped[d.ID] = true
			return false, nil
		}
		decision := merge.Decision{Take: answer, How: string(p.c.who.as), Actor: p.c.who.actor}
		said := answer
		if answer == "edit" {
			if decision.Text, err = p.edit(d); err != nil {
				p.say("%s stays open: %s", place(d), escape(err.Error()))
				continue
			}
			decision.Take, said = merge.TakeText, "edited"
		}
		if err := d.Fits(decision.Take); err != nil {
			p.say("%s", escape(err.Error()))
			continue
		}
		late, err := s.Answer(merging.Answer{About: d.ID, Decision: decision})
		switch {
		case late:
			p.say("%s has been decided in the meantime", d.ID)
		case err == nil:
			p.say("%s: %s", place(d), escape(said))
		}
		return false, err
	}
}

// place returns a conflict's file and its number in it.
func place(d merge.Conflict) string { return fmt.Sprintf("%s %d/%d", escape(d.Path), d.Hunk, d.Of) }

// sayResolved prints the conflicts of a path that the agent has decided.
func (p *mergePrompt) sayResolved(s *merging.Session, path string) {
	for _, d := range s.Conflicts() {
		if d.Path == path && d.How == merge.ByAgent {
			p.say("%s: agent", place(d))
		}
	}
}

// word asks for one of these words, or a prefix of one. It asks again for an ambiguous
// prefix; it returns other input unchanged, such as a thread's id.
func (p *mergePrompt) word(words ...string) (answer string, ok bool) {
	for {
		answer, ok := p.line(strings.Join(words, ", ") + "?")
		if !ok || slices.Contains(words, answer) {
			return answer, ok
		}
		meant := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !strings.HasPrefix(word, answer) })
		switch {
		case answer == "":
		case len(meant) == 1:
			return meant[0], true
		case len(meant) > 1:
			p.say("'%s' could mean %s", escape(answer), strings.Join(meant, " or "))
		default:
			return answer, true
		}
	}
}

// errUnchanged: the person changed nothing in the editor.
var errUnchanged = errors.New("nothing was changed in the editor")

// edit opens the lines of a conflict in the person's editor, with markers. Its error
// says that they were not changed, or that markers are left.
func (p *mergePrompt) edit(d merge.Conflict) ([]byte, error) {
	marked, err := d.Marked()
	if err != nil {
		return nil, err
	}
	editor := p.c.env.getenv("VISUAL")
	if editor == "" {
		editor = p.c.env.getenv("EDITOR")
	}
	if editor == "" {
		editor = "vi"
	}
	argv, err := external.Split(editor)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "leslie-edit-")
	if err != nil {
		return nil, err
	}
	keep := false
	defer func() {
		if !keep {
			_ = os.RemoveAll(dir)
		}
	}()
	path := filepath.Join(dir, filepath.Base(d.Path))
	if err := os.WriteFile(path, marked.Text, 0o600); err != nil {
		return nil, err
	}
	err = runEditor(p.c, argv[0], append(argv[1:], path)...)
	typed, unread := os.ReadFile(path)
	err = errors.Join(err, unread)
	changed := unread == nil && !bytes.Equal(typed, marked.Text)
	switch {
	case err == nil && !changed:
		return nil, errUnchanged
	case err == nil && marked.Unmarked(typed):
		return typed, nil
	case err == nil:
		err = errors.New("there are conflict markers left in it")
	default:
		err = fmt.Errorf("the editor did not finish: %w", err)
	}
	// The editor may have saved the text, perhaps under another name.
	if left, _ := os.ReadDir(dir); len(left) > 1 || changed {
		keep, err = true, fmt.Errorf("%w; what was typed is kept in %s", err, dir)
	}
	return nil, err
}

// Approve shows what the merge would do, and asks.
func (p *mergePrompt) Approve(_ context.Context, g thread.Approval, plan []merging.PlannedFile) (merging.Verdict, error) {
	p.prompt = newPrompt(p.c)
	p.say("\n%s %s  %s", p.paint(bold, "approval"), g.ID, escape(g.Reason))
	p.plan(g.MergeID, plan)
	answer, ok := p.choose("Apply this merge?", "yes", "no", "later")
	switch {
	case !ok:
		return merging.Verdict{}, interrupted(p.c)
	case answer == "yes":
		return merging.Verdict{Decision: thread.Approve}, nil
	case answer == "no":
		reason, _ := p.text("Why? (may be left empty)")
		return merging.Verdict{Decision: thread.Deny, Reason: reason}, nil
	}
	return merging.Verdict{}, nil
}

// plan draws what a merge that is asked about would do.
func (p *prompt) plan(id thread.MergeID, list []merging.PlannedFile) {
	for i, f := range list {
		if i == maxShownLines {
			p.say("    (%d more; leslie merge status %s)", len(list)-i, id)
			break
		}
		p.say("    %s %s", f.Verb(), escape(f.Path))
	}
}
