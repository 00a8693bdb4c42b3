package store

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file finds what somebody did in a thread's folder since leslie created it.

// UnknownEntries returns the paths at which a thread's folder differs from its
// original content: the files of a manifest and the frozen copies of references. It
// includes added, changed and removed paths, links and special files; empty folders
// and leslie's own .meta do not count. A thread without a folder has no such paths.
// Errors: T507, T509, T904.
func (s *Store) UnknownEntries(ctx context.Context, id thread.ThreadID, given Manifest, refs []thread.Reference) ([]string, error) {
	at := threadPath(id, "")
	root, err := s.openThread(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, saferoot.CannotRead(at, err)
	}
	defer root.Close()
	want, err := s.withCopies(given, refs)
	if err != nil {
		return nil, err
	}
	t := tree{root: root, at: at, skip: func(top string) bool { return top == MetaDir }}
	entries, err := list(t)
	if err != nil {
		return nil, err
	}
	if entries, err = hashEntries(ctx, t, entries); err != nil {
		return nil, err
	}
	return differing(want, entries), nil
}

// withCopies is a manifest with the frozen copies of references where they lie in
// the thread's folder.
func (s *Store) withCopies(given Manifest, refs []thread.Reference) (Manifest, error) {
	out := slices.Clone(given)
	for _, ref := range refs {
		if ref.Manifest == "" {
			continue
		}
		m, err := s.Manifest(ref.Manifest)
		if err != nil {
			return nil, err
		}
		for _, f := range m {
			f.Path = path.Join(InheritedDir, string(ref.ID), f.Path)
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b FileAt) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}
