package merges

import (
	"errors"
	"io/fs"
	"slices"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
)

// VersionTree is a version that was read.
type VersionTree struct {
	Files   map[string]versionFile
	matched []string // paths and folders as patterns match them
	skipped []string // entries that are neither files nor folders
}

// versionFile is one file of a version.
type versionFile struct {
	Size       int64
	Executable bool
	Hash       thread.BlobID // "" for a current file that was not hashed
	// current is the listed file, of that thread; nil for stored content.
	current *store.Entry
	of      thread.ThreadID
	// planned reads what a merge would write; nil for other files. conflicts wait in it.
	planned   func() ([]byte, error)
	conflicts int
	times     store.FileAt // of stored content: when the file was changed last
}

// ReadVersion lists a version in a scope; it reads no content of current files. Errors:
// T507, T509, those of planning a merge.
func ReadVersion(c *app.Call, v app.Version, set scope.Set) (VersionTree, error) {
	switch v.Kind {
	case app.CheckpointVersion:
		m, err := c.Store().Manifest(v.Checkpoint.Manifest)
		tree := VersionTree{Files: map[string]versionFile{}}
		tree.add(set, m...)
		return tree, err
	case app.BaseVersion, app.InheritedVersion:
		return commonTree(c, v.Common, set)
	case app.MergeVersion:
		return mergedTree(c, v, set)
	}
	return currentTree(c, v.ThreadID, set)
}

// add adds stored files within a scope.
func (t *VersionTree) add(set scope.Set, files ...store.FileAt) {
	for _, f := range files {
		if !set.Match(f.Path) {
			continue
		}
		t.Files[f.Path] = versionFile{Size: f.Size, Executable: f.Executable, Hash: f.SHA256, times: f}
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

// withAllFolders is withFolders of several paths.
func withAllFolders(paths []string) (all []string) {
	for _, path := range paths {
		all = append(all, withFolders(path)...)
	}
	return all
}

func currentTree(c *app.Call, id thread.ThreadID, set scope.Set) (VersionTree, error) {
	tree := VersionTree{Files: map[string]versionFile{}}
	for _, path := range set.Exact() {
		if err := c.Store().CheckPath(id, path); err != nil {
			return tree, err
		}
	}
	entries, err := c.Store().ArtifactsIn(id, set)
	for i, e := range entries {
		if e.Type == store.TypeFile {
			tree.Files[e.Path] = versionFile{Size: e.Size, Executable: e.Executable, current: &entries[i], of: id}
		}
	}
	tree.matched, tree.skipped = app.ScopePaths(entries), artifacts.Specials(entries)
	return tree, err
}

// commonTree returns the content that two threads had in common: for each path that of
// the newest share that covers it.
func commonTree(c *app.Call, common []thread.Common, set scope.Set) (VersionTree, error) {
	tree := VersionTree{Files: map[string]versionFile{}}
	var newer []scope.Set
	for _, share := range common {
		m, err := c.Store().Manifest(share.Manifest)
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

// pendingMerge plans the merge that is a version, with what somebody decided by editing its work
// files. Errors: those of merging.Look.
func pendingMerge(c *app.Call, v app.Version) (*merging.Session, error) {
	s, err := merging.Look(SessionCall(c, Resolvers{}, app.Settings{}), string(v.MergeID))
	if err != nil {
		return nil, err
	}
	return s.Edited()
}

// mergedTree returns a merge's target as the merge would leave it, with what somebody decided by
// editing its work files. Open conflicts are between markers; if a whole file is in conflict, it
// is the target's file.
func mergedTree(c *app.Call, v app.Version, set scope.Set) (VersionTree, error) {
	tree, err := currentTree(c, v.ThreadID, set)
	if err != nil {
		return tree, err
	}
	s, err := pendingMerge(c, v)
	if err != nil {
		return tree, err
	}
	for _, o := range s.Outcomes() {
		if !set.Match(o.Path) {
			continue
		}
		tree.matched = append(tree.matched, withFolders(o.Path)...)
		if o.Kept {
			f := tree.Files[o.Path]
			f.conflicts = o.Open
			tree.Files[o.Path] = f
			continue
		}
		delete(tree.Files, o.Path)
		if o.After.There() {
			tree.Files[o.Path] = versionFile{
				Size: o.After.Size, Executable: o.After.Executable, Hash: o.Hash(), conflicts: o.Open,
				planned: func() ([]byte, error) { return s.OutcomeContent(o) },
			}
		}
	}
	return tree, nil
}

// Content returns a file's content. Its error is app.ErrMoved for a current file that is
// gone since it was listed. Errors: T507, T508, T509.
func (f versionFile) Content(c *app.Call, path string) ([]byte, error) {
	switch {
	case f.planned != nil:
		return f.planned()
	case f.current == nil:
		return c.Store().Blob(f.Hash)
	}
	data, err := c.Store().ReadArtifact(f.of, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, app.ErrMoved
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
	return a.Size == b.Size && a.current.ChangeTime.Equal(b.times.ChangeTime) && a.current.ModTime.Equal(b.times.ModTime)
}

// sameContent reports whether two files that were hashed where that was needed have the
// same content.
func sameContent(a, b versionFile) bool {
	return sameFile(a, b) || a.Size == b.Size && a.Hash == b.Hash && a.Hash != ""
}

// SameAs reports whether two files have the same content and executable bit.
func (f versionFile) SameAs(g versionFile) bool {
	return sameContent(f, g) && f.Executable == g.Executable
}

// HashDoubtful hashes current files of equal size, so that all others can be told apart
// without reading them. Errors: T508 for a file too large to hash, T507, T509, T904.
func HashDoubtful(c *app.Call, a, b VersionTree) error {
	doubtful := map[thread.ThreadID][]store.Entry{}
	for path, x := range a.Files {
		y, both := b.Files[path]
		if !both || x.Size != y.Size || sameFile(x, y) {
			continue
		}
		for _, f := range []versionFile{x, y} {
			if f.current != nil && f.Hash == "" {
				doubtful[f.of] = append(doubtful[f.of], *f.current)
			}
		}
	}
	for id, entries := range doubtful {
		hashed, err := c.Store().Hash(c.Context(), id, entries)
		if err != nil {
			return err
		}
		for _, e := range hashed {
			if e.Type == store.TypeFile && e.SHA256 == "" {
				return codes.TooLarge.New(fact.Of("what", e.Path), fact.Of("limit", "64 MiB"), fact.Of("path", app.ThreadPath(id)+"/"+e.Path), fact.Of("threadId", id))
			}
			for _, tree := range []VersionTree{a, b} {
				if f, ok := tree.Files[e.Path]; ok && f.of == id && f.current != nil {
					f.Size, f.Executable, f.Hash = e.Size, e.Executable, e.SHA256
					tree.Files[e.Path] = f
				}
			}
		}
	}
	return nil
}
