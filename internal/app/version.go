package app

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
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

	checkpoint thread.Checkpoint
	common     []thread.Common
	parties    []thread.ThreadID // whose files it depends on
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
	case !thread.ValidID(id):
		return "must be ID, ID@CHECKPOINT, ID@base or MERGE, not " + quoted(text)
	case at && strings.TrimSpace(of) == "":
		return "needs a checkpoint, or base, after the @"
	}
	return ""
}

// version adds the fault of a word for a version; "" is ignored.
func (k *checks) version(field, text string) {
	if fault := VersionFault(text); text != "" && fault != "" {
		k.add(field, text, "%s", fault)
	}
}

// findVersion finds what a word names. Errors: T101, T105, T111, T303.
func findVersion(s *thread.State, text string) (Version, error) {
	id, of, at := strings.Cut(text, "@")
	t, err := s.Thread(id)
	switch {
	case isMissing(err) && !at:
		return mergeVersion(s, id, err)
	case err != nil:
		return Version{}, err
	}
	switch {
	case !at:
		return currentVersion(t.ID), nil
	case of == baseName:
		return baseVersion(s, t), nil
	}
	v := Version{Kind: CheckpointVersion, ThreadID: t.ID, parties: []thread.ThreadID{t.ID}}
	if v.checkpoint, err = t.CheckpointOf(of); err == nil {
		v.CheckpointID, v.Name = v.checkpoint.ID, v.checkpoint.Name
	}
	return v, err
}

func currentVersion(id thread.ThreadID) Version {
	return Version{Kind: CurrentVersion, ThreadID: id, parties: []thread.ThreadID{id}}
}

// baseVersion is what a thread and its parent last had in common.
func baseVersion(s *thread.State, t thread.Thread) Version {
	return Version{Kind: BaseVersion, ThreadID: t.ID, common: s.SharedWith(t.ID, t.ParentID), parties: []thread.ThreadID{t.ID}}
}

// mergeVersion finds a pending merge. missing is why the id names no thread.
func mergeVersion(s *thread.State, id string, missing error) (Version, error) {
	m, err := s.Merge(id)
	if err != nil {
		if codes.Has(err, codes.MergeNotFound) && !strings.HasPrefix(id, thread.PrefixMerge) {
			return Version{}, missing
		}
		return Version{}, err
	}
	return Version{Kind: MergeVersion, ThreadID: m.Target, MergeID: m.ID, parties: append(slices.Clone(m.Sources), m.Target)}, nil
}

// inheritedVersion is what a thread last got from its parent.
func inheritedVersion(s *thread.State, id thread.ThreadID) (Version, error) {
	t, err := s.Thread(string(id))
	return Version{Kind: InheritedVersion, ThreadID: id, common: s.ReceivedFrom(id, t.ParentID), parties: []thread.ThreadID{id}}, err
}

// versionTree is a version that was read.
type versionTree struct {
	files   map[string]versionFile
	matched []string // paths and folders as patterns match them
	skipped []string // entries that are neither files nor folders
}

// versionFile is one file of a version.
type versionFile struct {
	size       int64
	executable bool
	hash       thread.BlobID // "" for a current file that was not hashed
	// current is the listed file, of that thread; nil for stored content.
	current *store.Entry
	of      thread.ThreadID
	// planned reads what a merge would write; nil for other files. conflicts wait in it.
	planned   func() ([]byte, error)
	conflicts int
	times     store.FileAt // of stored content: when the file was changed last
}

// readVersion lists a version in a scope; it reads no content of current files. Errors:
// T507, T509, those of planning a merge.
func readVersion(c *Call, v Version, set scope.Set) (versionTree, error) {
	switch v.Kind {
	case CheckpointVersion:
		m, err := c.store.Manifest(v.checkpoint.Manifest)
		tree := versionTree{files: map[string]versionFile{}}
		tree.add(set, m...)
		return tree, err
	case BaseVersion, InheritedVersion:
		return commonTree(c, v.common, set)
	case MergeVersion:
		return mergedTree(c, v, set)
	}
	return currentTree(c, v.ThreadID, set)
}

// add adds stored files within a scope.
func (t *versionTree) add(set scope.Set, files ...store.FileAt) {
	for _, f := range files {
		if !set.Match(f.Path) {
			continue
		}
		t.files[f.Path] = versionFile{size: f.Size, executable: f.Executable, hash: f.SHA256, times: f}
		t.matched = append(t.matched, withFolders(f.Path)...)
	}
}

// withFolders returns a path and the folders above it, as patterns match them.
func withFolders(path string) []string {
	out := []string{path}
	for i, r := range path {
		if r == '/' {
			out = append(out, path[:i+1])
		}
	}
	return out
}

func currentTree(c *Call, id thread.ThreadID, set scope.Set) (versionTree, error) {
	tree := versionTree{files: map[string]versionFile{}}
	for _, path := range set.Exact() {
		if err := c.store.CheckPath(id, path); err != nil {
			return tree, err
		}
	}
	entries, err := c.store.ArtifactsIn(id, set)
	for i, e := range entries {
		if e.Type == store.TypeFile {
			tree.files[e.Path] = versionFile{size: e.Size, executable: e.Executable, current: &entries[i], of: id}
		}
	}
	tree.matched, tree.skipped = matchable(entries), specials(entries)
	return tree, err
}

// commonTree returns the content that two threads had in common: for each path that of
// the newest share that covers it.
func commonTree(c *Call, common []thread.Common, set scope.Set) (versionTree, error) {
	tree := versionTree{files: map[string]versionFile{}}
	var newer []scope.Set
	for _, share := range common {
		m, err := c.store.Manifest(share.Manifest)
		if err != nil {
			return tree, err
		}
		covers, err := scope.Parse(share.Scope)
		if err != nil {
			return tree, err
		}
		for _, f := range m {
			if !slices.ContainsFunc(newer, func(s scope.Set) bool { return s.Match(f.Path) }) {
				tree.add(set, f)
			}
		}
		newer = append(newer, covers)
	}
	return tree, nil
}

// mergedTree returns a merge's target as the merge would leave it. Open conflicts are
// between markers; if a whole file is in conflict, it is the target's file.
func mergedTree(c *Call, v Version, set scope.Set) (versionTree, error) {
	tree, err := currentTree(c, v.ThreadID, set)
	if err != nil {
		return tree, err
	}
	s, err := merging.Look(mergeCall(c, MergeMeans{}, settings{}), string(v.MergeID))
	if err != nil {
		return tree, err
	}
	for _, o := range s.Outcomes() {
		if !set.Match(o.Path) {
			continue
		}
		tree.matched = append(tree.matched, withFolders(o.Path)...)
		if o.Kept {
			f := tree.files[o.Path]
			f.conflicts = o.Open
			tree.files[o.Path] = f
			continue
		}
		delete(tree.files, o.Path)
		if o.After.There() {
			tree.files[o.Path] = versionFile{
				size: o.After.Size, executable: o.After.Executable, hash: o.Hash(), conflicts: o.Open,
				planned: func() ([]byte, error) { return s.OutcomeContent(o) },
			}
		}
	}
	return tree, nil
}

// content returns a file's content. Its error is errMoved for a current file that is
// gone since it was listed. Errors: T507, T508, T509.
func (f versionFile) content(c *Call, path string) ([]byte, error) {
	switch {
	case f.planned != nil:
		return f.planned()
	case f.current == nil:
		return c.store.Blob(f.hash)
	}
	data, err := c.store.ReadArtifact(f.of, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errMoved
	}
	return data, err
}

// sameFile reports whether two files are one and the same current file, or times prove
// that a current file is as it was stored.
func sameFile(a, b versionFile) bool {
	if a.current != nil && b.current != nil {
		return a.of == b.of
	}
	if a.current == nil {
		a, b = b, a
	}
	if a.current == nil || b.times.ChangeTime.IsZero() {
		return false
	}
	return a.size == b.size && a.current.ChangeTime.Equal(b.times.ChangeTime) && a.current.ModTime.Equal(b.times.ModTime)
}

// sameContent reports whether two files that were hashed where that was needed have the
// same content.
func sameContent(a, b versionFile) bool {
	return sameFile(a, b) || a.size == b.size && a.hash == b.hash && a.hash != ""
}

// sameAs reports whether two files have the same content and executable bit.
func (f versionFile) sameAs(g versionFile) bool {
	return sameContent(f, g) && f.executable == g.executable
}

// hashDoubtful hashes current files of equal size, so that all others can be told apart
// without reading them. Errors: T508 for a file too large to hash, T507, T509, T904.
func hashDoubtful(c *Call, a, b versionTree) error {
	doubtful := map[thread.ThreadID][]store.Entry{}
	for path, x := range a.files {
		y, both := b.files[path]
		if !both || x.size != y.size || sameFile(x, y) {
			continue
		}
		for _, f := range []versionFile{x, y} {
			if f.current != nil && f.hash == "" {
				doubtful[f.of] = append(doubtful[f.of], *f.current)
			}
		}
	}
	for id, entries := range doubtful {
		hashed, err := c.store.Hash(c.ctx, id, entries)
		if err != nil {
			return err
		}
		for _, e := range hashed {
			if e.Type == store.TypeFile && e.SHA256 == "" {
				return codes.TooLarge.New(fact.Of("what", e.Path), fact.Of("limit", "64 MiB"), fact.Of("path", threadPath(id)+"/"+e.Path), fact.Of("threadId", id))
			}
			for _, tree := range []versionTree{a, b} {
				if f, ok := tree.files[e.Path]; ok && f.of == id && f.current != nil {
					f.size, f.executable, f.hash = e.Size, e.Executable, e.SHA256
					tree.files[e.Path] = f
				}
			}
		}
	}
	return nil
}
