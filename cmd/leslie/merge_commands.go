package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/merge"
	"leslie/store"
	"leslie/thread"
)

// mergeItem is a pending merge in a list.
type mergeItem struct {
	MergeID   thread.MergeID    `json:"mergeId"`
	Target    thread.ThreadID   `json:"target"`
	Sources   []thread.ThreadID `json:"sources"`
	Strategy  thread.Strategy   `json:"strategy"`
	Decided   int               `json:"decided"`
	CreatedAt time.Time         `json:"createdAt"`
	CreatedBy actorData         `json:"createdBy"`
	// RequireApproval and Approval are those of mergeData.
	RequireApproval bool           `json:"requireApproval,omitempty"`
	Approval        *mergeApproval `json:"approval,omitempty"`
}

func mergeItemOf(s *thread.State, m thread.Merge) mergeItem {
	return mergeItem{
		RequireApproval: m.RequireApproval, Approval: approvalOfMerge(s, m),
		MergeID: m.ID, Target: m.Target, Sources: m.Sources, Strategy: m.Strategy, Decided: len(m.Decisions),
		CreatedAt: m.Created.At, CreatedBy: actorData{As: m.Created.As, Actor: m.Created.Actor},
	}
}

type mergeList struct{ items[mergeItem] }

func (d *mergeList) Text(p *page) {
	var rows [][]string
	for _, m := range d.Items {
		rows = append(rows, []string{string(m.MergeID), string(m.Target), joined(m.Sources), string(m.Strategy), m.CreatedAt.Format(time.RFC3339), m.CreatedBy.Actor, m.Approval.text(m.RequireApproval)})
	}
	p.table("MERGE TARGET SOURCES STRATEGY SINCE BY APPROVAL", rows)
	p.rest(len(d.Items), d.Total)
	if d.Total == 0 {
		p.line("no merge is pending")
	}
}

func mergeListCommand() *command {
	return &command{
		name: "merge list", summary: "list the merges that wait for decisions", example: "leslie merge list",
		flags: []cli.Flag{limitFlag()}, run: runMergeList,
	}
}

func runMergeList(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	var all []mergeItem
	_, err := c.view(func(s *thread.State) error {
		all = nil
		for _, m := range s.MergesOf("") {
			all = append(all, mergeItemOf(s, m))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &mergeList{firstItems(all, c.count("limit", defaultLimit))}, nil
}

func mergeOperand() operand { return operand{value: anID("M", mergeIDs)} }

func mergeStatusCommand() *command {
	return &command{
		name: "merge status", summary: "show a pending merge and its conflicts", example: "leslie merge status merge-a1b2c3d4",
		teach:    lesson{bringing, "merge status MERGE"},
		operands: []operand{mergeOperand()}, run: runMergeStatus,
	}
}

// pendingMerge finds a pending merge and what may be run for it.
func (c *call) pendingMerge() (*merging, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	m := &merging{c: c, st: st, recorded: true}
	_, err = c.view(func(s *thread.State) (err error) {
		m.record, err = s.Merge(c.operand(0))
		return err
	})
	if err != nil {
		return nil, err
	}
	m.set, err = scope.Parse(m.record.Scope)
	return m, err
}

func runMergeStatus(c *call) (Data, error) {
	m, err := c.pendingMerge()
	if err != nil {
		return nil, err
	}
	m.looking = true
	if err := m.makePlan(looseShelf{m.st, map[string]place{}}); err != nil {
		return nil, err
	}
	return m.answer("pending"), nil
}

func mergeResolveCommand() *command {
	return &command{
		name: "merge resolve", summary: "decide a conflict of a pending merge, or a whole path", writes: true, alone: true,
		teach: lesson{bringing, "merge resolve MERGE PATH --take SIDE"},
		detail: "--take chooses a side: ours (the target), theirs (the only source), base, both, delete, keep, or a thread's id.\n" +
			"--file gives the content: of the one conflict that is named, else of the whole path; - reads standard input.\n" +
			"Answering again replaces the answer. Without PATH or CONFLICT the choice is for every open conflict.",
		example:  "leslie merge resolve merge-a1b2c3d4 plan.md --take both",
		operands: []operand{mergeOperand(), {value: anyText("PATH|CONFLICT"), optional: true}},
		flags: []cli.Flag{
			newOption("take", anyText("SIDE"), "ours, theirs, base, both, delete, keep, or a thread's id"),
			newOption("file", anyText("F|-"), "a file with the content; - reads standard input"),
			newOption("reason", anyText("R"), "why, for the record"),
		},
		run: runMergeResolve,
	}
}

func runMergeResolve(c *call) (Data, error) {
	if c.has("take") == c.has("file") {
		c.fault("--take", "", "say --take SIDE or --file F, and not both")
	}
	if c.has("file") && c.operand(1) == "" {
		c.fault("PATH|CONFLICT", "", "--file needs the PATH or the CONFLICT that it is for")
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	if first, ok, err := answered[mergeData](c); ok || err != nil {
		return first, err
	}
	m, err := c.pendingMerge()
	if err != nil {
		return nil, err
	}
	if m.settings, err = c.configured(m.st); err != nil {
		return nil, err
	}
	defer m.close()
	if err := m.replan(); err != nil {
		return nil, err
	}
	choices, err := m.asked(c.operand(1))
	if err != nil {
		return nil, err
	}
	if _, err := m.chosen(m.record.Decisions, choices); err != nil {
		return nil, err
	}
	return write(c, func(s *thread.State, stamp thread.Stamp) (*mergeData, thread.ThreadID, error) {
		rec, err := s.Decide(m.record.ID, func(have map[string]thread.Decision) (map[string]thread.Decision, error) {
			return m.chosen(have, choices)
		}, nil, m.settings.policy, stamp)
		if err != nil {
			return nil, "", err
		}
		m.record = rec
		if m.g.input.Decisions, err = m.decisions(keptShelf{m.st, m.stage}); err != nil {
			return nil, "", err
		}
		if m.plan, err = m.g.plan(); err != nil {
			return nil, "", err
		}
		return m.answer("pending"), rec.Target, nil
	})
}

// asked are the choices that a resolve asks for.
func (m *merging) asked(about string) ([]choice, error) {
	c := m.c
	decision := thread.Decision{Take: c.text("take"), How: string(c.who.as), Actor: c.who.actor, Reason: c.text("reason")}
	if c.has("file") {
		text, err := c.readFile(c.text("file"))
		if err != nil {
			return nil, err
		}
		decision.Take = merge.TakeText
		if decision.Text, err = m.keepText(text); err != nil {
			return nil, err
		}
	}
	var out []choice
	for _, d := range m.plan.Conflicts {
		switch {
		case about == d.ID: // of which another one may be the beginning
			return []choice{{d.ID, decision}}, nil
		case about == "" && d.Status == merge.Unresolved, len(about) >= 4 && strings.HasPrefix(d.ID, about):
			out = append(out, choice{d.ID, decision})
		case about == d.Path && about != "":
			return []choice{{d.Path, decision}}, nil
		}
	}
	if len(out) > 0 && (about == "" || len(out) == 1) {
		return out, nil
	}
	reason := "the merge has no conflict and no path " + quoted(about)
	switch {
	case about == "":
		reason = "every conflict of the merge is resolved already"
	case len(out) > 1:
		reason = quoted(about) + " begins the ids of several conflicts"
	}
	return nil, codes.InvalidArgument.New(fact.Of("reason", reason), fact.Of("mergeId", m.record.ID)).
		WithHint("See the conflicts of the merge").WithNext("leslie merge status " + string(m.record.ID))
}

// readFile reads a file that the caller names, or standard input for "-".
// Errors: T903, T508, T509.
func (c *call) readFile(name string) ([]byte, error) {
	in := c.env.stdin
	if name != "-" {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.who.dir, path)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, codes.ReadFailed.Wrap(err, fact.Of("path", name), fact.Of("reason", plainReason(err)))
		}
		defer f.Close()
		in = f
	}
	var text bytes.Buffer
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			text.Grow(int(min(info.Size(), store.MaxFile)) + bytes.MinRead) // read in one go
		}
	}
	_, err := text.ReadFrom(io.LimitReader(in, store.MaxFile+1))
	data := text.Bytes()
	switch {
	case err != nil:
		return nil, codes.ReadFailed.Wrap(err, fact.Of("path", name), fact.Of("reason", plainReason(err)))
	case len(data) > store.MaxFile:
		return nil, codes.TooLarge.New(fact.Of("what", name), fact.Of("limit", "64 MiB"))
	}
	return data, nil
}

func mergeContinueCommand() *command {
	return &command{
		name: "merge continue", summary: "apply a pending merge when nothing is open", writes: true, alone: true,
		teach:    lesson{bringing, "merge continue MERGE"},
		detail:   "Files under the merge's work folder that were edited and have none of its markers left count as resolved.",
		example:  "leslie merge continue merge-a1b2c3d4",
		operands: []operand{mergeOperand()}, flags: commitFlags(), run: runMergeContinue,
	}
}

func runMergeContinue(c *call) (Data, error) {
	c.checkCommands()
	if err := c.usage(); err != nil {
		return nil, err
	}
	if first, ok, err := answered[mergeData](c); ok || err != nil {
		return first, err
	}
	m, err := c.pendingMerge()
	if err != nil {
		return nil, err
	}
	if m.settings, err = c.settings(m.st); err != nil {
		return nil, err
	}
	data, err := m.goOn()
	return data, m.stillPending(err)
}

// resumeIfUnblocked takes up a pending merge: with what was edited, and asking about the rest.
func (m *merging) goOn() (Data, error) {
	defer m.close()
	if err := m.replan(); err != nil {
		return nil, err
	}
	edited, err := m.editedWork()
	if err != nil {
		return nil, err
	}
	if err := m.decide(edited); err != nil {
		return nil, err
	}
	return m.finish()
}

// editedWork are decisions that somebody took in the marker files: those that
// changed and have none of their markers left. What a side has changed since a file
// was written is merged into what was made of it; where that does not work out, or
// leaves a marker, the path stays open (outdated).
func (m *merging) editedWork() ([]choice, error) {
	var out []choice
	undecided := m.plan
	for _, f := range m.plan.Files {
		id, ok := m.record.Work[f.Path]
		if !ok || f.Open == 0 || f.Merge == nil {
			continue
		}
		now, err := m.st.ReadWork(m.record.ID, f.Path)
		if err != nil {
			continue // removed: no answer
		}
		was, err := m.st.Blob(id)
		wrote := merge.Written(was)
		if err != nil || string(was) == string(now) || !wrote.Unmarked(now) {
			continue
		}
		if undecided == m.plan && len(m.g.input.Decisions) > 0 {
			if undecided, err = m.g.undecided(); err != nil {
				return nil, err
			}
		}
		is := undecided.Marked(f.Path)
		made, clean := merge.Text(was, now, is.Text).Merged()
		if !clean || !is.Unmarked(made) || !wrote.Unmarked(made) {
			m.outdated = append(m.outdated, f.Path)
			continue
		}
		text, err := m.keepText(made)
		if err != nil {
			return nil, err
		}
		out = append(out, choice{f.Path, thread.Decision{Take: merge.TakeText, Text: text, How: string(m.c.who.as), Actor: m.c.who.actor, Reason: "edited"}})
	}
	return out, nil
}

func mergeAbortCommand() *command {
	return &command{
		name: "merge abort", summary: "give a pending merge up; the target stays as it is", writes: true, alone: true,
		example:  "leslie merge abort merge-a1b2c3d4",
		operands: []operand{mergeOperand()}, run: runMergeAbort,
	}
}

func runMergeAbort(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	return write(c, func(s *thread.State, stamp thread.Stamp) (*mergeData, thread.ThreadID, error) {
		rec, err := s.EndMerge(c.operand(0), "the merge was aborted", stamp)
		if err != nil {
			return nil, "", err
		}
		s.Plan(thread.Step{Do: thread.StepRemove, To: store.MergesDir + "/" + string(rec.ID)})
		m := &merging{c: c, record: rec}
		return m.answer("aborted"), rec.Target, nil
	})
}

// pendingMergesOf are the merges that a thread's status shows.
func pendingMergesOf(s *thread.State, id thread.ThreadID) []mergeItem {
	out := []mergeItem{}
	for _, m := range s.MergesOf(id) {
		out = append(out, mergeItemOf(s, m))
	}
	return slices.Clip(out)
}
