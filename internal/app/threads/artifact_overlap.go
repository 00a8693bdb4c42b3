package threads

import (
	"fmt"
	"slices"

	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/history"
	"leslie/internal/app/merges"
	"leslie/internal/app/merging"
	"leslie/internal/scope"
	"leslie/thread"
	"leslie/warnings"
)

// This file tells children of one thread that changed the same lines of what they inherited
// of each other while they still work, as code_overlap.go does for code: when one of them
// saves a checkpoint or is completed. Whatever prevents it, that stands, and nobody is told.

// TellArtifactOverlaps compares what a thread changed of its inherited artifacts with what
// its siblings did, and tells both sides of each conflict of which they do not know: the
// caller by W110, the other thread by a message.
func TellArtifactOverlaps(c *app.Call, id thread.ThreadID) {
	if c.InBatch() {
		c.AfterBatch(func(c *app.Call) { TellArtifactOverlaps(c, id) })
		return
	}
	if found := artifactOverlaps(c, id); len(found) > 0 {
		code.TellBoth(c, id, found, (*thread.State).NoteArtifactOverlap, warnings.ArtifactOverlap, artifactMessage)
	}
}

// artifactMessage says to another thread that both changed the same lines.
func artifactMessage(from, to thread.ThreadID, paths []string) string {
	return fmt.Sprintf("Thread '%s' and yours changed the same lines of artifacts that you both inherited: %s. "+
		"Agree with it on who changes what, or expect the conflict when the second of you is merged; leslie diff %s %s shows how they differ.",
		from, history.SomeOf(paths), from, to)
}

// artifactOverlaps finds the siblings with which a thread conflicts, as far as that is known
// in code.OverlapTime.
func artifactOverlaps(c *app.Call, id thread.ThreadID) (out []code.Overlap) {
	ctx, cancel := c.Project().Environment().Timeout(c.Context(), code.OverlapTime)
	defer cancel()
	look := c.Project().Call(ctx, c.Caller(), app.Request{ReadOnly: true})
	var own app.ComparedVersions
	var others []app.ComparedVersions
	_, err := look.View(func(s *thread.State) error {
		t, err := s.Thread(string(id))
		if err != nil || t.ParentID == "" || len(t.Shared) == 0 {
			return err
		}
		own = app.ComparedVersions{Base: app.BaseOf(s, t), Current: app.CurrentOf(id)}
		for _, other := range s.RelationsOf(thread.Thread{ID: t.ParentID}).Children {
			if o, _ := s.Threads.Peek(string(other)); other != id && o.Status != thread.Cancelled && len(o.Shared) > 0 {
				others = append(others, app.ComparedVersions{Base: app.BaseOf(s, o), Current: app.CurrentOf(other)})
			}
		}
		return nil
	})
	if err != nil || len(others) == 0 {
		return nil
	}
	mine := changedInherited(look, own)
	for _, o := range others {
		if len(mine) == 0 || ctx.Err() != nil {
			break
		}
		theirs := changedInherited(look, o)
		both := slices.DeleteFunc(slices.Clone(mine), func(path string) bool { return !slices.Contains(theirs, path) })
		if paths := conflictsAmong(look, id, o.Current.ThreadID, both); len(paths) > 0 {
			out = append(out, code.Overlap{With: o.Current.ThreadID, Paths: paths})
		}
	}
	return out
}

// changedInherited returns the paths that a thread had in common with its parent and has
// changed or removed since, sorted; none if that cannot be read.
func changedInherited(c *app.Call, v app.ComparedVersions) (paths []string) {
	err := c.ReadConsistent(func() error {
		paths = nil
		was, err := merges.ReadVersion(c, v.Base, scope.Set{})
		if err != nil || len(was.Files) == 0 {
			return err
		}
		is, err := merges.ReadVersion(c, v.Current, scope.Set{})
		if err == nil {
			err = merges.HashDoubtful(c, was, is)
		}
		for path, old := range was.Files {
			if f, there := is.Files[path]; !there || !f.SameAs(old) {
				paths = append(paths, path)
			}
		}
		return err
	}, v.Current.ThreadID)
	if err != nil {
		return nil
	}
	slices.Sort(paths)
	return paths
}

// conflictsAmong returns those of some paths in which two threads conflict.
func conflictsAmong(c *app.Call, a, b thread.ThreadID, paths []string) (out []string) {
	set, err := scope.Parse(paths)
	if err != nil || len(paths) == 0 {
		return nil
	}
	err = c.ReadConsistent(func() error {
		out, err = merging.Conflicting(merges.SessionCall(c, merges.Resolvers{}, app.Settings{}), a, b, set)
		return err
	}, a, b)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(out, func(path string) bool { return !slices.Contains(paths, path) })
}
