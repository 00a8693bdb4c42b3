package app

import (
	"slices"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
)

// This file brings a thread up to date with what it builds on.

// PullRequest merges what a thread builds on into it.
type PullRequest struct {
	Thread string // "": the thread that the caller speaks for
	From   string // "": its parent, or its only dependency
	// Scope, Strategy, RequireApproval and DryRun are as in MergeRequest. Without a Scope
	// the parent's artifacts are limited to those that the thread inherited.
	Scope           []string
	Strategy        thread.Strategy
	RequireApproval bool
	DryRun          bool
	MergeMeans
}

// Pull is Merge of a thread's parent, or of a dependency, into it. Errors: T903 if
// neither is there or the thread has several dependencies, and those of Merge.
func Pull(c *Call, in PullRequest) (*MergeResult, error) {
	m := MergeRequest{
		Target: c.threadOr(in.Thread), Sources: []string{in.From}, Scope: in.Scope, Strategy: in.Strategy,
		RequireApproval: in.RequireApproval, DryRun: in.DryRun, MergeMeans: in.MergeMeans,
	}
	if in.From == "" || len(in.Scope) == 0 {
		_, err := c.view(func(s *thread.State) error {
			t, err := s.Thread(m.Target)
			switch {
			case err != nil && in.From == "":
				return err
			case err != nil:
				return nil // Merge says what is wrong
			case in.From == "":
				from, err := pulledFrom(t)
				if err != nil {
					return err
				}
				m.Sources = []string{string(from)}
			}
			if from, err := s.Thread(m.Sources[0]); err == nil && from.ID == t.ParentID && len(in.Scope) == 0 {
				m.Scope = t.InheritedScope()
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return Merge(c, m)
}

// pulledFrom returns the thread from which one is brought up to date. Errors: T903.
func pulledFrom(t thread.Thread) (thread.ThreadID, error) {
	switch {
	case t.ParentID != "":
		return t.ParentID, nil
	case len(t.DependsOn) == 1:
		return t.DependsOn[0], nil
	}
	err := codes.InvalidArgument.New(fact.Of("reason", "thread '"+string(t.ID)+"' has no parent: give --from ID"), fact.Of("threadId", t.ID))
	if len(t.DependsOn) > 0 {
		err = err.With(fact.Of("allowed", t.DependsOn))
	}
	return "", err.WithHint("Name the thread to bring up to date from").WithNext("leslie status " + string(t.ID))
}

// noteMoved warns, inside a rule, of what a thread builds on that has changed since by
// an operation (W205). It reads records only.
func noteMoved(c *Call, s *thread.State, t thread.Thread) {
	for _, b := range s.BuiltOn(t) {
		if b.Moved {
			c.warn(t.MovedOn(b.ID))
		}
	}
}

// ContextMoved is a thread that changed since another received its artifacts.
type ContextMoved struct {
	From  thread.ThreadID `json:"from"`
	Paths []string        `json:"paths"`
	Next  string          `json:"next"`
}

// moved compares what a thread builds on with what it received of it, and adds W205. It
// lists these threads' folders and reads only files whose size or times have changed. A
// base that cannot be read is left out: merging says why.
func moved(c *Call, t thread.Thread, all []thread.BuiltOn) (out []ContextMoved) {
	for _, b := range all {
		var paths []string
		err := c.settled(func() (err error) { paths, err = movedPaths(c, b); return err }, b.ID)
		if err != nil || len(paths) == 0 {
			continue
		}
		w := t.MovedOn(b.ID)
		c.warn(w)
		out = append(out, ContextMoved{b.ID, paths, w.Context.Text("next")})
	}
	return out
}

// movedPaths returns the paths at which a thread differs from the newest content that
// is known to have been shared of it.
func movedPaths(c *Call, b thread.BuiltOn) (out []string, err error) {
	shared := b.Shared
	if shared == nil {
		shared = []thread.Common{{}} // a dependency of which nothing was received
	}
	var newer []scope.Set
	inherited, err := scope.Parse(b.Scope)
	if err != nil {
		return nil, err
	}
	for _, share := range shared {
		set, err := scope.Parse(share.Scope)
		if err != nil {
			return nil, err
		}
		var was store.Manifest
		if share.Manifest != "" {
			if was, err = c.store.Manifest(share.Manifest); err != nil {
				return nil, err
			}
		}
		found, err := c.store.Compare(c.ctx, b.ID, was, set)
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			if inherited.Match(path) && !slices.ContainsFunc(newer, func(set scope.Set) bool { return set.Match(path) }) {
				out = append(out, path)
			}
		}
		if newer = append(newer, set); set.Everything() {
			break
		}
	}
	return out, nil
}
