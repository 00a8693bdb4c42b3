package merging

import (
	"maps"
	"slices"

	"leslie/codes"
	"leslie/internal/app/changes"
	"leslie/internal/fact"
	"leslie/merge"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file applies a plan without open conflicts: it validates, gets approval if
// required, stages, and records under one lock if the target is still as planned.

// Apply carries out the plan, which must have no open conflicts. Its error is
// errMoved, which Finish handles, if the files have changed since planning.
func (s *Session) Apply() (*Result, error) {
	if err := (&validation{s.Planning}).run(); err != nil {
		return nil, err
	}
	consent, err := s.consent()
	if err != nil {
		return s.waits(err)
	}
	if err := reviewed(s.Planning); err != nil { // somebody may have looked while the merge was asked about
		return s.waits(err)
	}
	a := &application{Session: s, consent: consent, changes: s.changeSet(), fresh: !s.recorded}
	if err := a.land(); err != nil {
		return s.waits(err)
	}
	a.result = s.Result(Merged)
	if err := s.report(a.result); err != nil {
		return nil, err
	}
	result, err := s.call.Commit(a.prepare, a.rule)
	if err != nil {
		return nil, err
	}
	dropPending(s)
	a.warnResolved()
	a.call.Warn(a.changes.SavedMeanwhile(s.call.Files, func() ([]store.Entry, error) { return s.call.Files.Artifacts(s.record.Target) }, "the merged text")...)
	return result, nil
}

// application is one attempt at applying a plan.
type application struct {
	*Session
	consent *consent
	changes changes.Set
	fresh   bool // nobody has decided anything, and nothing was recorded before
	stage   *store.Stage
	shares  []thread.Share
	result  *Result
}

// resultDir is the folder of the result in the stage.
const resultDir = "result"

// prepare stages the result and stores the blobs that the operation will name: what is
// replaced, and what target and sources will have in common.
func (a *application) prepare(stage *store.Stage) error {
	a.stage = stage
	planned := map[string]merge.Change{}
	for _, f := range a.planned.artifacts.Files {
		planned[f.Path] = f
	}
	for _, f := range a.changes.Files {
		if err := a.keepBefore(f); err != nil {
			return err
		}
	}
	err := a.changes.Stage(a.call.Context, stage, resultDir, func(f changes.File) ([]byte, error) {
		content, err := a.content(planned[f.Path])
		if err == nil {
			_, err = stage.Put(content)
		}
		return content, err
	})
	if err != nil {
		return err
	}
	undo, err := a.changes.PutList(stage)
	if err != nil {
		return err
	}
	for i := range a.inputs.sources {
		source := &a.inputs.sources[i]
		manifest, err := a.keepSource(source)
		if err != nil {
			return err
		}
		a.shares = append(a.shares, thread.Share{With: source.ID, Manifest: manifest, Scope: a.record.Scope, How: "merge", Undo: undo})
	}
	return nil
}

// keepBefore stores what a change replaces, so that it can be undone.
func (a *application) keepBefore(f changes.File) error {
	if f.Before == "" || f.Before == f.After && f.WasExecutable == f.Executable {
		return nil
	}
	content, err := a.inputs.reader.content(string(f.Before))
	if err == nil {
		_, err = a.stage.Put(content)
	}
	return err
}

// keepSource stores a source's files: they are the base of later merges. Its error is
// errMoved if they have changed since planning.
func (a *application) keepSource(source *party) (thread.BlobID, error) {
	var now store.Manifest
	err := a.call.ReadConsistent(func() (err error) {
		now, _, err = a.stage.Snapshot(a.call.Context, source.ID, source.set)
		return err
	}, source.ID)
	if codes.Has(err, codes.ScopeNotFound) {
		now, err = nil, nil
	}
	if err != nil {
		return "", err
	}
	if !sameFiles(now, source.manifest) {
		return "", errMoved
	}
	return a.stage.PutManifest(now)
}

// changeSet returns the plan's changes. A path without a file before and after is not
// a change, because nothing can be lost there.
func (p *Planning) changeSet() changes.Set {
	out := changes.Set{Thread: p.record.Target}
	for _, f := range p.planned.artifacts.Files {
		change := changes.File{Path: f.Path, Before: thread.BlobID(f.Before.Hash), WasExecutable: f.Before.Executable}
		switch {
		case f.Idle() && !f.Before.There():
			continue
		case f.Idle():
			change.After, change.Executable = change.Before, change.WasExecutable
		case !f.Deletes():
			change.After, change.Executable = thread.BlobID(f.After.Hash), f.After.Executable
		}
		out.Files = append(out.Files, change)
	}
	return out
}

// rule is the commit, under the lock.
func (a *application) rule(st *thread.State, stamp thread.Stamp) (*Result, thread.ThreadID, error) {
	if err := a.respectClaim(st); err != nil {
		return nil, "", err
	}
	if a.consent.agreed != "" {
		if _, _, err := st.DecideGrant(string(a.consent.agreed), thread.Approve, "", stamp); err != nil {
			return nil, "", err
		}
	}
	if err := a.consent.given(st, stamp.Time); err != nil {
		return nil, "", err
	}
	steps := a.changes.Steps(a.stage, resultDir)
	if a.recorded {
		rec, err := st.EndMerge(string(a.record.ID), "the merge was applied", stamp)
		if err != nil {
			return nil, "", err
		}
		if !rec.Unchanged(a.record) {
			return nil, "", errMoved
		}
		steps = append(steps, removal(rec.ID))
	} else if err := st.NoPendingMerge(a.record.Target); err != nil {
		return nil, "", err
	}
	moved, err := a.changes.Moved(a.call.Files)
	if err != nil {
		return nil, "", err
	}
	if len(moved) > 0 {
		return nil, "", errMoved
	}
	if a.record.Onto != "" {
		st.RecordLanded(a.record)
	} else if _, err := st.RecordMerge(a.record.Target, a.shares, stamp); err != nil {
		return nil, "", err
	}
	if err := a.recordLanded(st, stamp); err != nil {
		return nil, "", err
	}
	st.Plan(steps...)
	a.result.Approval = a.approval
	return a.result, a.record.Target, nil
}

// warnResolved adds W301 for conflicts that a merger resolved, about which nobody
// decided.
func (a *application) warnResolved() {
	by := map[string]int{}
	for _, c := range a.plan.Conflicts {
		if c.Result != nil && c.Result.Take == "" {
			by[c.How]++
		}
	}
	for _, how := range slices.Sorted(maps.Keys(by)) {
		a.call.Warn(warnings.AutoResolved.NewFilled(fact.List{fact.Of("count", by[how])}, fact.Of("mergeId", string(a.record.ID)), fact.Of("how", how)))
	}
}
