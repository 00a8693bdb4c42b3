package app

import (
	"leslie/codes"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
)

// This file reads the targets of references, and copies them for frozen ones into a
// stage, without the lock; the operation that records the reference places the copy.

// frozenPlace returns the path of a frozen reference's copy in the store's folder.
func frozenPlace(from thread.ThreadID, ref thread.ReferenceID) string {
	return threadPlace(from) + "/" + store.InheritedDir + "/" + string(ref)
}

// stageContent reads a reference's target. For a frozen one it stages the copy under
// "ref"; stage is nil if there is nothing to place. known is as for freeze.
func stageContent(c *Call, binding thread.Binding, target thread.ThreadID, set scope.Set, known thread.BlobID) (*store.Stage, thread.Content, error) {
	if binding == thread.Live || target == "" {
		content, err := liveContent(c, target, set)
		return nil, content, err
	}
	stage, err := c.store.Stage(c.operation().Operation)
	if err != nil {
		return nil, thread.Content{}, err
	}
	content, err := freeze(c, stage, target, set, "ref", known)
	if err == nil {
		err = c.relyOn(stage)
	}
	if err != nil || content.Unresolved != "" {
		c.endStage(stage, false)
		return nil, content, err
	}
	return stage, content, nil
}

// resolvedNow returns a live reference as it reads at present: one that could not be
// resolved when it was created may have its target by now.
func resolvedNow(c *Call, ref thread.Reference) thread.Reference {
	if ref.Resolved || ref.Binding != thread.Live {
		return ref
	}
	set, err := scope.Parse(ref.Scope)
	if err != nil {
		return ref
	}
	if content, err := liveContent(c, ref.Target, set); err == nil && content.Unresolved == "" {
		ref.Resolved, ref.Files = true, content.Files
	}
	return ref
}

// placeFrozen returns the step that places a staged copy where the reference's files
// are read.
func placeFrozen(stage *store.Stage, ref thread.Reference) []thread.Step {
	place := frozenPlace(ref.From, ref.ID)
	return []thread.Step{
		{Do: thread.StepMakeDir, To: threadPlace(ref.From) + "/" + store.InheritedDir},
		{Do: thread.StepPlace, From: stage.Rel("ref"), To: place, Content: ref.Manifest},
	}
}

// liveContent reads the content of a live reference's target. A scope may name what
// does not exist yet.
func liveContent(c *Call, target thread.ThreadID, set scope.Set) (content thread.Content, err error) {
	err = c.settled(func() error {
		var entries []store.Entry
		if content.Unresolved, err = missingReason(c, target); content.Unresolved == "" && err == nil {
			entries, err = matchedArtifacts(c, target, set)
		}
		if codes.Has(err, codes.ScopeNotFound) {
			content.Unresolved, err = "'"+codes.Of(err).Facts().Text("path")+"' matches no artifact yet", nil
		}
		content.Files = countFiles(entries)
		return err
	}, target)
	return content, err
}

// freeze copies a target's artifacts into a stage. known is the reference's present
// manifest, "" for none. It stays if it lists the same content, because a new manifest
// would differ in the files' times.
func freeze(c *Call, stage *store.Stage, target thread.ThreadID, set scope.Set, to string, known thread.BlobID) (thread.Content, error) {
	var reason string
	var m store.Manifest
	var skipped []string
	err := c.settled(func() (err error) {
		if reason, err = missingReason(c, target); reason == "" && err == nil {
			m, skipped, err = stage.Snapshot(c.ctx, target, set)
		}
		return err
	}, target)
	if reason != "" || err != nil {
		return thread.Content{Unresolved: reason}, err
	}
	c.warnSkipped(skipped)
	if err := stage.Materialize(c.ctx, m, to, true); err != nil {
		return thread.Content{}, err
	}
	if known != "" {
		if held, err := c.store.Manifest(known); err == nil && held.Alike(m) {
			return thread.Content{Manifest: known, Files: len(m)}, nil
		}
	}
	id, err := stage.PutManifest(m)
	return thread.Content{Manifest: id, Files: len(m)}, err
}

// missingReason says why a target does not exist, "" if it does. Errors: T509.
func missingReason(c *Call, target thread.ThreadID) (string, error) {
	if target == "" {
		return thread.ReasonMissing, nil
	}
	var there bool
	err := c.settled(func() (err error) { there, err = c.store.HasThread(target); return err }, target)
	if !there && err == nil && !c.draft.begins(target) {
		return thread.ReasonMissing, nil
	}
	return "", err
}

// checkFrozen compares a frozen reference's copy with its manifest.
func checkFrozen(c *Call, ref thread.Reference) (entries []store.Entry, damaged []string, err error) {
	err = c.settled(func() error {
		entries, damaged, err = c.store.CheckFrozen(c.ctx, ref)
		return err
	}, ref.From)
	return entries, damaged, err
}

// takeSnapshot is Stage.Snapshot of files that no operation has half done.
func takeSnapshot(c *Call, stage *store.Stage, id thread.ThreadID, set scope.Set) (m store.Manifest, skipped []string, err error) {
	err = c.settled(func() error {
		m, skipped, err = stage.Snapshot(c.ctx, id, set)
		return err
	}, id)
	return m, skipped, err
}
