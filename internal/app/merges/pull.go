package merges

import (
	"slices"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/merging"
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
	// The others are as in Request, but a Scope limits artifacts alone. Without one
	// the parent's artifacts are limited to those that the thread inherited.
	Scope           []string
	Strategy        thread.Strategy
	RequireApproval bool
	DryRun          bool
	Only            string
	Squash, Queue   bool
	Uncommitted     string
	Resolvers
}

// merge is the merge that a request asks for, without its threads.
func (in PullRequest) merge() Request {
	return Request{
		Scope: in.Scope, Strategy: in.Strategy, RequireApproval: in.RequireApproval, DryRun: in.DryRun, Resolvers: in.Resolvers,
		Only: in.Only, Squash: in.Squash, Queue: in.Queue, Uncommitted: in.Uncommitted, withScope: true,
		Unread: merging.LeaveUnread, // it lands nothing: whoever pulls is brought up to date
	}
}

// Faults returns what is wrong with the request, apart from its threads.
func (in PullRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	in.merge().HowFaults(k)
	return k.Faults
}

// Pull is Merge of a thread's parent, or of a dependency, into it; where it builds on neither, or
// From names it, pullBranch of the branch from which its code began. Errors: T903 if none of these
// is there or the thread has several dependencies, and those of Merge and pullBranch.
func Pull(c *app.Call, in PullRequest) (*Result, error) {
	m := in.merge()
	m.Target, m.Sources = c.ThreadOr(in.Thread), []string{in.From}
	if t, err := code.Owner(c, m.Target); err == nil && in.pullsBranch(c, t) {
		if t, err = code.Owner(c, m.Target, thread.CodeReady); err != nil {
			return nil, err
		}
		return pullBranch(c, in, t)
	}
	if in.From == "" || len(in.Scope) == 0 || in.Only != merging.OnlyArtifacts {
		_, err := c.View(func(s *thread.State) error {
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
			from, err := s.Thread(m.Sources[0])
			if err != nil {
				return nil
			}
			if from.ID == t.ParentID && len(in.Scope) == 0 && in.Only != merging.OnlyCode {
				m.Scope = t.InheritedScope()
			}
			if t.OwnedCode() == nil && from.OwnedCode() != nil { // what a thread builds on does not land
				if in.Only == merging.OnlyCode {
					return thread.NoCode(t.ID, "it was spawned without --code")
				}
				m.Only = merging.OnlyArtifacts
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return Merge(c, m)
}

// pullsBranch reports whether a thread is to be brought up to date from the branch from which its
// code began.
func (in PullRequest) pullsBranch(c *app.Call, t thread.Thread) (is bool) {
	_, branch := pulledBranch(t)
	if branch == "" || in.From == "" {
		return branch != "" && t.ParentID == "" && len(t.DependsOn) == 0
	}
	_, _ = c.View(func(s *thread.State) error {
		_, err := s.Thread(in.From)
		is = err != nil && in.From == branch
		return nil
	})
	return is
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

// NoteMoved warns, inside a rule, of what a thread builds on that has changed since by
// an operation (W205), unless its files are here and are what the thread has.
func NoteMoved(c *app.Call, s *thread.State, t thread.Thread) {
	for _, b := range s.BuiltOn(t) {
		if !b.Moved {
			continue
		}
		if from, _ := s.Threads.Peek(string(b.ID)); from.Published == nil {
			if paths, err := movedPaths(c, t, b); err == nil && len(paths) == 0 {
				continue
			}
		}
		c.Warn(t.MovedOn(b.ID))
	}
}

// ContextMoved is a thread that changed since another received its artifacts.
type ContextMoved struct {
	From  thread.ThreadID `json:"from"`
	Paths []string        `json:"paths"`
	Next  string          `json:"next"`
}

// Moved compares what a thread builds on with what it received of it, and adds W205. It
// lists these threads' folders and reads only files whose size or times have changed. A
// base that cannot be read is left out: merging says why.
func Moved(c *app.Call, t thread.Thread, all []thread.BuiltOn) (out []ContextMoved) {
	for _, b := range all {
		var paths []string
		err := c.ReadConsistent(func() (err error) { paths, err = movedPaths(c, t, b); return err }, b.ID, t.ID)
		if err != nil || len(paths) == 0 {
			continue
		}
		w := t.MovedOn(b.ID)
		c.Warn(w)
		out = append(out, ContextMoved{b.ID, paths, w.Context.Text("next")})
	}
	return out
}

// unlike returns the paths of a thread's files that another one has not, or has with other
// content. It reads only files that both have, of the same size.
func unlike(c *app.Call, has, from thread.ThreadID) (out []string, err error) {
	theirs, err := c.Store().Artifacts(from)
	if theirs = app.WithoutFolders(theirs); err != nil || len(theirs) == 0 {
		return nil, err
	}
	own, err := c.Store().Artifacts(has)
	if err != nil {
		return nil, err
	}
	had := map[string]store.Entry{}
	for _, e := range app.WithoutFolders(own) {
		had[e.Path] = e
	}
	var doubtful, ours []store.Entry
	for _, e := range theirs {
		switch mine, both := had[e.Path]; {
		case !both || mine.Size != e.Size || mine.Executable != e.Executable:
			out = append(out, e.Path)
		default:
			doubtful, ours = append(doubtful, e), append(ours, mine)
		}
	}
	if doubtful, err = c.Store().Hash(c.Context(), from, doubtful); err == nil {
		ours, err = c.Store().Hash(c.Context(), has, ours)
	}
	for _, e := range ours {
		had[e.Path] = e
	}
	for _, e := range doubtful {
		if had[e.Path].SHA256 != e.SHA256 {
			out = append(out, e.Path)
		}
	}
	slices.Sort(out)
	return out, err
}

// movedPaths returns the paths at which a thread differs from the newest content that
// is known to have been shared of it with t, and for a dependency of which nothing was
// received from what t has.
func movedPaths(c *app.Call, t thread.Thread, b thread.BuiltOn) (out []string, err error) {
	if b.Shared == nil {
		return unlike(c, t.ID, b.ID)
	}
	var newer []scope.Set
	inherited, err := scope.Parse(b.Scope)
	if err != nil {
		return nil, err
	}
	for _, share := range b.Shared {
		set, err := scope.Parse(share.Scope)
		if err != nil {
			return nil, err
		}
		var was store.Manifest
		if share.Manifest != "" {
			if was, err = c.Store().Manifest(share.Manifest); err != nil {
				return nil, err
			}
		}
		found, err := c.Store().Compare(c.Context(), b.ID, was, set)
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
