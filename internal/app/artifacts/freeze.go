package artifacts

import (
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
)

// This file reads the targets of references, and copies them for frozen ones into a
// stage, without the lock; the operation that records the reference places the copy.

// FrozenPlace returns the path of a frozen reference's copy in the store's folder.
func FrozenPlace(from thread.ThreadID, ref thread.ReferenceID) string {
	return app.ThreadInStore(from) + "/" + store.InheritedDir + "/" + string(ref)
}

// stageContent reads the target of a reference from a thread. For a frozen one it stages
// the copy under "ref"; stage is nil if there is nothing to place. known is as for freeze.
// Errors: T202 if the thread has no folder for the copy; those of reading.
func stageContent(
	c *app.Call, binding thread.Binding, from, target thread.ThreadID, set scope.Set, known thread.BlobID,
) (*store.Stage, thread.Content, error) {
	if binding == thread.Live || target == "" {
		content, err := liveContent(c, target, set)
		return nil, content, err
	}
	err := c.ReadConsistent(func() error { return c.Store().CheckPath(from, ".") }, from)
	if codes.Has(err, codes.TargetCorrupted) && !c.BeginsThread(from) {
		return nil, thread.Content{}, err
	}
	stage, err := c.Store().Stage(c.Stamp().Operation)
	if err != nil {
		return nil, thread.Content{}, err
	}
	content, err := Freeze(c, stage, target, set, "ref", known)
	if err == nil {
		err = c.RelyOn(stage)
	}
	if err != nil || content.Unresolved != "" {
		c.EndStage(stage, false)
		return nil, content, err
	}
	return stage, content, nil
}

// ResolvedNow returns a live reference as it reads at present: one that could not be
// resolved when it was created may have its target by now.
func ResolvedNow(c *app.Call, ref thread.Reference) thread.Reference {
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
	place := FrozenPlace(ref.From, ref.ID)
	return []thread.Step{
		{Do: thread.StepMakeDir, To: app.ThreadInStore(ref.From) + "/" + store.InheritedDir},
		{Do: thread.StepPlace, From: stage.Rel("ref"), To: place, Content: ref.Manifest},
	}
}

// liveContent reads the content of a live reference's target. A scope may name what
// does not exist yet.
func liveContent(c *app.Call, target thread.ThreadID, set scope.Set) (content thread.Content, err error) {
	err = c.ReadConsistent(func() error {
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

// Freeze copies a target's artifacts into a stage. known is the reference's present
// manifest, "" for none. It stays if it lists the same content, because a new manifest
// would differ in the files' times.
func Freeze(c *app.Call, stage *store.Stage, target thread.ThreadID, set scope.Set, to string, known thread.BlobID) (thread.Content, error) {
	var reason string
	var m store.Manifest
	var skipped []string
	err := c.ReadConsistent(func() (err error) {
		if reason, err = missingReason(c, target); reason == "" && err == nil {
			m, skipped, err = stage.Snapshot(c.Context(), target, set)
		}
		return c.ToCome(target, set, err)
	}, target)
	if reason != "" || err != nil {
		return thread.Content{Unresolved: reason}, err
	}
	c.WarnSkipped(skipped)
	if err := stage.Materialize(c.Context(), m, to, true); err != nil {
		return thread.Content{}, err
	}
	if known != "" {
		if held, err := c.Store().Manifest(known); err == nil && held.Alike(m) {
			return thread.Content{Manifest: known, Files: len(m)}, nil
		}
	}
	id, err := stage.PutManifest(m)
	return thread.Content{Manifest: id, Files: len(m)}, err
}

// missingReason says why a target does not exist, "" if it does. Errors: T509.
func missingReason(c *app.Call, target thread.ThreadID) (string, error) {
	if target == "" {
		return thread.ReasonMissing, nil
	}
	var there bool
	err := c.ReadConsistent(func() (err error) { there, err = c.Store().HasThread(target); return err }, target)
	if !there && err == nil && !c.BeginsThread(target) {
		return thread.ReasonMissing, nil
	}
	return "", err
}

// checkFrozen compares a frozen reference's copy with its manifest.
func checkFrozen(c *app.Call, ref thread.Reference) (entries []store.Entry, damaged []string, err error) {
	err = c.ReadConsistent(func() error {
		entries, damaged, err = c.Store().CheckFrozen(c.Context(), ref)
		return err
	}, ref.From)
	return entries, damaged, err
}

// TakeSnapshot is Stage.Snapshot of files that no operation has half done.
func TakeSnapshot(c *app.Call, stage *store.Stage, id thread.ThreadID, set scope.Set) (m store.Manifest, skipped []string, err error) {
	err = c.ReadConsistent(func() error {
		m, skipped, err = stage.Snapshot(c.Context(), id, set)
		return c.ToCome(id, set, err)
	}, id)
	return m, skipped, err
}
