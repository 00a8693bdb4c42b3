package artifacts

import (
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file handles references, which give a thread read-only access to another
// thread's artifacts. freeze.go copies frozen content.

// ReferenceRecord is one reference.
type ReferenceRecord struct {
	RefID          thread.ReferenceID `json:"refId"`
	From           thread.ThreadID    `json:"from"`
	Target         thread.ThreadID    `json:"target"`
	Binding        thread.Binding     `json:"binding"`
	Scope          []string           `json:"scope,omitempty"`
	TargetResolved bool               `json:"targetResolved"`
	LocalPath      *string            `json:"localPath"` // from the project's root
	Dir            *string            `json:"dir"`       // the same, absolute
	Files          int                `json:"files"`
	TakenAt        time.Time          `json:"takenAt"`
	Stale          []string           `json:"stale,omitempty"` // what of the target has changed since
	Revision       thread.Revision    `json:"revision"`
}

// ReferenceOf is a reference as an answer shows it.
func ReferenceOf(c *app.Call, ref thread.Reference) ReferenceRecord {
	d := ReferenceRecord{
		RefID: ref.ID, From: ref.From, Target: ref.Target, Binding: ref.Binding, Scope: ref.Scope,
		TargetResolved: ref.Resolved, Files: ref.Files, TakenAt: ref.TakenAt, Revision: ref.Revision,
	}
	if ref.Resolved {
		path := app.ThreadPath(ref.Target)
		if ref.Binding == thread.Frozen {
			path = store.Dir + "/" + FrozenPlace(ref.From, ref.ID)
		}
		d.LocalPath, d.Dir = &path, new(c.Absolute(path))
	}
	return d
}

// ReferenceResult is a reference after a change.
type ReferenceResult struct {
	ReferenceRecord
	app.Change
}

// CreateReferenceRequest references another thread's artifacts.
type CreateReferenceRequest struct {
	From    string // "": the thread that the caller speaks for
	Target  string
	Scope   []string       // paths, folders, globs; nil: all
	Binding thread.Binding // "": frozen
}

// Faults returns what is wrong with the request.
func (in CreateReferenceRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	k.Needed("Target", in.Target)
	k.Ids("Target", in.Target)
	k.Ids("From", in.From)
	if in.From != "" && in.From == in.Target {
		k.Add("Target", in.From, "is the thread that refers: a thread cannot refer to itself")
	}
	if in.Binding != "" {
		app.OneOf(k, "Binding", in.Binding, thread.Frozen, thread.Live)
	}
	return k.Faults
}

// CreateReference references another thread's artifacts. A target that does not exist
// is stored with a warning (W202), and so is a live reference with a scope that matches
// nothing yet. Errors: T903, T101 and T105 for the referring thread, T107, T203, T507, T508, and those of a write.
func CreateReference(c *app.Call, in CreateReferenceRequest) (*ReferenceResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	if first, ok, err := app.Answered[ReferenceResult](c); ok || err != nil {
		return first, err
	}
	from := in.From
	if from == "" {
		from = c.Caller().Thread
	}
	set, bad := ScopeIn(in.Scope, "")
	if bad != nil && !app.IsUnsafePath(bad) {
		return nil, bad
	}
	if in.Binding == "" {
		in.Binding = thread.Frozen
	}
	wanted := thread.NewReference{
		ID: thread.ReferenceID(c.Project().Environment().NewID(thread.PrefixReference)), From: from, Target: in.Target, Binding: in.Binding, Scope: set.Strings(),
	}
	// Run the rule once on the current State, so that nothing is copied for a
	// reference that is not allowed or exists already.
	var target thread.ThreadID
	var existed bool
	var owner thread.ThreadID
	_, err := c.View(func(s *thread.State) error {
		if t, err := s.Thread(in.Target); err == nil {
			target = t.ID
		}
		ref, there, err := s.Refer(wanted, c.Stamp())
		existed, owner = there, ref.From
		return err
	})
	if err == nil {
		_, err = ScopeIn(in.Scope, target)
	}
	if err != nil {
		return nil, err
	}
	var stage *store.Stage
	if !existed {
		if stage, wanted.Content, err = stageContent(c, in.Binding, owner, target, set, ""); err != nil {
			return nil, err
		}
	}
	if target != "" { // of which the content is, whatever else the name may mean by then
		wanted.Target = string(target)
	}
	data, err := app.Write(c, func(s *thread.State, stamp thread.Stamp) (*ReferenceResult, thread.ThreadID, error) {
		ref, existed, err := s.Refer(wanted, stamp)
		if err != nil {
			return nil, "", err
		}
		if !existed && stage != nil && ref.Resolved {
			s.Plan(placeFrozen(stage, ref)...)
		}
		WarnUnresolved(c, ref)
		return &ReferenceResult{ReferenceRecord: ReferenceOf(c, ref)}, ref.From, nil
	})
	c.EndStage(stage, err == nil && data.Changed)
	return data, err
}

// WarnUnresolved adds W202 for a reference whose target could not be read.
func WarnUnresolved(c *app.Call, ref thread.Reference) {
	if !ref.Resolved {
		c.Warn(warnings.TargetUnresolved.New(fact.Of("target", ref.Target), fact.Of("reason", ref.Unresolved)))
	}
}

// ListReferencesRequest lists references.
type ListReferencesRequest struct {
	From  string // only those that this thread made; "": all
	Limit int    // 0: all
}

// ListReferencesResult is references in order.
type ListReferencesResult struct{ app.Items[ReferenceRecord] }

// ListReferences lists references; W203 if targets have changed since they were
// frozen. Errors: T101, T105, those of reading.
func ListReferences(c *app.Call, in ListReferencesRequest) (*ListReferencesResult, error) {
	c.ReadOnly()
	var refs []thread.Reference
	_, err := c.View(func(s *thread.State) error {
		if in.From == "" {
			refs = s.AllReferences()
			return nil
		}
		t, err := s.Thread(in.From)
		if err != nil {
			return err
		}
		refs, err = ReferencesFrom(s, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	all := app.First(refs, in.Limit)
	out := &ListReferencesResult{app.Items[ReferenceRecord]{Items: []ReferenceRecord{}, Total: all.Total, Truncated: all.Truncated}}
	for _, ref := range all.Items {
		out.Items.Items = append(out.Items.Items, ComparedReference(c, ref))
	}
	return out, nil
}

// ReferencesFrom returns the references of a thread, live or archived.
func ReferencesFrom(s *thread.State, t thread.Thread) ([]thread.Reference, error) {
	if t.Status == thread.Archived {
		return s.ArchivedReferencesFrom(t.ID)
	}
	return s.ReferencesFrom(t.ID), nil
}

// ComparedReference returns a reference with what has changed in its target since it
// was frozen, and adds W203 if something has.
func ComparedReference(c *app.Call, ref thread.Reference) ReferenceRecord {
	ref = ResolvedNow(c, ref)
	d := ReferenceOf(c, ref)
	if d.Stale = ChangedTarget(c, ref); len(d.Stale) > 0 {
		c.Warn(warnings.ReferenceStale.NewOfPaths(d.Stale,
			fact.List{fact.Of("m", max(ref.Files, len(d.Stale))), fact.Of("time", ref.TakenAt.Format(time.RFC3339))},
			fact.Of("refId", ref.ID), fact.Of("target", ref.Target)))
	}
	return d
}

// ChangedTarget returns what has changed in the target of a frozen reference since it was
// frozen: nothing if the snapshot's manifest cannot be read, which show reports (T202), or
// if the target's files are not in place yet (W507).
func ChangedTarget(c *app.Call, ref thread.Reference) (paths []string) {
	if ref.Binding != thread.Frozen || !ref.Resolved {
		return nil
	}
	err := c.ReadConsistent(func() (err error) { paths, err = c.Store().ChangedSince(c.Context(), ref); return err }, ref.Target)
	pending := c.StoreWarned(warnings.FilesPending)
	if err != nil || pending {
		return nil
	}
	return paths
}

// ReferenceRequest names a reference by its id or a prefix of it.
type ReferenceRequest struct {
	Reference string
}

// ShowReferenceResult is one reference with its readable files.
type ShowReferenceResult struct {
	ReferenceRecord
	Artifacts app.Items[Artifact] `json:"artifacts"`
}

// ShowReference returns one reference with its readable files. Errors: T204, T105,
// T202 if its target is damaged or has vanished, those of reading.
func ShowReference(c *app.Call, in ReferenceRequest) (*ShowReferenceResult, error) {
	c.ReadOnly()
	var ref thread.Reference
	find := func() error {
		_, err := c.View(func(s *thread.State) (err error) {
			ref, err = s.Reference(in.Reference)
			return err
		})
		return err
	}
	if err := find(); err != nil {
		return nil, err
	}
	d := &ShowReferenceResult{}
	err := c.ReadConsistent(func() error { // reads the reference again, to match the files
		if err := find(); err != nil {
			return err
		}
		return d.look(c, ref)
	}, ref.From, ref.Target)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// look reads the files of a reference.
func (d *ShowReferenceResult) look(c *app.Call, ref thread.Reference) error {
	ref = ResolvedNow(c, ref)
	if !ref.Resolved {
		WarnUnresolved(c, ref)
		d.ReferenceRecord, d.Artifacts = ReferenceOf(c, ref), app.First[Artifact](nil, 0)
		return nil
	}
	entries, err := ReadableThrough(c, ref)
	if err != nil {
		return err
	}
	d.Artifacts, d.ReferenceRecord = app.First(ArtifactsOf(entries), 0), ComparedReference(c, ref)
	return nil
}

// ReadableThrough lists the files of a resolved reference. Errors: T202 if it is
// damaged or has vanished.
func ReadableThrough(c *app.Call, ref thread.Reference) ([]store.Entry, error) {
	corrupted := func(reason string, cause error) error {
		return codes.TargetCorrupted.Wrap(cause, fact.Of("target", ref.Target), fact.Of("refId", ref.ID),
			fact.Of("threadId", ref.From), fact.Of("reason", reason))
	}
	if ref.Binding == thread.Live {
		reason, err := missingReason(c, ref.Target)
		switch {
		case err != nil:
			return nil, corrupted(codes.Reason(err), err)
		case reason != "":
			return nil, corrupted(reason, nil)
		}
		set, err := scope.Parse(ref.Scope)
		if err != nil {
			return nil, corrupted(codes.Reason(err), err)
		}
		var entries []store.Entry
		err = c.ReadConsistent(func() (err error) { entries, err = c.Store().HashedIn(c.Context(), ref.Target, set); return err }, ref.Target)
		if err != nil {
			return nil, corrupted(codes.Reason(err), err)
		}
		return entries, nil
	}
	entries, damaged, err := checkFrozen(c, ref)
	switch {
	case err != nil:
		return nil, corrupted(codes.Reason(err), err)
	case len(damaged) > 0:
		return nil, corrupted("the frozen copy differs from what was taken: "+app.Joined(damaged), nil)
	}
	return entries, nil
}

// RefreshReference updates a reference to its target's current content. Errors: T204,
// T105, T107, T202 if the earlier content has vanished, T203, T507, T508, and those of
// a write.
func RefreshReference(c *app.Call, in ReferenceRequest) (*ReferenceResult, error) {
	if first, ok, err := app.Answered[ReferenceResult](c); ok || err != nil {
		return first, err
	}
	var ref thread.Reference
	var target thread.ThreadID
	_, err := c.View(func(s *thread.State) (err error) {
		if ref, err = s.Reference(in.Reference); err != nil {
			return err
		}
		if t, err := s.Thread(string(ref.Target)); err == nil {
			target = t.ID
		}
		_, err = s.Refresh(in.Reference, thread.Content{}, c.Stamp()) // whether it is allowed
		return err
	})
	if err != nil {
		return nil, err
	}
	set, err := scope.Parse(ref.Scope)
	if err != nil {
		return nil, err
	}
	reason, err := missingReason(c, target)
	if err != nil {
		return nil, err
	}
	if was := ref.Manifest != "" || ref.Binding == thread.Live && ref.Files > 0; was && reason != "" {
		return nil, codes.TargetCorrupted.New(fact.Of("target", ref.Target), fact.Of("refId", ref.ID),
			fact.Of("threadId", ref.From), fact.Of("reason", reason))
	}
	stage, content, err := stageContent(c, ref.Binding, ref.From, target, set, ref.Manifest)
	if err != nil {
		return nil, err
	}
	_, damaged, checkErr := checkFrozen(c, ref)
	replace := ref.Binding == thread.Frozen && (checkErr != nil || len(damaged) > 0)
	data, err := app.Write(c, func(s *thread.State, stamp thread.Stamp) (*ReferenceResult, thread.ThreadID, error) {
		was := ref.Manifest
		ref, err := s.Refresh(in.Reference, content, stamp)
		if err != nil {
			return nil, "", err
		}
		if stage != nil && ref.Resolved && (ref.Manifest != was || replace) {
			s.Plan(placeFrozen(stage, ref)...)
		}
		WarnUnresolved(c, ref)
		return &ReferenceResult{ReferenceRecord: ReferenceOf(c, ref)}, ref.From, nil
	})
	c.EndStage(stage, err == nil && data.Changed)
	return data, err
}

// RemoveReference removes a reference and its frozen copy. Errors: T204, T105, T107,
// and those of a write.
func RemoveReference(c *app.Call, in ReferenceRequest) (*ReferenceResult, error) {
	return app.Write(c, func(s *thread.State, _ thread.Stamp) (*ReferenceResult, thread.ThreadID, error) {
		ref, err := s.RemoveReference(in.Reference)
		if err != nil {
			return nil, "", err
		}
		if ref.Binding == thread.Frozen && ref.Resolved {
			s.Plan(thread.Step{Do: thread.StepRemove, To: FrozenPlace(ref.From, ref.ID)})
		}
		d := &ReferenceResult{ReferenceRecord: ReferenceOf(c, ref)}
		d.LocalPath, d.Dir = nil, nil
		return d, ref.From, nil
	})
}
