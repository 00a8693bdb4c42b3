package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"leslie/codes"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
)

// This file is about a merge that a person has to approve (--require-approval).
// The request is for one plan: what the merge would do is listed in a blob, and
// the hash of that list is what is approved. A merge that would do something
// else asks anew.

// plannedFile is one path of a plan, as the list holds it.
type plannedFile struct {
	Path       string        `json:"path"`
	Before     thread.BlobID `json:"before"` // "" for no file
	After      thread.BlobID `json:"after"`
	Executable bool          `json:"executable,omitempty"` // after
	Open       int           `json:"open,omitempty"`       // conflicts
}

// planList is what the merge would do to its target, path by path.
func (m *merging) planList() []plannedFile {
	out := []plannedFile{}
	for _, f := range m.plan.Files {
		if f.Idle() {
			continue
		}
		one := plannedFile{Path: f.Path, Before: thread.BlobID(f.Before.Hash), Open: f.Open}
		if f.Open == 0 {
			one.After, one.Executable = thread.BlobID(f.After.Hash), f.After.Executable
		}
		out = append(out, one)
	}
	return out
}

// planDigest is the list as it rests and its hash, which names the blob.
func planDigest(list []plannedFile) (thread.BlobID, []byte, error) {
	raw, err := marshal(list)
	sum := sha256.Sum256(raw)
	return thread.BlobID(hex.EncodeToString(sum[:])), raw, err
}

// readPlan reads the list that a request was about. Errors: T509.
func readPlan(st *store.Store, id thread.BlobID) (list []plannedFile, err error) {
	raw, err := st.Blob(id)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, codes.Internal.Wrap(err)
	}
	return list, nil
}

// differingPlans are the paths with which two plans do not do the same.
func differingPlans(was, now []plannedFile) []string {
	left := map[string]plannedFile{}
	for _, f := range was {
		left[f.Path] = f
	}
	var out []string
	for _, f := range now {
		if left[f.Path] != f {
			out = append(out, f.Path)
		}
		delete(left, f.Path)
	}
	for path := range left {
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

// replanned is a pending merge, planned as a reader does.
func (c *call) replanned(st *store.Store, id thread.MergeID) (*merging, error) {
	m := &merging{c: c, st: st, recorded: true, looking: true}
	_, err := c.view(func(s *thread.State) (err error) {
		m.record, err = s.Merge(string(id))
		return err
	})
	if err == nil {
		m.set, err = scope.Parse(m.record.Scope)
	}
	if err != nil {
		return nil, err
	}
	return m, m.makePlan(looseShelf{st, map[string]place{}})
}

// planChanged are the paths with which the merge would now do something else
// than what was asked about.
func (c *call) planChanged(st *store.Store, g thread.Approval) ([]string, error) {
	was, err := readPlan(st, g.Plan)
	if err != nil {
		return nil, err
	}
	m, err := c.replanned(st, g.MergeID)
	if codes.Has(err, codes.MergeNotFound) {
		return nil, nil // it was applied
	}
	if err != nil {
		return nil, err
	}
	return differingPlans(was, m.planList()), nil
}

// showPlan draws what a merge that is asked about would do.
func (c *call) showPlan(st *store.Store, p *prompt, g thread.Approval) error {
	list, err := readPlan(st, g.Plan)
	for i, f := range list {
		if i == maxShownLines {
			p.say("    (%d more; leslie merge status %s)", len(list)-i, g.MergeID)
			break
		}
		p.say("    %s %s", f.verb(), escape(f.Path))
	}
	return err
}

func (f plannedFile) verb() string {
	switch {
	case f.Open > 0:
		return "conflict"
	case f.Before == "":
		return "add"
	case f.After == "":
		return "delete"
	}
	return "change"
}

// allowed returns when the merge may be applied as it is planned: at once where
// nobody has to approve it, else when a person has. A request is opened where
// none is; a person at the terminal is asked there and then. Errors: T402 while
// the request is open, T404 when it was denied.
func (m *merging) allowed() error {
	if m.agreed = ""; !m.record.RequireApproval {
		return nil
	}
	list := m.planList()
	var raw []byte
	var err error
	if m.digest, raw, err = planDigest(list); err != nil {
		return err
	}
	_, err = m.c.view(func(s *thread.State) error { return m.mayApply(s, m.c.now()) })
	if !codes.Has(err, codes.PermissionDenied) {
		return err
	}
	g, denied, err := m.askApproval(list, raw)
	switch {
	case err != nil || g.Status == thread.GrantApproved:
		return err
	case g.Status == thread.GrantOpen && m.c.canPrompt():
		return m.askToApply(g)
	}
	return denied
}

// mayApply is State.MayMerge for the plan; one that changes nothing needs nobody.
func (m *merging) mayApply(s *thread.State, at time.Time) error {
	m.approval = approvalOfMerge(s, m.record)
	if m.idle() {
		return nil
	}
	return s.MayMerge(m.record, m.digest, m.settings.policy, at)
}

// askApproval opens the request about the plan, together with the merge where
// that is not recorded yet, or finds the one that is there. W402 names what has
// changed since an earlier request. denied is why the merge may not be applied
// then: it is known with the request, since behind its commit nothing may fail.
func (m *merging) askApproval(list []plannedFile, raw []byte) (g thread.Approval, denied, err error) {
	if err := m.openStage(); err != nil {
		return g, nil, err
	}
	if _, err := m.stage.Put(raw); err != nil {
		return g, nil, err
	}
	if err := m.c.relyOn(m.stage); err != nil {
		return g, nil, err
	}
	var old *thread.Approval
	ask := func(s *thread.State, stamp thread.Stamp) error {
		old = nil
		in := thread.NewGrant{ID: m.c.newApprovalID(s), Plan: m.digest, Reason: m.summary(len(list))}
		if g, old, err = s.AskMerge(m.record, in, stamp); err == nil {
			denied = m.mayApply(s, stamp.Time)
		}
		return err
	}
	if m.recorded {
		var commit store.Commit
		commit, err = m.update(ask)
		m.c.warnings.Add(commit.Warnings...)
		m.close() // the next operation has a stage of its own
	} else {
		err = m.recordPending(ask)
	}
	m.approval = &mergeApproval{g.ID, g.Status}
	if err != nil || old == nil {
		return g, denied, err
	}
	if was, err := readPlan(m.st, old.Plan); err == nil {
		m.c.warnPaths(old.ID, differingPlans(was, list))
	}
	return g, denied, nil
}

func (m *merging) summary(files int) string {
	return fmt.Sprintf("merge of %s into %s, changing %s", joined(m.record.Sources), m.record.Target, many(files, "file"))
}

// askToApply asks the person at the terminal. Their yes is recorded with the
// merge itself, in one operation.
func (m *merging) askToApply(g thread.Approval) error {
	p := m.c.newPrompt()
	p.say("\n%s %s  %s", p.paint(bold, "approval"), g.ID, escape(g.Reason))
	if err := m.c.showPlan(m.st, p, g); err != nil {
		return err
	}
	answer, ok := p.choose("Apply this merge?", "yes", "no", "later")
	switch {
	case !ok && m.c.ctx.Err() != nil:
		return m.c.interrupted()
	case answer == "yes":
		m.agreed = g.ID
		return nil
	case answer == "no":
		reason, _ := p.text("Why? (may be left empty)")
		if _, err := m.update(func(s *thread.State, stamp thread.Stamp) error {
			_, _, err := s.DecideGrant(string(g.ID), thread.Deny, reason, stamp)
			return err
		}); err != nil {
			return err
		}
	}
	_, err := m.c.view(func(s *thread.State) error { return m.mayApply(s, m.c.now()) })
	return err
}

// mergeApproval is the request about a merge, as its answers show it.
type mergeApproval struct {
	ApprovalID thread.ApprovalID  `json:"approvalId"`
	Status     thread.GrantStatus `json:"status"`
}

func approvalOfMerge(s *thread.State, m thread.Merge) *mergeApproval {
	g, ok := s.MergeApproval(m)
	if !ok {
		return nil
	}
	return &mergeApproval{g.ID, g.Status}
}

// text is the approval as a line shows it.
func (a *mergeApproval) text(required bool) string {
	switch {
	case a != nil:
		return string(a.ApprovalID) + " " + string(a.Status)
	case required:
		return "not asked for yet"
	}
	return ""
}
