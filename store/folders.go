package store

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// This file creates folders and files below the store's, and makes them durable. It
// keeps folders open while it works in them. What it created goes to disk at once, in
// the order that names rely on: a file's bytes, its name, the folder's own name.

// folders creates folders and files below a root and records what has to be durable
// before anything may rely on them. It keeps folders open until close.
type folders struct {
	saferoot
	made    map[string]bool // known to be a real folder, and touched where its name is
	touched map[string]bool // folders whose names changed, or may not be on disk yet
	fresh   []fresh         // files whose bytes may not be on disk yet
}

// fresh is a file that was written, and is open until it is on disk.
type fresh struct {
	rel  string
	file *os.File
}

const (
	manyFresh = 32 // so many files are written before they are had on disk together
	manyOpen  = 64 // so many folders are held open
)

func newFolders(r saferoot) *folders {
	r.open = map[string]*os.Root{}
	return &folders{saferoot: r, made: map[string]bool{".": true}, touched: map[string]bool{}}
}

// close closes all open folders, including the root, and drops what was written for
// nothing.
func (f *folders) close() error {
	f.closeFiles()
	f.leaveIn(".")
	return f.root.Close()
}

// leave closes a folder and everything in it, because it is going to move.
func (f *folders) leave(rel string) {
	f.leaveIn(rel)
	f.closeFile(rel)
}

// leaveIn lets go of the folders in one.
func (f *folders) leaveIn(rel string) {
	for at := range f.open {
		if rel == "." || strings.HasPrefix(at, rel+"/") {
			f.closeFile(at)
		}
	}
}

func (f *folders) closeFile(rel string) {
	if folder := f.open[rel]; folder != nil {
		_ = folder.Close()
		delete(f.open, rel)
	}
}

// rename is rooted.rename; a folder that goes is let go of.
func (f *folders) rename(from, to string) error {
	f.leave(from)
	return f.saferoot.rename(from, to)
}

// remove is rooted.remove; a folder that goes is let go of.
func (f *folders) remove(rel string) error {
	f.leave(rel)
	return f.saferoot.remove(rel)
}

// removeAll is rooted.removeAll; a folder that goes is let go of.
func (f *folders) removeAll(rel string) error {
	f.leave(rel)
	return f.saferoot.removeAll(rel)
}

// reach opens a real folder and those above it, and keeps them open. Errors: T507 for
// a link, errNotFolder, fs.ErrNotExist, the system's own.
func (f *folders) reach(rel string) error {
	if rel == "." || f.open[rel] != nil {
		return nil
	}
	if err := f.reach(path.Dir(rel)); err != nil {
		return err
	}
	info, err := f.lstat(rel)
	if err == nil {
		err = mustBeFolder(rel, info)
	}
	if err != nil || len(f.open) >= manyOpen {
		return err
	}
	in, name := f.at(rel)
	folder, err := in.OpenRoot(name)
	if err != nil {
		return err
	}
	f.open[rel] = folder
	return nil
}

// ensure creates the folder rel and those above it. An existing one may just have been
// created by another process, so its name is touched as well. Errors: T507 if a link
// is there, T505.
func (f *folders) ensure(rel string) error {
	if f.made[rel] {
		return nil
	}
	parent := path.Dir(rel)
	if err := f.ensure(parent); err != nil {
		return err
	}
	err := f.reach(rel)
	if errors.Is(err, fs.ErrNotExist) {
		if err = f.mkdir(rel); err == nil || errors.Is(err, fs.ErrExist) {
			err = f.reach(rel)
		}
	}
	if err != nil {
		return cannotWrite(rel, err)
	}
	f.made[rel] = true
	f.touch(parent)
	return nil
}

// touch records that names in the folder have changed.
func (f *folders) touch(rel string) { f.touched[rel] = true }

// settleFiles makes every fresh file durable, and closes it. A file for which that
// fails is removed if possible. Errors: T505.
func (f *folders) settleFiles() error {
	files := f.fresh
	f.fresh = nil
	all := make([]flush, len(files))
	for i, one := range files {
		all[i] = flushFile("", f.path(one.rel), one.file)
	}
	return f.waitFor(all, func(i int) {
		_ = files[i].file.Close()
		_ = f.remove(files[i].rel)
	})
}

// waitFor has all of it on disk; failed is told which is not. Errors: T505.
func (f *folders) waitFor(all []flush, failed func(int)) (first error) {
	for i, err := range f.disk.together(all) {
		if err != nil {
			failed(i)
			rel, _ := filepath.Rel(f.dir, all[i].path)
			first = cmp.Or(first, cannotWrite(filepath.ToSlash(rel), err))
		}
	}
	return first
}

// closeFiles closes what was written for nothing.
func (f *folders) closeFiles() {
	for _, one := range f.fresh {
		_ = one.file.Close()
	}
	f.fresh = nil
}

// settle makes everything durable: first the bytes of files, then the names in every
// touched folder, each once. A folder that fails stays touched. Errors: T505.
func (f *folders) settle() error {
	if err := f.settleFiles(); err != nil {
		return err
	}
	folders := deepestFirst(f.touched)
	all := f.names(folders)
	clear(f.touched)
	return f.waitFor(all, func(i int) { f.touch(folders[i]) })
}

// names are the names in folders.
func (f *folders) names(folders []string) []flush {
	all := make([]flush, len(folders))
	for i, rel := range folders {
		in, name := f.root, rel
		if folder := f.open[rel]; folder != nil {
			in, name = folder, "."
		}
		all[i] = flush{filesInPlace, ActSyncDir, f.path(rel), func() error { return syncInside(in, name) }}
	}
	return all
}

func deepestFirst(folders map[string]bool) []string {
	all := slices.Collect(maps.Keys(folders))
	slices.SortFunc(all, func(a, b string) int {
		if d := strings.Count(b, "/") - strings.Count(a, "/"); d != 0 {
			return d
		}
		return strings.Compare(b, a) // "." comes last
	})
	return all
}
