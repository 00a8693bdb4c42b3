package main

import (
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

// This file is the person at the terminal, who decides the conflicts of a merge
// and whether it is applied.

// mergePrompt asks the person. It is a merging.Resolver and a merging.Approver.
type mergePrompt struct {
	c *call
	*prompt
	// asked are the conflicts that the person left open, and the paths about which
	// the agent was offered.
	skipped, offered map[string]bool
}

// person is whoever can be asked at the terminal: both are nil where nobody is there.
func (c *call) person() (merging.Resolver, merging.Approver) {
	if !c.canPrompt() {
		return nil, nil
	}
	p := &mergePrompt{c: c}
	return p, p
}

// Resolve shows each open conflict and asks. Each answer is recorded at once, so
// that nothing is lost when the person is called away.
func (p *mergePrompt) Resolve(_ context.Context, s *merging.Session) error {
	offer, err := s.OfferAgent()
	if err != nil {
		return err
	}
	p.prompt = p.c.newPrompt()
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
				answer, ok = p.line("Conflict detected. Allow Agent to attempt auto-resolution? (yes, no, all)")
				if !ok {
					return p.c.interrupted()
				}
			}
			allAgent = allAgent || answer == "all" || answer == "a"
			p.offered[d.Path] = true
			if allAgent || strings.HasPrefix(answer, "y") {
				if err := s.AskAgent(d.Path); err != nil {
					return err
				}
				continue
			}
		}
		quit, err := p.askOne(s, d)
		if quit || err != nil {
			return err
		}
	}
}

// next is the first conflict that is open and was not left so.
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
	for {
		answer, ok := p.line("ours, theirs, base, both, edit, agent, skip, quit?")
		if !ok || answer == "quit" || answer == "q" {
			return true, p.c.interrupted()
		}
		decision := merge.Decision{How: string(p.c.who.as), Actor: p.c.who.actor}
		switch answer {
		case "edit", "e":
			decision.Take = merge.TakeText
			if decision.Text, err = p.edit(d); err != nil {
				p.say("the editor did not finish: %s", escape(err.Error()))
				continue
			}
		case "agent", "a":
			return false, s.AskAgent(d.Path)
		case "skip", "s":
			p.skipped[d.ID] = true
			return false, nil
		default:
			decision.Take = answer
			if whole, ok := map[string]string{"o": "ours", "t": "theirs", "b": "base"}[answer]; ok {
				decision.Take = whole
			}
		}
		if err := d.Fits(decision.Take); err != nil {
			p.say("%s", escape(err.Error()))
			continue
		}
		late, err := s.Answer(merging.Answer{About: d.ID, Decision: decision})
		if late {
			p.say("%s was decided meanwhile", d.ID)
		}
		return false, err
	}
}

// edit lets the person write the lines of a conflict in their editor.
func (p *mergePrompt) edit(d merge.Conflict) ([]byte, error) {
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
	var text strings.Builder
	for _, s := range d.Sides {
		text.WriteString(s.Text)
		if s.Text != "" && !strings.HasSuffix(s.Text, "\n") {
			text.WriteString("\n")
		}
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return nil, err
	}
	err = p.c.runEditor(argv[0], append(argv[1:], path)...)
	typed, unread := os.ReadFile(path)
	if err = errors.Join(err, unread); err == nil {
		return typed, nil
	}
	// An editor may have saved what was typed, in its own way too.
	if left, _ := os.ReadDir(dir); len(left) > 1 || unread == nil && string(typed) != text.String() {
		keep, err = true, fmt.Errorf("%w; what was typed is kept in %s", err, dir)
	}
	return nil, err
}

// Approve shows what the merge would do, and asks.
func (p *mergePrompt) Approve(_ context.Context, g thread.Approval, plan []merging.PlannedFile) (merging.Verdict, error) {
	p.prompt = p.c.newPrompt()
	p.say("\n%s %s  %s", p.paint(bold, "approval"), g.ID, escape(g.Reason))
	p.plan(g.MergeID, plan)
	answer, ok := p.choose("Apply this merge?", "yes", "no", "later")
	switch {
	case !ok:
		return merging.Verdict{}, p.c.interrupted()
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
