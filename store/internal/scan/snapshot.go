package scan

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
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file takes snapshots: a thread's files, read one after the other, become blobs
// and a manifest. A snapshot is refused (too many files, one too large, a pattern that
// matches nothing) after listing the tree and before anything is stored.

// Snapshot stores the thread's files within the scope as blobs and returns what it
// read, and the paths that it skipped because they are not regular files. Artifacts
// may be saved in the meantime: each file is stored as read, and one that vanishes
// counts as absent. since is a time of the file system's clock before the snapshot. Call it
// inside ReadConsistentToWrite.
//
// Errors: T202 if the thread's folder is missing; T203 (path, threadId, paths) for
// patterns that match nothing; T507 for a pattern that names something through a link, or
// if a link is in place of the thread's folder; T508 for a file over content.MaxFile or more than MaxFiles; T505, T509,
// T904.
func Snapshot(ctx context.Context, a Artifacts, id thread.ThreadID, set scope.Set, since time.Time, to *content.Writer) (m content.Manifest, skipped []string, err error) {
	for _, name := range set.Exact() {
		if err := a.CheckPath(id, name); err != nil {
			return nil, nil, err
		}
	}
	at := Place(id, "")
	folder, err := a.openThread(id)
	if err != nil {
		return nil, nil, saferoot.CannotRead(at, err)
	}
	defer folder.Close()
	t := Tree{Root: folder, At: at, Set: set, Skip: Own}
	entries, err := listMeant(id, t)
	if err != nil {
		return nil, nil, err
	}
	return shot{t, since, to}.read(ctx, entries)
}

// listMeant lists the entries for a snapshot, and rejects what a snapshot may not
// contain.
func listMeant(id thread.ThreadID, t Tree) ([]Entry, error) {
	files := 0
	var entries []Entry
	err := t.Walk("", 1, func(e Entry) error {
		entries = append(entries, e)
		if e.Type != TypeFile {
			return nil
		}
		if e.Size > content.MaxFile {
			return content.TooLarge(saferoot.Shown(Place(id, e.Path)), Place(id, e.Path), id)
		}
		if files++; files > MaxFiles {
			return TooMany(id)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, byPath)
	return entries, unmatched(id, t.Set, entries)
}

// racy is the coarsest step in which a file system counts time (FAT).
const racy = 2 * time.Second

// shot is one snapshot: of a tree, since a time of the file system's clock.
type shot struct {
	Tree
	since time.Time
	to    *content.Writer
}

// read stores the files among the entries.
func (s shot) read(ctx context.Context, entries []Entry) (m content.Manifest, skipped []string, err error) {
	m = content.Manifest{}
	for _, e := range entries {
		if err := saferoot.Stopped(ctx); err != nil {
			return nil, nil, err
		}
		if e.Type == TypeFile {
			var file content.FileAt
			switch file, err = s.readFile(e.Path); {
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

func (s shot) readFile(rel string) (content.FileAt, error) {
	f, info, err := saferoot.OpenIn(s.Root, rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return content.FileAt{}, errGone
	case errors.Is(err, saferoot.ErrNotRegular):
		return content.FileAt{}, err
	case err != nil:
		return content.FileAt{}, saferoot.CannotRead(path.Join(s.At, rel), err)
	}
	defer f.Close()
	e := entryAt(rel, info)
	file := content.FileAt{Path: rel, Executable: e.Executable}
	if s.provable(e.ChangeTime) {
		file.ModTime, file.ChangeTime = e.ModTime, e.ChangeTime
	}
	file.SHA256, file.Size, err = s.to.Put(f, path.Join(s.At, rel), content.MaxFile)
	return file, err
}

// provable reports whether an equal change time will later prove that a file was not
// written since it was read.
func (s shot) provable(changed time.Time) bool { return Provable(changed, s.since) }

// Provable is provable for a file that was read at a time of the file system's clock.
func Provable(changed, read time.Time) bool {
	return !changed.IsZero() && !changed.After(read.Add(-racy))
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

// TooMany is T508 for a thread with more than MaxFiles files.
func TooMany(id thread.ThreadID) error {
	return codes.TooLarge.New(
		fact.Of("what", "The snapshot of '"+string(id)+"'"),
		fact.Of("limit", "10,000 files"),
		fact.Of("path", saferoot.Shown(Place(id, ""))),
		fact.Of("threadId", id),
	)
}
