package artifacts

import (
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file handles artifacts: the files in a thread's folder.

// Artifact is one entry of a thread's folder. Only files have the last four fields.
type Artifact struct {
	Path       string          `json:"path"`
	Type       store.EntryType `json:"type"`
	Size       *int64          `json:"size,omitempty"`
	SHA256     thread.BlobID   `json:"sha256,omitempty"`
	ModifiedAt *time.Time      `json:"modifiedAt,omitempty"`
	// VersionOf is the file of which it is the version of another machine, which could not be merged.
	VersionOf string `json:"versionOf,omitempty"`
}

// ArtifactsOf are entries of a thread's folder as an answer shows them.
func ArtifactsOf(entries []store.Entry) []Artifact {
	out := make([]Artifact, len(entries))
	for i, e := range entries {
		out[i] = Artifact{Path: strings.ToValidUTF8(e.Path, "\uFFFD"), Type: e.Type}
		if e.Type == store.TypeFile {
			modified := e.ModTime.UTC().Truncate(time.Millisecond)
			out[i].Size, out[i].SHA256, out[i].ModifiedAt = &e.Size, e.SHA256, &modified
			out[i].VersionOf = store.VersionBeside(e.Path)
		}
	}
	return out
}

// ArtifactsRequest lists a thread's artifacts.
type ArtifactsRequest struct {
	Thread string   // "": the thread that the caller speaks for
	Scope  []string // paths, folders, globs; nil: all
	Limit  int      // 0: all
}

// ArtifactsResult has the entries of a thread's folder.
type ArtifactsResult struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Folder   string          `json:"folder"` // from the project's root
	Dir      string          `json:"dir"`    // the same, absolute
	app.Items[Artifact]
}

// Artifacts lists the files in a thread's folder. Errors: T101, T105, T203 for a
// pattern that matches nothing, T507 for one that leads out, T903, those of reading.
func Artifacts(c *app.Call, in ArtifactsRequest) (*ArtifactsResult, error) {
	c.ReadOnly()
	id := c.ThreadOr(in.Thread)
	var t thread.Thread
	_, err := c.View(func(s *thread.State) (err error) {
		t, err = s.Thread(id)
		return err
	})
	if err != nil {
		return nil, err
	}
	set, err := ScopeIn(in.Scope, t.ID)
	if err != nil {
		return nil, err
	}
	var shown app.Items[store.Entry]
	var hashed []store.Entry
	err = c.ReadConsistent(func() error {
		entries, err := matchedArtifacts(c, t.ID, set)
		if err = UnlessPending(c, t.ID, err); err == nil {
			shown = app.First(entries, in.Limit)
			hashed, err = c.Store().Hash(c.Context(), t.ID, shown.Items)
		}
		return err
	}, t.ID)
	if err != nil {
		return nil, err
	}
	warnUnnamed(c, hashed)
	return &ArtifactsResult{ThreadID: t.ID, Folder: app.ThreadPath(t.ID), Dir: c.Absolute(app.ThreadPath(t.ID)),
		Items: app.Items[Artifact]{Items: ArtifactsOf(hashed), Total: shown.Total, Truncated: shown.Truncated}}, nil
}

// warnUnnamed adds W515 for listed entries that are of no type because their names are not
// UTF-8.
func warnUnnamed(c *app.Call, entries []store.Entry) {
	paths := make([]string, len(entries))
	for i, e := range entries {
		paths[i] = e.Path
	}
	if _, names := warnings.SplitLeftOut(paths); len(names) > 0 {
		c.Warn(warnings.NamesNotUTF8.NewOfPaths(names, nil))
	}
}

// ListArtifacts lists a thread's artifacts, never with an operation half done.
func ListArtifacts(c *app.Call, id thread.ThreadID) (entries []store.Entry, err error) {
	err = c.ReadConsistent(func() error { entries, err = c.Store().Artifacts(id); return err }, id)
	return entries, err
}

// ShownArtifacts is ListArtifacts for what shows a thread as a whole, which goes on where
// the thread's folder is missing: W514 says so.
func ShownArtifacts(c *app.Call, id thread.ThreadID) (entries []store.Entry, missing bool, err error) {
	entries, err = ListArtifacts(c, id)
	if err = UnlessPending(c, id, err); codes.Has(err, codes.TargetCorrupted) {
		c.Warn(warnings.FolderMissing.New(fact.Of("threadId", id), fact.Of("path", app.ThreadPath(id))))
		return nil, true, nil
	}
	return entries, false, err
}

// UnlessPending returns nil in place of T202 for the folder of a thread that an operation of
// a dead process has still to put in place. W507 says so, and the next write does it. Only
// what shows files may go on: what writes is told that the folder is missing.
func UnlessPending(c *app.Call, id thread.ThreadID, err error) error {
	if codes.Has(err, codes.TargetCorrupted) && c.Store().FolderPending(id) {
		return nil
	}
	return err
}

// matchedArtifacts lists a thread's artifacts in a scope. Errors: T203 for a pattern
// that matches nothing, T507 for one that leads out through a link.
func matchedArtifacts(c *app.Call, id thread.ThreadID, set scope.Set) ([]store.Entry, error) {
	for _, path := range set.Exact() {
		if err := c.ToCome(id, scope.Set{}, c.Store().CheckPath(id, path)); err != nil {
			return nil, err
		}
	}
	entries, err := c.Store().ArtifactsIn(id, set)
	if err = c.ToCome(id, scope.Set{}, err); err != nil {
		return nil, err
	}
	if none := set.Unmatched(app.ScopePaths(entries)); len(none) > 0 {
		return nil, codes.ScopeNotFound.New(fact.Of("path", none[0]), fact.Of("threadId", id), fact.Of("paths", none))
	}
	return entries, nil
}

func countFiles(entries []store.Entry) int {
	n := 0
	for _, e := range entries {
		if e.Type == store.TypeFile {
			n++
		}
	}
	return n
}

// ScopeIn parses patterns. id is the thread named in errors, "" if it was not found.
// Errors: T507 for a pattern that leads out of the folder; T903 for an invalid one.
func ScopeIn(patterns []string, id thread.ThreadID) (scope.Set, error) {
	set, err := scope.Parse(patterns)
	switch e := codes.Of(err); {
	case err == nil:
		return set, nil
	case e == nil:
		return set, codes.InvalidArgument.Wrap(err, fact.Of("reason", "Scope: "+err.Error()))
	case id != "":
		return set, e.With(fact.Of("threadId", id))
	}
	return set, err
}
