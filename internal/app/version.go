package app

import (
	"slices"
	"strings"

	"leslie/codes"
	"leslie/thread"
)

// This file finds versions of a thread's artifacts and reads them: the current files, a
// checkpoint, what the thread shared with its parent, what a pending merge would make
// of its target.

// VersionKind says what a version is.
type VersionKind string

// The kinds of versions.
const (
	CurrentVersion    VersionKind = "current"
	CheckpointVersion VersionKind = "checkpoint"
	// BaseVersion is what a thread and its parent last had in common.
	BaseVersion VersionKind = "base"
	// InheritedVersion is what a thread last got from its parent.
	InheritedVersion VersionKind = "inherited"
	// MergeVersion is the target of a pending merge with what the merge would do.
	MergeVersion VersionKind = "merge"
)

// baseName is the name of the base behind an @; it wins over a checkpoint of that name.
const baseName = "base"

// Version is one version of a thread's artifacts.
type Version struct {
	Kind         VersionKind         `json:"kind"`
	ThreadID     thread.ThreadID     `json:"threadId"` // of a merge: its target
	CheckpointID thread.CheckpointID `json:"checkpointId,omitempty"`
	Name         string              `json:"name,omitempty"` // of the checkpoint
	MergeID      thread.MergeID      `json:"mergeId,omitempty"`

	Checkpoint thread.Checkpoint `json:"-"`
	Common     []thread.Common   `json:"-"`
	Parties    []thread.ThreadID `json:"-"` // whose files it depends on
}

// String is the version as a command line names it.
func (v Version) String() string {
	switch v.Kind {
	case CheckpointVersion:
		return string(v.ThreadID) + "@" + string(v.CheckpointID)
	case BaseVersion:
		return string(v.ThreadID) + "@" + baseName
	case InheritedVersion:
		return string(v.ThreadID) + " as inherited"
	case MergeVersion:
		return string(v.MergeID)
	}
	return string(v.ThreadID)
}

// VersionFault says what is wrong with a word for a version: ID, ID@CHECKPOINT,
// ID@base, or a merge's id. It returns "" if nothing is.
func VersionFault(text string) string {
	id, of, at := strings.Cut(text, "@")
	switch {
	case !thread.NamesThread(id):
		return "must be ID, ID@CHECKPOINT, ID@base or MERGE, not " + Quoted(text)
	case at && strings.TrimSpace(of) == "":
		return "needs a checkpoint, or base, after the @"
	}
	return ""
}

// Version adds the fault of a word for a version; "" is ignored.
func (k *Checks) Version(field, text string) {
	if fault := VersionFault(text); text != "" && fault != "" {
		k.Add(field, text, "%s", fault)
	}
}

// FindVersion finds what a word names. Errors: T101, T105, T111, T303.
func FindVersion(s *thread.State, text string) (Version, error) {
	id, of, at := strings.Cut(text, "@")
	t, err := s.Thread(id)
	switch {
	case IsMissing(err) && !at:
		return mergeOf(s, id, err)
	case err != nil:
		return Version{}, err
	}
	switch {
	case !at:
		return CurrentOf(t.ID), nil
	case of == baseName:
		return BaseOf(s, t), nil
	}
	v := Version{Kind: CheckpointVersion, ThreadID: t.ID, Parties: []thread.ThreadID{t.ID}}
	if v.Checkpoint, err = t.CheckpointOf(of); err == nil {
		v.CheckpointID, v.Name = v.Checkpoint.ID, v.Checkpoint.Name
	}
	return v, err
}

// CurrentOf is what a thread has now.
func CurrentOf(id thread.ThreadID) Version {
	return Version{Kind: CurrentVersion, ThreadID: id, Parties: []thread.ThreadID{id}}
}

// BaseOf is what a thread and its parent last had in common.
func BaseOf(s *thread.State, t thread.Thread) Version {
	return Version{Kind: BaseVersion, ThreadID: t.ID, Common: s.SharedWith(t.ID, t.ParentID), Parties: []thread.ThreadID{t.ID}}
}

// mergeOf finds a pending merge. missing is why the id names no thread.
func mergeOf(s *thread.State, id string, missing error) (Version, error) {
	m, err := s.Merge(id)
	if err != nil {
		if codes.Has(err, codes.MergeNotFound) && !strings.HasPrefix(id, thread.PrefixMerge) {
			return Version{}, missing
		}
		return Version{}, err
	}
	return Version{Kind: MergeVersion, ThreadID: m.Target, MergeID: m.ID, Parties: append(slices.Clone(m.Sources), m.Target)}, nil
}

// InheritedOf is what a thread last got from its parent.
func InheritedOf(s *thread.State, id thread.ThreadID) (Version, error) {
	t, err := s.Thread(string(id))
	return Version{Kind: InheritedVersion, ThreadID: id, Common: s.ReceivedFrom(id, t.ParentID), Parties: []thread.ThreadID{id}}, err
}
