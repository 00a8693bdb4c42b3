package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file reads the artifacts of a thread: the tree below threads/ID, without .meta
// and context, which belong to leslie. People and agents write there with their own
// tools at any time, so a listed file may be gone or changed when it is read; that is
// not an error. If a file changes while it is read, what was read counts.

// Limits of artifacts.
const (
	// MaxFile is the size limit of an artifact that is hashed, shared or stored, in
	// bytes.
	MaxFile = 64 << 20
	// MaxFiles limits the number of files of one snapshot.
	MaxFiles = 10_000
	// maxDepth limits the depth of a tree. A deeper folder counts as TypeOther: it is
	// listed, and never entered.
	maxDepth = 100
)

// EntryType says what is at a path.
type EntryType string

// The types of entries. Links are never followed. TypeOther is everything that is not
// a file, folder or link (pipes, sockets, devices), and also what has a name that is
// not UTF-8 or is too deep: it is never opened.
const (
	TypeFile   EntryType = "file"
	TypeFolder EntryType = "folder"
	TypeLink   EntryType = "link"
	TypeOther  EntryType = "other"
)

// Entry is one entry of a tree. Size, Executable, SHA256 and the times (UTC) are set
// only for files, SHA256 only by Hash.
type Entry struct {
	Path       string // relative to the tree, with "/"
	Type       EntryType
	Size       int64
	SHA256     thread.BlobID
	ModTime    time.Time
	ChangeTime time.Time // zero where the system does not tell it
	Executable bool
}

// Artifacts lists the thread's artifacts sorted by path, of any number and size. Like
// everything that reads a thread's files, call it inside Consistent, Settled or
// Update, so that no operation is seen half done. A thread without a folder has none.
// Names are unmodified: they may contain control characters. Errors: T507 if a link is
// in place of the thread's folder, T509, T904.
func (s *Store) Artifacts(id thread.ThreadID) ([]Entry, error) {
	return s.ArtifactsIn(id, scope.Set{})
}

// ArtifactsIn is Artifacts for those in a scope; it does not read folders that the
// scope does not reach.
func (s *Store) ArtifactsIn(id thread.ThreadID, set scope.Set) ([]Entry, error) {
	root, err := s.openThread(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, saferoot.CannotRead(threadPath(id, ""), err)
	}
	defer root.Close()
	return list(tree{root: root, at: threadPath(id, ""), set: set, skip: ownNames})
}

// HashedIn is ArtifactsIn with hashes. Errors: those of ArtifactsIn and Hash.
func (s *Store) HashedIn(ctx context.Context, id thread.ThreadID, set scope.Set) ([]Entry, error) {
	found, err := s.ArtifactsIn(id, set)
	if err != nil {
		return nil, err
	}
	return s.Hash(ctx, id, found)
}

// Hash returns the thread's entries, which were listed in the same Consistent or
// Settled, with SHA256 set for files, and with the size and times of what was read. A
// file that is gone is left out, one that became something else is TypeOther, one
// larger than MaxFile has no hash. Errors: T507, T509, T904.
func (s *Store) Hash(ctx context.Context, id thread.ThreadID, entries []Entry) ([]Entry, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	root, err := s.openThread(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, saferoot.CannotRead(threadPath(id, ""), err)
	}
	defer root.Close()
	return hashEntries(ctx, tree{root: root, at: threadPath(id, "")}, entries)
}

// CheckPath rejects a caller's path that leads out of the thread's folder: absolute,
// with "..", or through a link, wherever it points. The path need not exist. Errors:
// T507 (path, threadId), T903 for an empty path or a NUL, T509.
func (s *Store) CheckPath(id thread.ThreadID, name string) error {
	if name == "" || strings.ContainsRune(name, 0) {
		return codes.InvalidArgument.New(fact.Of("reason", "A path is empty or contains a NUL"), fact.Of("path", name))
	}
	unsafe := codes.UnsafePath.New(fact.Of("path", name), fact.Of("threadId", id))
	if path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(name)) || slices.Contains(strings.Split(name, "/"), "..") {
		return unsafe
	}
	root, err := s.openThread(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return saferoot.CannotRead(threadPath(id, ""), err)
	}
	defer root.Close()
	clean := path.Clean(name)
	switch err := saferoot.RealFolder(root, clean); {
	case codes.Has(err, codes.UnsafePath):
		return unsafe
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, saferoot.ErrNotFolder):
		return nil
	default:
		return saferoot.CannotRead(threadPath(id, clean), err)
	}
}

// openThread opens a thread's folder. An id that is not a single name is T507: such a
// thread cannot exist.
func (s *Store) openThread(id thread.ThreadID) (*os.Root, error) {
	if !saferoot.SingleName(string(id)) {
		return nil, codes.UnsafePath.New(fact.Of("path", string(id)), fact.Of("threadId", id))
	}
	return s.disk.OpenFolder(threadPath(id, ""))
}

// threadPath is a place in a thread's folder, relative to the store's folder.
func threadPath(id thread.ThreadID, rel string) string {
	return path.Join(ThreadsDir, string(id), rel)
}

// ownNames are the top names of a thread's folder that are leslie's own.
func ownNames(name string) bool { return name == MetaDir || name == path.Dir(InheritedDir) }

// tree is what one walk reads.
type tree struct {
	root *os.Root
	at   string // place in the store's folder, for errors
	set  scope.Set
	skip func(top string) bool
}

func list(t tree) ([]Entry, error) {
	var out []Entry
	err := t.walk("", 1, func(e Entry) error { out = append(out, e); return nil })
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, byPath)
	return out, nil
}

func byPath(a, b Entry) int { return cmp.Compare(a.Path, b.Path) }

// walk visits what the scope matches in a folder and below it. An entry that vanishes
// before it is read counts as absent.
func (t tree) walk(folder string, depth int, visit func(Entry) error) error {
	names, err := saferoot.ReadNames(t.root, cmp.Or(folder, "."))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return saferoot.CannotRead(path.Join(t.at, folder), err)
	}
	for _, name := range names {
		if folder == "" && t.skip(name) {
			continue
		}
		if err := t.look(path.Join(folder, name), depth, visit); err != nil {
			return err
		}
	}
	return nil
}

func (t tree) look(rel string, depth int, visit func(Entry) error) error {
	info, err := t.root.Lstat(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return saferoot.CannotRead(path.Join(t.at, rel), err)
	}
	e := entryAt(rel, info)
	if e.Type == TypeFolder && depth >= maxDepth {
		e.Type = TypeOther
	}
	if t.set.Match(asMatched(e)) {
		if err := visit(e); err != nil {
			return err
		}
	}
	if e.Type == TypeFolder && t.set.Reaches(rel) {
		return t.walk(rel, depth+1, visit)
	}
	return nil
}

// asMatched is an entry's path as a scope wants it.
func asMatched(e Entry) string {
	if e.Type == TypeFolder {
		return e.Path + "/"
	}
	return e.Path
}

func entryAt(rel string, info fs.FileInfo) Entry {
	e := Entry{Path: rel, Type: TypeOther}
	switch mode := info.Mode(); {
	case !utf8.ValidString(path.Base(rel)):
	case mode.IsRegular():
		e.Type = TypeFile
		e.describe(info)
	case mode.IsDir():
		e.Type = TypeFolder
	case mode&fs.ModeSymlink != 0:
		e.Type = TypeLink
	}
	return e
}

// describe takes over what is known of a regular file.
func (e *Entry) describe(info fs.FileInfo) {
	e.Size = info.Size()
	e.ModTime = info.ModTime().UTC()
	e.ChangeTime = changeTime(info)
	e.Executable = info.Mode()&0o111 != 0
}

func hashEntries(ctx context.Context, t tree, entries []Entry) ([]Entry, error) {
	out := make([]Entry, 0, len(entries))
	for _, e := range entries {
		if err := stopped(ctx); err != nil {
			return nil, err
		}
		if e.Type == TypeFile {
			switch err := t.hash(&e); {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case errors.Is(err, saferoot.ErrNotRegular):
				e = Entry{Path: e.Path, Type: TypeOther}
			case err != nil:
				return nil, saferoot.CannotRead(path.Join(t.at, e.Path), err)
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// hash reads one file, up to one byte more than MaxFile.
func (t tree) hash(e *Entry) error {
	f, info, err := saferoot.OpenIn(t.root, e.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	e.describe(info)
	if e.Size > MaxFile {
		return nil
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, MaxFile+1))
	if err != nil {
		return err
	}
	e.Size = n
	if n <= MaxFile {
		e.SHA256 = thread.BlobID(hex.EncodeToString(sum.Sum(nil)))
	}
	return nil
}

// stopped returns T904 if the call was cancelled.
func stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return codes.Interrupted.Wrap(context.Cause(ctx))
	}
	return nil
}
