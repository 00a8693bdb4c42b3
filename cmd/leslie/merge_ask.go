package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/merge"
	"leslie/thread"
	"leslie/warnings"
)

// This file asks about the conflicts of a merge that is recorded as pending.

// asker is one who may be asked; it records what it decides. An asker that
// cannot answer leaves conflicts open and is no error.
type asker func(m *merging) error

// askers are those who are asked, in turn. This is the one place that knows what
// a strategy means.
func (m *merging) askers() []asker {
	switch m.record.Strategy {
	case thread.AgentFirst:
		return []asker{(*merging).askAgentOrSay, (*merging).askPerson}
	case thread.HumanOnly, thread.Interactive:
		return []asker{(*merging).askPerson}
	}
	return nil
}

// ask asks until nothing is open or nobody is left to be asked.
func (m *merging) ask() error {
	for _, ask := range m.askers() {
		if m.plan.Open() == 0 {
			return nil
		}
		if err := ask(m); err != nil {
			return err
		}
	}
	return nil
}

// choice is a decision about a conflict, by its id, or about a path.
type choice struct {
	what     string
	decision thread.Decision
}

// fresh marks a decision on its way through merge.Plan.Decide.
const fresh = "this one"

// chosen is the decisions with these choices among them. Errors: T903 for one
// that does not fit.
func (m *merging) chosen(have map[string]thread.Decision, choices []choice) (map[string]thread.Decision, error) {
	for _, one := range choices {
		known := map[string]merge.Decision{}
		for id, d := range have {
			known[id] = merge.Decision{Take: d.Take, How: d.How}
		}
		next, err := m.plan.Decide(known, one.what, merge.Decision{Take: one.decision.Take, How: fresh})
		if err != nil {
			return nil, m.unfit(err)
		}
		out := map[string]thread.Decision{}
		for id, d := range next {
			out[id] = have[id]
			if d.How == fresh {
				out[id] = one.decision
			}
		}
		have = out
	}
	return have, nil
}

// unfit is T903 for a choice that does not fit its conflict.
func (m *merging) unfit(err error) error {
	e := codes.InvalidArgument.Wrap(err, fact.Of("reason", err.Error()), fact.Of("mergeId", m.record.ID))
	var why *merge.InvalidChoice
	if errors.As(err, &why) && len(why.Threads) > 0 {
		e = e.With(fact.Of("threads", why.Threads))
	}
	return e.WithHint("See the conflicts of the merge and what they allow").WithNext("leslie merge status " + string(m.record.ID))
}

// decide records choices and plans anew with them.
func (m *merging) decide(choices []choice) error {
	if len(choices) == 0 {
		return nil
	}
	return m.decideBy(func(have map[string]thread.Decision) (map[string]thread.Decision, error) {
		return m.chosen(have, choices)
	}, nil)
}

// answered records what somebody answered who was asked about conflicts. What was
// decided otherwise while they thought about it stays so: late says that there was
// such a one.
func (m *merging) answered(choices []choice) (late bool, err error) {
	known := m.record.Decisions
	err = m.decideBy(func(have map[string]thread.Decision) (map[string]thread.Decision, error) {
		open := slices.DeleteFunc(slices.Clone(choices), func(one choice) bool {
			whole := m.wholeOf(one.what)
			return have[one.what] != known[one.what] || have[whole] != known[whole]
		})
		late = len(open) < len(choices)
		return m.chosen(have, open)
	}, nil)
	return late, err
}

// wholeOf is the id under which the path of a conflict is decided as a whole.
func (m *merging) wholeOf(conflict string) string {
	for _, d := range m.plan.Conflicts {
		if d.ID == conflict {
			f, _ := m.file(d.Path)
			return f.ID
		}
	}
	return ""
}

// decideBy changes the decisions on record, and what was declined, and plans anew.
func (m *merging) decideBy(change func(map[string]thread.Decision) (map[string]thread.Decision, error), declined map[string]string) error {
	commit, err := m.update(func(s *thread.State, stamp thread.Stamp) error {
		rec, err := s.Decide(m.record.ID, change, declined, m.settings.policy, stamp)
		if err == nil {
			m.record = rec
		}
		return err
	})
	if err != nil {
		return err
	}
	m.c.warnings.Add(commit.Warnings...)
	return m.replan()
}

// replan plans from what the threads hold now, keeping what it reads in a new stage.
func (m *merging) replan() error {
	m.close()
	if err := m.openStage(); err != nil {
		return err
	}
	return m.makePlan(keptShelf{m.st, m.stage})
}

// keepText stores a text as a blob before a decision names it.
func (m *merging) keepText(text []byte) (thread.BlobID, error) {
	if err := m.openStage(); err != nil {
		return "", err
	}
	id, err := m.stage.Put(text)
	if err != nil {
		return "", err
	}
	return id, m.c.relyOn(m.stage)
}

// canPrompt reports whether a person is there to be asked.
func (c *call) canPrompt() bool {
	return c.env.stdinTTY && c.env.stderrTTY && c.who.as == thread.User && c.who.format == "text" && !c.who.noInput
}

// prompt is a conversation on the terminal, on stderr: stdout is the answer's.
type prompt struct {
	in    *bufio.Reader
	out   io.Writer
	done  <-chan struct{} // closed when the call is interrupted
	paint func(code, s string) string
}

func (c *call) newPrompt() *prompt {
	return &prompt{in: bufio.NewReader(c.env.stdin), out: c.env.stderr, done: c.ctx.Done(), paint: c.painter()}
}

// line asks and returns the answer in lower case; ok is false when the terminal
// was closed, or an interrupt came: the reader is then left behind with the
// process.
func (p *prompt) line(question string) (answer string, ok bool) {
	text, ok := p.text(question)
	return strings.ToLower(text), ok
}

// text is line for an answer that is kept as it was written.
func (p *prompt) text(question string) (answer string, ok bool) {
	fmt.Fprint(p.out, question+" ")
	read := make(chan string, 1)
	go func() {
		text, err := p.in.ReadString('\n')
		if err == nil || text != "" {
			read <- text
		}
		close(read)
	}()
	select {
	case text, ok := <-read:
		return strings.TrimSpace(text), ok
	case <-p.done:
		return "", false
	}
}

// choose asks until the answer is one of the words, or its first letter; ok is
// false as for line.
func (p *prompt) choose(question string, words ...string) (answer string, ok bool) {
	for {
		answer, ok := p.line(question + " (" + strings.Join(words, ", ") + ")")
		if !ok {
			return "", false
		}
		for _, word := range words {
			if answer == word || answer == word[:1] {
				return word, true
			}
		}
	}
}

// interrupted is T904 when the call was interrupted, nil when the person left.
func (c *call) interrupted() error {
	if c.ctx.Err() == nil {
		return nil
	}
	return codes.Interrupted.Wrap(context.Cause(c.ctx))
}

func (p *prompt) say(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// askPerson shows each open conflict and asks. Each answer is recorded at once,
// so that nothing is lost when the person is called away.
func (m *merging) askPerson() error {
	if !m.c.canPrompt() {
		return nil
	}
	offer, err := m.mayResolve()
	if err != nil {
		return err
	}
	offer = offer && m.record.Strategy == thread.Interactive && m.agentCommand() != ""
	p := m.c.newPrompt()
	skipped := map[string]bool{}
	allAgent := false
	for {
		d, ok := m.nextOpen(skipped)
		if !ok {
			return nil
		}
		m.show(p, d)
		if offer && !skipped["agent "+d.Path] {
			answer := "yes"
			if !allAgent {
				answer, ok = p.line("Conflict detected. Allow Agent to attempt auto-resolution? (yes, no, all)")
				if !ok {
					return m.c.interrupted()
				}
			}
			allAgent = allAgent || answer == "all" || answer == "a"
			skipped["agent "+d.Path] = true
			if allAgent || strings.HasPrefix(answer, "y") {
				if err := m.askAgent(d.Path); err != nil {
					return err
				}
				continue
			}
		}
		quit, err := m.askOne(p, d, skipped)
		if quit || err != nil {
			return err
		}
	}
}

func (m *merging) nextOpen(skipped map[string]bool) (merge.Conflict, bool) {
	for _, d := range m.disputes() {
		if d.Status == merge.Unresolved && !skipped[d.ID] {
			return d, true
		}
	}
	return merge.Conflict{}, false
}

// show draws a conflict: both sides against the base.
func (m *merging) show(p *prompt, d merge.Conflict) {
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

const green = "32"

// askOne asks about one conflict until it has an answer.
func (m *merging) askOne(p *prompt, d merge.Conflict, skipped map[string]bool) (quit bool, err error) {
	for {
		answer, ok := p.line("ours, theirs, base, both, edit, agent, skip, quit?")
		if !ok || answer == "quit" || answer == "q" {
			return true, m.c.interrupted()
		}
		var decision thread.Decision
		switch answer {
		case "edit", "e":
			decision.Take = merge.TakeText
			text, err := m.edit(d)
			if err != nil {
				p.say("the editor did not finish: %s", escape(err.Error()))
				continue
			}
			if decision.Text, err = m.keepText(text); err != nil {
				return true, err
			}
		case "agent", "a":
			if err := m.askAgent(d.Path); err != nil {
				return true, err
			}
			return false, nil
		case "skip", "s":
			skipped[d.ID] = true
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
		decision.How, decision.Actor = string(m.c.who.as), m.c.who.actor
		late, err := m.answered([]choice{{d.ID, decision}})
		if late {
			p.say("%s was decided meanwhile", d.ID)
		}
		return false, err
	}
}

// edit lets the person write the lines of a conflict in their editor.
func (m *merging) edit(d merge.Conflict) ([]byte, error) {
	editor := m.c.env.getenv("VISUAL")
	if editor == "" {
		editor = m.c.env.getenv("EDITOR")
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
	err = m.c.runEditor(argv[0], append(argv[1:], path)...)
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

// editorPatience is how long an editor may take to save when leslie is ended.
const editorPatience = 5 * time.Second

// runEditor runs a program that the person has the terminal with. It is asked to
// end when leslie is, and not killed over what it has not saved.
func (c *call) runEditor(name string, args ...string) error {
	cmd := exec.CommandContext(c.ctx, name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.env.stdin, c.env.stderr, c.env.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = editorPatience
	if own, ok := c.ctx.(*interruptible); ok {
		return own.lend(cmd)
	}
	return cmd.Run()
}

// agentCommand is the agent that may be asked: the flag's, else the user's own.
func (m *merging) agentCommand() string {
	if command := m.c.text("agent"); command != "" {
		return command
	}
	return m.settings.agent
}

// askAgentOrSay asks the agent, or says that there is none.
func (m *merging) askAgentOrSay() error {
	if m.agentCommand() == "" {
		m.c.warnings.Add(warnings.AgentDeclined.New(fact.Of("path", "every conflict"), fact.Of("reason", "no agent is configured: say --agent, or set merge.agent in your own configuration")))
		return nil
	}
	for _, f := range m.plan.Files {
		if f.Open > 0 {
			if err := m.askAgent(f.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCommands refuses command lines that cannot be split into words.
func (c *call) checkCommands() {
	for _, name := range []string{"agent", "validate"} {
		if c.has(name) {
			if _, err := external.Split(c.text(name)); err != nil {
				c.fault("--"+name, c.text(name), "--"+name+" cannot be split into words")
			}
		}
	}
}

// declinedBy is W303.
func (m *merging) declinedBy(path, reason string) {
	m.c.warnings.Add(warnings.AgentDeclined.New(fact.Of("path", path), fact.Of("reason", reason)))
}

// unavailable turns the failure of an agent that gave no answer into a reason;
// every other failure, the caller's interrupt too, stays an error.
func unavailable(err error) (reason string, stop error) {
	for _, code := range []codes.Code{codes.AgentUnavailable, codes.AgentConnection, codes.AgentTimeout, codes.InvalidArgument} {
		if codes.Has(err, code) {
			return err.Error(), nil
		}
	}
	return "", err
}
