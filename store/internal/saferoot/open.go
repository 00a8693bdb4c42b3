package saferoot

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file opens folders and files through an os.Root.

// OpenBase opens the store's folder. The caller closes it.
func (d Disk) OpenBase() (*os.Root, error) { return os.OpenRoot(d.Path("")) }

// OpenFolder opens a real folder below the store's as its own root. Errors: T507 for a
// link, ErrNotFolder, fs.ErrNotExist, the system's own.
func (d Disk) OpenFolder(rel string) (*os.Root, error) {
	r, err := d.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := r.Reach(rel); err != nil {
		return nil, err
	}
	folder := r.open[rel]
	if folder == nil { // it is deeper than folders are held open
		return r.base.OpenRoot(rel)
	}
	delete(r.open, rel) // it is the caller's
	return folder, nil
}

// RealFolder returns nil if rel and every folder above it, up to the root, is a folder
// and not a link. Errors: T507 for a link, ErrNotFolder, fs.ErrNotExist, the system's
// own.
func RealFolder(root *os.Root, rel string) error {
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
		return codes.UnsafePath.New(fact.Of("path", Shown(rel)))
	}
	return &fs.PathError{Op: "open", Path: rel, Err: ErrNotFolder}
}

// OpenIn opens a regular file for reading, without following a link or waiting for a
// pipe. The returned information describes the open file. A file that is replaced by
// rename at this moment is opened again. Errors: ErrNotRegular, fs.ErrNotExist, the
// system's own.
func OpenIn(root *os.Root, rel string) (*os.File, fs.FileInfo, error) {
	return OpenWith(root, rel, os.O_RDONLY)
}

// OpenWith is OpenIn with the flags of os.OpenFile, for an existing file.
func OpenWith(root *os.Root, rel string, flag int) (*os.File, fs.FileInfo, error) {
	for range 10 {
		before, err := root.Lstat(rel)
		if err != nil {
			return nil, nil, err
		}
		if !before.Mode().IsRegular() {
			return nil, nil, &fs.PathError{Op: "open", Path: rel, Err: ErrNotRegular}
		}
		f, err := root.OpenFile(rel, flag|OpenFlags, 0)
		if err != nil {
			return nil, nil, err
		}
		info, err := f.Stat()
		if err == nil && info.Mode().IsRegular() && os.SameFile(before, info) {
			return f, info, nil
		}
		_ = f.Close()
	}
	return nil, nil, &fs.PathError{Op: "open", Path: rel, Err: ErrNotRegular}
}

// ReadNames returns the sorted names in a real folder. One that is no longer a folder
// has none. Errors: fs.ErrNotExist, the system's own.
func ReadNames(root *os.Root, rel string) ([]string, error) {
	before, err := root.Lstat(rel)
	if err != nil || !before.IsDir() {
		return nil, err
	}
	f, err := root.OpenFile(rel, os.O_RDONLY|OpenFlags, 0)
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

// SingleName reports whether name is a single, visible folder entry.
func SingleName(name string) bool {
	return fs.ValidPath(name) && !strings.ContainsAny(name, `/\`) && name[0] != '.' && filepath.IsLocal(name)
}
