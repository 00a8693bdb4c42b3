package main

import (
	"slices"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file is what commands need that are not use cases of internal/app yet. It
// goes with the last of them.

// actorData is who did something.
type actorData = app.Actor

func referencesFrom(s *thread.State, t thread.Thread) ([]thread.Reference, error) {
	if t.Status == thread.Archived {
		return s.ArchivedReferencesFrom(t.ID)
	}
	return s.ReferencesFrom(t.ID), nil
}

// frozenPath is where a frozen reference's copy lies, from the project's root.
func frozenPath(ref thread.Reference) string {
	return threadPath(ref.From) + "/" + store.InheritedDir + "/" + string(ref.ID)
}

// frozenPlace is the same place in the store's folder.
func frozenPlace(from thread.ThreadID, ref thread.ReferenceID) string {
	return threadPlace(from) + "/" + store.InheritedDir + "/" + string(ref)
}

// filesOf leaves out folders: their files say that they are there.
func filesOf(entries []store.Entry) []store.Entry {
	var out []store.Entry
	for _, e := range entries {
		if e.Type != store.TypeFolder {
			out = append(out, e)
		}
	}
	return out
}

// safeScope is T507 for a pattern of --scope that leads out of the folder of a
// thread, "" for one that was not found.
func (c *call) safeScope(id thread.ThreadID) error {
	_, err := scope.Parse(c.parts("scope"))
	if e := codes.Of(err); e != nil && id != "" {
		return e.With(fact.Of("threadId", id))
	}
	return err
}

// relyOn has what a stage holds on disk before the operation is recorded: beside it,
// or at once for a line of a batch, which may hold many.
func (c *call) relyOn(stage *store.Stage) error {
	if c.op.DraftState() != nil {
		return stage.Sync()
	}
	if !slices.Contains(c.staged, stage) {
		c.staged = append(c.staged, stage)
	}
	return nil
}

// endStage ends a stage, if there is one: what an operation that stands has
// promised to place is left to it, everything else goes.
func (c *call) endStage(stage *store.Stage, stands bool) {
	switch {
	case stage == nil:
	case c.op.DraftState() != nil: // the line may still be part of the operation
		c.op.DraftStage(stage)
	case stands:
		_ = stage.Close()
	default:
		_ = stage.Discard()
	}
}

// frozen copies a target's artifacts into a stage. known is the list of what the
// reference holds, "" for none: it stands where it lists the same content, since a
// list tells the files' times as well.
func (c *call) frozen(st *store.Store, stage *store.Stage, target thread.ThreadID, set scope.Set, to string, known thread.BlobID) (thread.Content, error) {
	var reason string
	var m store.Manifest
	var skipped []string
	err := c.settled(st, func() (err error) {
		if reason, err = c.missing(st, target); reason == "" && err == nil {
			m, skipped, err = c.takeSnapshot(st, stage, target, set)
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
		if held, err := st.Manifest(known); err == nil && held.Alike(m) {
			return thread.Content{Manifest: known, Files: len(m)}, nil
		}
	}
	id, err := stage.PutManifest(m)
	return thread.Content{Manifest: id, Files: len(m)}, err
}

// hasThread reports whether a thread's folder is there.
func (c *call) hasThread(st *store.Store, id thread.ThreadID) (there bool, err error) {
	err = c.settled(st, func() error { there, err = st.HasThread(id); return err }, id)
	return there, err
}

// missing says why a target is not there, "" when it is. Errors: T509.
func (c *call) missing(st *store.Store, target thread.ThreadID) (string, error) {
	if target == "" {
		return thread.ReasonMissing, nil
	}
	there, err := c.hasThread(st, target)
	if !there && err == nil && !c.op.DraftBegins(target) {
		return thread.ReasonMissing, nil
	}
	return "", err
}

func isMissing(err error) bool { return codes.Has(err, codes.ThreadNotFound) }

// warnUnresolved is W202 for a reference whose target could not be read.
func (c *call) warnUnresolved(ref thread.Reference) {
	if !ref.Resolved {
		c.warnings.Add(warnings.TargetUnresolved.New(fact.Of("target", ref.Target), fact.Of("reason", ref.Unresolved)))
	}
}

// checkFrozen compares a frozen reference's copy with what was frozen.
func (c *call) checkFrozen(st *store.Store, ref thread.Reference) (entries []store.Entry, damaged []string, err error) {
	err = c.settled(st, func() error {
		entries, damaged, err = st.CheckFrozen(c.ctx, ref)
		return err
	}, ref.From)
	return entries, damaged, err
}

// readable lists what can be read through a resolved reference. Errors: T202
// where it is damaged or has vanished.
func (c *call) readable(st *store.Store, ref thread.Reference) ([]store.Entry, error) {
	corrupted := func(reason string, cause error) error {
		return codes.TargetCorrupted.Wrap(cause, fact.Of("target", ref.Target), fact.Of("refId", ref.ID),
			fact.Of("threadId", ref.From), fact.Of("reason", reason))
	}
	if ref.Binding == thread.Live {
		reason, err := c.missing(st, ref.Target)
		switch {
		case err != nil:
			return nil, corrupted(plainReason(err), err)
		case reason != "":
			return nil, corrupted(reason, nil)
		}
		set, err := scope.Parse(ref.Scope)
		if err != nil {
			return nil, corrupted(plainReason(err), err)
		}
		var entries []store.Entry
		err = c.settled(st, func() error { entries, err = st.HashedIn(c.ctx, ref.Target, set); return err }, ref.Target)
		if err != nil {
			return nil, corrupted(plainReason(err), err)
		}
		return entries, nil
	}
	entries, damaged, err := c.checkFrozen(st, ref)
	switch {
	case err != nil:
		return nil, corrupted(plainReason(err), err)
	case len(damaged) > 0:
		return nil, corrupted("the frozen copy differs from what was taken: "+joined(damaged), nil)
	}
	return entries, nil
}

// artifacts lists a thread's artifacts as no operation has them half done.
func (c *call) artifacts(st *store.Store, id thread.ThreadID) (entries []store.Entry, err error) {
	err = c.settled(st, func() error { entries, err = st.Artifacts(id); return err }, id)
	return entries, err
}

// matched lists a thread's artifacts in a scope. A pattern that matches nothing
// is T203, one that leads out through a link T507.
func (c *call) matched(st *store.Store, id thread.ThreadID, set scope.Set) ([]store.Entry, error) {
	for _, path := range set.Exact() {
		if err := st.CheckPath(id, path); err != nil {
			return nil, err
		}
	}
	entries, err := st.ArtifactsIn(id, set)
	if err != nil {
		return nil, err
	}
	if none := set.Unmatched(matchable(entries)); len(none) > 0 {
		return nil, codes.ScopeNotFound.New(fact.Of("path", none[0]), fact.Of("threadId", id), fact.Of("paths", none))
	}
	return entries, nil
}

// matchable are the paths of entries as a scope matches them.
func matchable(entries []store.Entry) []string {
	paths := make([]string, len(entries))
	for i, e := range entries {
		paths[i] = e.Path
		if e.Type == store.TypeFolder {
			paths[i] += "/"
		}
	}
	return paths
}

// scope reads --scope; a pattern that leads out is safeScope's to refuse, since
// that is no fault of spelling.
func (c *call) scope() scope.Set {
	set, _ := scope.Parse(c.parts("scope"))
	return set
}

// newID is the id that a flag names, else a fresh one that is not taken.
func (c *call) newID(flag, prefix string, taken func(string) bool) string {
	if id := c.text(flag); id != "" {
		return id
	}
	return c.freshID(prefix, taken)
}

// hear has a signal answered from now on, with T904, where it would have ended the
// process without a word.
func (c *call) hear() { c.ctx.Done() }
