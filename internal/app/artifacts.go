package app

import (
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
)

// This file handles artifacts: the files in a thread's folder.

// Artifact is one entry of a thread's folder. Only files have the last three fields.
type Artifact struct {
	Path       string          `json:"path"`
	Type       store.EntryType `json:"type"`
	Size       *int64          `json:"size,omitempty"`
	SHA256     thread.BlobID   `json:"sha256,omitempty"`
	ModifiedAt *time.Time      `json:"modifiedAt,omitempty"`
}

func artifactsOf(entries []store.Entry) []Artifact {
	out := make([]Artifact, len(entries))
	for i, e := range entries {
		out[i] = Artifact{Path: strings.ToValidUTF8(e.Path, "\uFFFD"), Type: e.Type}
		if e.Type == store.TypeFile {
			modified := e.ModTime.UTC().Truncate(time.Millisecond)
			out[i].Size, out[i].SHA256, out[i].ModifiedAt = &e.Size, e.SHA256, &modified
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
	Items[Artifact]
}

// Artifacts lists the files in a thread's folder. Errors: T101, T105, T203 for a
// pattern that matches nothing, T507 for one that leads out, T903, those of reading.
func Artifacts(c *Call, in ArtifactsRequest) (*ArtifactsResult, error) {
	c.readOnly()
	id := c.threadOr(in.Thread)
	var t thread.Thread
	_, err := c.view(func(s *thread.State) (err error) {
		t, err = s.Thread(id)
		return err
	})
	if err != nil {
		return nil, err
	}
	set, err := scopeIn(in.Scope, t.ID)
	if err != nil {
		return nil, err
	}
	var shown Items[store.Entry]
	var hashed []store.Entry
	err = c.settled(func() error {
		entries, err := matchedArtifacts(c, t.ID, set)
		if err == nil {
			shown = First(entries, in.Limit)
			hashed, err = c.store.Hash(c.ctx, t.ID, shown.Items)
		}
		return err
	}, t.ID)
	if err != nil {
		return nil, err
	}
	return &ArtifactsResult{ThreadID: t.ID, Folder: threadPath(t.ID), Dir: absolute(c, threadPath(t.ID)),
		Items: Items[Artifact]{Items: artifactsOf(hashed), Total: shown.Total, Truncated: shown.Truncated}}, nil
}

// listArtifacts lists a thread's artifacts, never with an operation half done.
func listArtifacts(c *Call, id thread.ThreadID) (entries []store.Entry, err error) {
	err = c.settled(func() error { entries, err = c.store.Artifacts(id); return err }, id)
	return entries, err
}

// matchedArtifacts lists a thread's artifacts in a scope. Errors: T203 for a pattern
// that matches nothing, T507 for one that leads out through a link.
func matchedArtifacts(c *Call, id thread.ThreadID, set scope.Set) ([]store.Entry, error) {
	for _, path := range set.Exact() {
		if err := c.store.CheckPath(id, path); err != nil {
			return nil, err
		}
	}
	entries, err := c.store.ArtifactsIn(id, set)
	if err != nil {
		return nil, err
	}
	if none := set.Unmatched(matchable(entries)); len(none) > 0 {
		return nil, codes.ScopeNotFound.New(fact.Of("path", none[0]), fact.Of("threadId", id), fact.Of("paths", none))
	}
	return entries, nil
}

// matchable returns the paths of entries in the form that a scope matches.
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

func countFiles(entries []store.Entry) int {
	n := 0
	for _, e := range entries {
		if e.Type == store.TypeFile {
			n++
		}
	}
	return n
}

// scopeIn parses patterns. id is the thread named in errors, "" if it was not found.
// Errors: T507 for a pattern that leads out of the folder; T903 for an invalid one.
func scopeIn(patterns []string, id thread.ThreadID) (scope.Set, error) {
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
