package scan

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
	"slices"
	"time"
	"unicode/utf8"

	"leslie/internal/scope"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// Limits of artifacts.
const (
	// MaxFiles limits the number of files of one snapshot.
	MaxFiles = 10_000
	// MaxDepth limits the depth of a tree. A deeper folder counts as TypeOther: it is
	// listed, and never entered.
	MaxDepth = 100
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

// Tree is what one walk reads.
type Tree struct {
	Root *os.Root
	At   string    // its place in the store's folder, for errors
	Set  scope.Set // what is listed; the zero value is everything
	// Skip, if not nil, says which names right in the tree are left out.
	Skip func(name string) bool
}

// List returns the entries sorted by path. Errors: T509.
func (t Tree) List() ([]Entry, error) {
	var out []Entry
	err := t.Walk("", 1, func(e Entry) error { out = append(out, e); return nil })
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, byPath)
	return out, nil
}

func byPath(a, b Entry) int { return cmp.Compare(a.Path, b.Path) }

// Walk visits what the scope matches in a folder, at a depth, and below it. An entry that vanishes
// before it is read counts as absent.
func (t Tree) Walk(folder string, depth int, visit func(Entry) error) error {
	names, err := saferoot.ReadNames(t.Root, cmp.Or(folder, "."))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return saferoot.CannotRead(path.Join(t.At, folder), err)
	}
	for _, name := range names {
		if folder == "" && t.Skip != nil && t.Skip(name) {
			continue
		}
		if err := t.look(path.Join(folder, name), depth, visit); err != nil {
			return err
		}
	}
	return nil
}

func (t Tree) look(rel string, depth int, visit func(Entry) error) error {
	info, err := t.Root.Lstat(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return saferoot.CannotRead(path.Join(t.At, rel), err)
	}
	e := entryAt(rel, info)
	if e.Type == TypeFolder && depth >= MaxDepth {
		e.Type = TypeOther
	}
	if t.Set.Match(asMatched(e)) {
		if err := visit(e); err != nil {
			return err
		}
	}
	if e.Type == TypeFolder && t.Set.Reaches(rel) {
		return t.Walk(rel, depth+1, visit)
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

// Hash returns entries with SHA256 set for files, and with the size and times of what
// was read. A file that is gone is left out, one that became something else is
// TypeOther, one larger than content.MaxFile has no hash. Errors: T509, T904.
func (t Tree) Hash(ctx context.Context, entries []Entry) ([]Entry, error) {
	out := make([]Entry, 0, len(entries))
	for _, e := range entries {
		if err := saferoot.Stopped(ctx); err != nil {
			return nil, err
		}
		if e.Type == TypeFile {
			switch err := t.hash(&e); {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case errors.Is(err, saferoot.ErrNotRegular):
				e = Entry{Path: e.Path, Type: TypeOther}
			case err != nil:
				return nil, saferoot.CannotRead(path.Join(t.At, e.Path), err)
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// hash reads one file, up to one byte more than content.MaxFile.
func (t Tree) hash(e *Entry) error {
	f, info, err := saferoot.OpenIn(t.Root, e.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	e.describe(info)
	if e.Size > content.MaxFile {
		return nil
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, content.MaxFile+1))
	if err != nil {
		return err
	}
	e.Size = n
	if n <= content.MaxFile {
		e.SHA256 = thread.BlobID(hex.EncodeToString(sum.Sum(nil)))
	}
	return nil
}
