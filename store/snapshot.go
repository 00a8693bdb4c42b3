package store

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file takes snapshots: a thread's files, read one after the other, become blobs
// and a manifest. A snapshot is refused (too many files, one too large, a pattern that
// matches nothing) after listing the tree and before anything is stored.

// Snapshot stores the thread's files within the scope as blobs and returns what it
// read, and the paths that it skipped because they are not regular files. Artifacts
// may be saved in the meantime: each file is stored as read, and one that vanishes
// counts as absent. A thread without a folder has no files. Call it inside Settled.
//
// Errors: T203 (path, threadId, paths) for patterns that match nothing; T507 for a
// pattern that names something through a link, or if a link is in place of the
// thread's folder; T508 for a file over MaxFile or more than MaxFiles; T505, T509,
// T904.
func (st *Stage) Snapshot(ctx context.Context, id thread.ThreadID, set scope.Set) (m Manifest, skipped []string, err error) {
	for _, name := range set.Exact() {
		if err := st.store.CheckPath(id, name); err != nil {
			return nil, nil, err
		}
	}
	at := threadPath(id, "")
	folder, err := st.store.openThread(id)
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, nil, unmatched(id, set, nil)
	}
	if err != nil {
		return nil, nil, saferoot.CannotRead(at, err)
	}
	defer folder.Close()
	t := tree{root: folder, at: at, set: set, skip: ownNames}
	entries, err := listMeant(id, t)
	if err != nil {
		return nil, nil, err
	}
	return st.read(ctx, t, entries)
}

// listMeant lists the entries for a snapshot, and rejects what a snapshot may not
// contain.
func listMeant(id thread.ThreadID, t tree) ([]Entry, error) {
	files := 0
	var entries []Entry
	err := t.walk("", 1, func(e Entry) error {
		entries = append(entries, e)
		if e.Type != TypeFile {
			return nil
		}
		if e.Size > MaxFile {
			return tooLarge(saferoot.Shown(threadPath(id, e.Path)), threadPath(id, e.Path), id)
		}
		if files++; files > MaxFiles {
			return tooMany(id)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, byPath)
	return entries, unmatched(id, t.set, entries)
}

// read stores the files among the entries.
func (st *Stage) read(ctx context.Context, t tree, entries []Entry) (m Manifest, skipped []string, err error) {
	m = Manifest{}
	for _, e := range entries {
		if err := stopped(ctx); err != nil {
			return nil, nil, err
		}
		if e.Type == TypeFile {
			var file FileAt
			switch file, err = st.readFile(t, e.Path); {
			case err == nil:
				m = append(m, file)
				continue
			case errors.Is(err, saferoot.ErrNotRegular):
				e.Type = TypeOther
			case !errors.Is(err, errGone):
				return nil, nil, err
			}
		}
		if e.Type == TypeLink || e.Type == TypeOther {
			skipped = append(skipped, e.Path)
		}
	}
	return m, skipped, nil
}

// errGone says that a file vanished after it was listed.
var errGone = errors.New("gone")

func (st *Stage) readFile(t tree, rel string) (FileAt, error) {
	f, info, err := saferoot.OpenIn(t.root, rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return FileAt{}, errGone
	case errors.Is(err, saferoot.ErrNotRegular):
		return FileAt{}, err
	case err != nil:
		return FileAt{}, saferoot.CannotRead(path.Join(t.at, rel), err)
	}
	defer f.Close()
	e := entryAt(rel, info)
	file := FileAt{Path: rel, Executable: e.Executable}
	if st.provable(e.ChangeTime) {
		file.ModTime, file.ChangeTime = e.ModTime, e.ChangeTime
	}
	file.SHA256, file.Size, err = st.blobs.put(f, path.Join(t.at, rel), MaxFile)
	return file, err
}

// provable reports whether an equal change time will later prove that a file was not
// written since it was read.
func (st *Stage) provable(changed time.Time) bool {
	return !changed.IsZero() && !changed.After(st.since.Add(-racy))
}

// unmatched returns T203 if a pattern matches none of the entries.
func unmatched(id thread.ThreadID, set scope.Set, entries []Entry) error {
	paths := make([]string, len(entries))
	for i, e := range entries {
		paths[i] = asMatched(e)
	}
	missing := set.Unmatched(paths)
	if len(missing) == 0 {
		return nil
	}
	facts := []fact.Fact{fact.Of("path", missing[0]), fact.Of("threadId", id)}
	if len(missing) > 1 {
		facts = append(facts, fact.Of("paths", missing))
	}
	return codes.ScopeNotFound.New(facts...)
}

func tooMany(id thread.ThreadID) error {
	return codes.TooLarge.New(
		fact.Of("what", "The snapshot of '"+string(id)+"'"),
		fact.Of("limit", "10,000 files"),
		fact.Of("path", saferoot.Shown(threadPath(id, ""))),
		fact.Of("threadId", id),
	)
}
