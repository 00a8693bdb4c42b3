package store

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file opens what strangers may have planted. A project can come from anybody,
// including its .leslie: with a link where the store expects a folder, or a pipe where
// it expects a file. Three rules protect against that:
//
//   - Everything below .leslie is reached through an os.Root of it, so no name and no
//     link leads out, whatever is swapped while leslie works.
//   - The store's own folders and a thread's folder must be real folders: a link in their
//     place is refused (T507) even if it stays inside.
//   - A file is opened without waiting and compared with what was there before: only a
//     regular file is ever read, and a pipe swapped in does not block.
//
// .leslie itself may be a link: whoever works in the project put it there.

// Anything else in place of a file or a folder is never opened.
var (
	errNotRegular = errors.New("not a regular file")
	errNotFolder  = errors.New("not a folder")
)

// base opens the store's folder. The caller closes it.
func (s *Store) base() (*os.Root, error) { return os.OpenRoot(s.Path("")) }

// realFolder returns nil if rel and every folder above it, up to the root, is a folder
// and not a link. Errors: T507 for a link, otherwise the system's own
// (fs.ErrNotExist).
func realFolder(root *os.Root, rel string) error {
	for i := range len(rel) + 1 {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		info, err := root.Lstat(rel[:i])
		if err == nil {
			err = mustBeFolder(rel[:i], info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mustBeFolder rejects anything but a folder: T507 for a link.
func mustBeFolder(rel string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		return codes.UnsafePath.New(fact.Of("path", shown(rel)))
	}
	return &fs.PathError{Op: "open", Path: rel, Err: errNotFolder}
}

// openFolder opens a real folder below the store's as its own root. Errors: T507,
// fs.ErrNotExist, the system's own.
func (s *Store) openFolder(rel string) (*os.Root, error) {
	base, err := s.base()
	if err != nil {
		return nil, err
	}
	f := newFolders(s.saferoot(base))
	defer f.close()
	if err := f.reach(rel); err != nil {
		return nil, err
	}
	folder := f.open[rel]
	if folder == nil { // it lies deeper than folders are held open
		return base.OpenRoot(rel)
	}
	delete(f.open, rel) // it is the caller's
	return folder, nil
}

// openThread opens a thread's folder. An id that is not a single name is T507: such a
// thread cannot exist.
func (s *Store) openThread(id thread.ThreadID) (*os.Root, error) {
	if !singleName(string(id)) {
		return nil, codes.UnsafePath.New(fact.Of("path", string(id)), fact.Of("threadId", id))
	}
	return s.openFolder(ThreadsDir + "/" + string(id))
}

// openInside opens a regular file for reading, without following a link or waiting for
// a pipe. The returned information describes the open file. A file that is replaced by
// rename at this moment is opened again. Errors: errNotRegular, fs.ErrNotExist, the
// system's own.
func openInside(root *os.Root, rel string) (*os.File, fs.FileInfo, error) {
	for range 10 {
		before, err := root.Lstat(rel)
		if err != nil {
			return nil, nil, err
		}
		if !before.Mode().IsRegular() {
			return nil, nil, &fs.PathError{Op: "open", Path: rel, Err: errNotRegular}
		}
		f, err := root.OpenFile(rel, os.O_RDONLY|openCareful, 0)
		if err != nil {
			return nil, nil, err
		}
		info, err := f.Stat()
		if err == nil && info.Mode().IsRegular() && os.SameFile(before, info) {
			return f, info, nil
		}
		_ = f.Close()
	}
	return nil, nil, &fs.PathError{Op: "open", Path: rel, Err: errNotRegular}
}

// readNames returns the sorted names in a real folder. One that is no longer a folder
// has none. Errors: fs.ErrNotExist, the system's own.
func readNames(root *os.Root, rel string) ([]string, error) {
	before, err := root.Lstat(rel)
	if err != nil || !before.IsDir() {
		return nil, err
	}
	f, err := root.OpenFile(rel, os.O_RDONLY|openCareful, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !os.SameFile(before, info) {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// singleName reports whether name is a single, visible folder entry.
func singleName(name string) bool {
	return fs.ValidPath(name) && !strings.ContainsAny(name, `/\`) && name[0] != '.' && filepath.IsLocal(name)
}

// saferoot carries out steps below the store's folder, through its os.Root.
type saferoot struct {
	root *os.Root
	disk disk
	dir  string              // absolute path of the root: what a step is called by
	open map[string]*os.Root // folders that are held open: see at
}

func (s *Store) saferoot(base *os.Root) saferoot {
	return saferoot{root: base, disk: s.disk, dir: s.Path("")}
}

// at returns the shortest path to a name: from its own folder if that is open, which
// costs one system call, otherwise from the root, which costs two more per folder on
// the way.
func (r saferoot) at(rel string) (in *os.Root, name string) {
	if in := r.open[path.Dir(rel)]; in != nil {
		return in, path.Base(rel)
	}
	return r.root, rel
}

func (r saferoot) path(rel string) string { return filepath.Join(r.dir, filepath.FromSlash(rel)) }

func (r saferoot) lstat(rel string) (fs.FileInfo, error) {
	in, name := r.at(rel)
	return in.Lstat(name)
}

// there reports whether a name exists. It returns an error unless the system is sure:
// a name that cannot be inspected may have what a step has to place, and treating it
// as free would lose that. Errors: T509.
func (r saferoot) there(rel string) (bool, error) {
	_, err := r.lstat(rel)
	if unknowable(err) {
		return false, cannotRead(rel, err)
	}
	return err == nil, nil
}

// unknowable reports whether an error leaves open whether a name exists. A name that
// leads out, or through something that is not a folder, has nothing of leslie's.
func unknowable(err error) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) || errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return errno != syscall.ENOTDIR && errno != syscall.ELOOP && errno != syscall.ENAMETOOLONG
}

// free returns an unused name, made by adding a mark. Errors: T509.
func (r saferoot) free(name, mark string) (string, error) {
	for {
		taken, err := r.there(name)
		if !taken || err != nil {
			return name, err
		}
		name += mark
	}
}

// openFile opens a file without a step: to read, or within one.
func (r saferoot) openFile(rel string, flag int, perm fs.FileMode) (*os.File, error) {
	in, name := r.at(rel)
	return in.OpenFile(name, flag, perm)
}

// mkdir makes one folder. One that is there is fs.ErrExist.
func (r saferoot) mkdir(rel string) error {
	in, name := r.at(rel)
	return r.disk.step(ActMkdir, r.path(rel), func() error { return in.Mkdir(name, 0o755) })
}

// create opens a new file for writing; one that is there is fs.ErrExist.
func (r saferoot) create(rel string, perm fs.FileMode) (f *os.File, err error) {
	err = r.disk.step(ActCreate, r.path(rel), func() (err error) {
		f, err = r.openFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		return err
	})
	return f, err
}

func (r saferoot) write(rel string, do func() error) error {
	return r.disk.step(ActWrite, r.path(rel), do)
}

func (r saferoot) sync(rel string, f *os.File) error {
	return r.disk.step(ActSync, r.path(rel), f.Sync)
}

func (r saferoot) rename(from, to string) error {
	return r.disk.step(ActRename, r.path(to), func() error { return r.root.Rename(from, to) })
}

// link gives a file a second name; one that is taken is fs.ErrExist.
func (r saferoot) link(from, to string) error {
	return r.disk.step(ActLink, r.path(to), func() error { return r.root.Link(from, to) })
}

func (r saferoot) remove(rel string) error {
	in, name := r.at(rel)
	return r.disk.step(ActRemove, r.path(rel), func() error { return in.Remove(name) })
}

func (r saferoot) removeAll(rel string) error {
	in, name := r.at(rel)
	return r.disk.step(ActRemove, r.path(rel), func() error { return in.RemoveAll(name) })
}

// shown returns a path in the store's folder as answers show it: relative to the
// project's root.
func shown(rel string) string { return path.Join(Dir, rel) }

// cannotWrite returns T505 for a path in the store's folder; a coded error keeps its
// code.
func cannotWrite(rel string, err error) error {
	if err == nil || codes.Of(err) != nil {
		return err
	}
	return codes.WriteFailed.Wrap(err, fact.Of("path", shown(rel)), fact.Of("reason", root(err).Error()))
}

// cannotRead returns T509 for a path in the store's folder; a coded error keeps its
// code.
func cannotRead(rel string, err error) error {
	if err == nil || codes.Of(err) != nil {
		return err
	}
	return codes.ReadFailed.Wrap(err, fact.Of("path", shown(rel)), fact.Of("reason", root(err).Error()))
}
