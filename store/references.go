package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"leslie/internal/scope"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file compares what a reference says with what lies on disk.

// HasThread reports whether the thread's folder is there, a real folder. A folder
// that cannot be looked at is not missing. Errors: T509.
func (s *Store) HasThread(id thread.ThreadID) (bool, error) {
	root, err := s.openThread(id)
	switch {
	case err == nil:
		_ = root.Close()
		return true, nil
	case saferoot.Uncertain(err):
		return false, saferoot.CannotRead(threadPath(id, ""), err)
	}
	return false, nil
}

// ChangedSince returns the paths at which a frozen reference's target differs
// now from what was frozen. Errors: T507, T509, T904.
func (s *Store) ChangedSince(ctx context.Context, ref thread.Reference) ([]string, error) {
	m, err := s.Manifest(ref.Manifest)
	if err != nil {
		return nil, err
	}
	set, err := scope.Parse(ref.Scope)
	if err != nil {
		return nil, err
	}
	return s.Compare(ctx, ref.Target, m, set)
}

// CheckFrozen reads a frozen reference's copy, hashes set, and returns the
// paths at which it is not what was frozen: missing, changed or added.
// Errors: T507, T509 (also for the list of what was frozen), T904.
func (s *Store) CheckFrozen(ctx context.Context, ref thread.Reference) (entries []Entry, damaged []string, err error) {
	m, err := s.Manifest(ref.Manifest)
	if err != nil {
		return nil, nil, err
	}
	at := threadPath(ref.From, InheritedDir+"/"+string(ref.ID))
	root, err := s.disk.OpenFolder(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, m.Paths(), nil
	case err != nil:
		return nil, nil, saferoot.CannotRead(at, err)
	}
	defer root.Close()
	if entries, err = hashedTree(ctx, root, at); err != nil {
		return nil, nil, err
	}
	return entries, differing(m, entries), nil
}

func hashedTree(ctx context.Context, root *os.Root, at string) ([]Entry, error) {
	t := tree{root: root, at: at, skip: func(string) bool { return false }}
	entries, err := list(t)
	if err != nil {
		return nil, err
	}
	return hashEntries(ctx, t, entries)
}

// differing compares hashed entries with a manifest; folders do not count.
func differing(m Manifest, entries []Entry) []string {
	var paths []string
	seen := map[string]bool{}
	for _, e := range entries {
		if e.Type == TypeFolder {
			continue
		}
		seen[e.Path] = true
		if was, ok := m.Find(e.Path); !ok || e.Type != TypeFile || was.SHA256 != e.SHA256 {
			paths = append(paths, e.Path)
		}
	}
	for _, f := range m {
		if !seen[f.Path] {
			paths = append(paths, f.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

// Relative is an absolute path as answers show it: from the project's root,
// with "/".
func (s *Store) Relative(path string) string { return s.disk.Relative(path) }
