package saferoot

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Root is the store's folder, open for steps below it. It keeps subfolders open while
// it works in them, and records what has to be durable before anything may rely on it.
// Sync makes that durable at once, in the order that names rely on: a file's bytes, its
// name, the folder's own name. A Root is not safe for concurrent use.
type Root struct {
	base    *os.Root
	disk    Disk
	open    map[string]*os.Root // subfolders that are held open: see at
	made    map[string]bool     // known to be a real folder, and touched where its name is
	touched map[string]bool     // folders whose names changed, or may not be on disk yet
	fresh   []fresh             // files whose bytes may not be on disk yet
}

// fresh is a file that was written, and is open until it is on disk.
type fresh struct {
	rel  string
	file *os.File
	old  bool // it was there before, and stays if it cannot be made durable
}

const (
	manyFresh = 32 // so many files are written before they are made durable together
	manyOpen  = 64 // so many folders are held open
)

// Open opens the store's folder for steps; Close ends it.
func (d Disk) Open() (*Root, error) {
	base, err := d.OpenBase()
	if err != nil {
		return nil, err
	}
	return &Root{base: base, disk: d, open: map[string]*os.Root{}, made: map[string]bool{".": true}, touched: map[string]bool{}}, nil
}

// Close closes all open folders and drops files that were written for nothing.
func (r *Root) Close() error {
	r.DropFiles()
	r.CloseIn(".")
	return r.base.Close()
}

// Base is the store's folder, to read from.
func (r *Root) Base() *os.Root { return r.base }

// Disk is what the steps go through.
func (r *Root) Disk() Disk { return r.disk }

// closeAt closes a folder and everything in it, because it is going to move.
func (r *Root) closeAt(rel string) {
	r.CloseIn(rel)
	r.closeOne(rel)
}

// CloseIn closes the folders in a folder.
func (r *Root) CloseIn(rel string) {
	for at := range r.open {
		if rel == "." || strings.HasPrefix(at, rel+"/") {
			r.closeOne(at)
		}
	}
}

func (r *Root) closeOne(rel string) {
	if folder := r.open[rel]; folder != nil {
		_ = folder.Close()
		delete(r.open, rel)
	}
}

// DropFiles closes files that were written for nothing.
func (r *Root) DropFiles() {
	for _, one := range r.fresh {
		_ = one.file.Close()
	}
	r.fresh = nil
}

// At returns the shortest path to a name: from its own folder if that is open, which
// costs one system call, otherwise from the root, which costs two more per folder on
// the way.
func (r *Root) At(rel string) (in *os.Root, name string) {
	if in := r.open[path.Dir(rel)]; in != nil {
		return in, path.Base(rel)
	}
	return r.base, rel
}

// Path is the absolute path of a place, which its steps are named after.
func (r *Root) Path(rel string) string { return r.disk.Path(rel) }

// Lstat describes what is at a name.
func (r *Root) Lstat(rel string) (fs.FileInfo, error) {
	in, name := r.At(rel)
	return in.Lstat(name)
}

// Exists reports whether a name exists. It returns an error unless the system is sure:
// a name that cannot be inspected may have what a step has to place, and treating it
// as free would lose that. Errors: T509.
func (r *Root) Exists(rel string) (bool, error) {
	_, err := r.Lstat(rel)
	if Uncertain(err) {
		return false, CannotRead(rel, err)
	}
	return err == nil, nil
}

// Free returns an unused name, made by adding a mark. Errors: T509.
func (r *Root) Free(name, mark string) (string, error) {
	for {
		taken, err := r.Exists(name)
		if !taken || err != nil {
			return name, err
		}
		name += mark
	}
}

// OpenFile opens a file without a step: to read, or within one.
func (r *Root) OpenFile(rel string, flag int, perm fs.FileMode) (*os.File, error) {
	in, name := r.At(rel)
	return in.OpenFile(name, flag, perm)
}

// Mkdir makes one folder. One that is there is fs.ErrExist.
func (r *Root) Mkdir(rel string) error {
	in, name := r.At(rel)
	return r.disk.Step(ActMkdir, r.Path(rel), func() error { return in.Mkdir(name, 0o755) })
}

// Rename gives a file or folder another name.
func (r *Root) Rename(from, to string) error {
	r.closeAt(from)
	return r.disk.Step(ActRename, r.Path(to), func() error { return r.base.Rename(from, to) })
}

// Link gives a file a second name; one that is taken is fs.ErrExist.
func (r *Root) Link(from, to string) error {
	return r.disk.Step(ActLink, r.Path(to), func() error { return r.base.Link(from, to) })
}

// Remove removes a file or an empty folder.
func (r *Root) Remove(rel string) error {
	r.closeAt(rel)
	in, name := r.At(rel)
	return r.removed(rel, r.disk.Step(ActRemove, r.Path(rel), func() error { return in.Remove(name) }))
}

// RemoveAll removes a file, or a folder with its content.
func (r *Root) RemoveAll(rel string) error {
	r.closeAt(rel)
	in, name := r.At(rel)
	return r.removed(rel, r.disk.Step(ActRemove, r.Path(rel), func() error { return in.RemoveAll(name) }))
}

// removed forgets a folder that is gone: there is nothing left to sync.
func (r *Root) removed(rel string, err error) error {
	if err == nil {
		delete(r.made, rel)
		delete(r.touched, rel)
	}
	return err
}

// Reach opens a real folder and those above it, and keeps them open. Errors: T507 for
// a link, ErrNotFolder, fs.ErrNotExist, the system's own.
func (r *Root) Reach(rel string) error {
	if rel == "." || r.open[rel] != nil {
		return nil
	}
	if err := r.Reach(path.Dir(rel)); err != nil {
		return err
	}
	info, err := r.Lstat(rel)
	if err == nil {
		err = mustBeFolder(rel, info)
	}
	if err != nil || len(r.open) >= manyOpen {
		return err
	}
	in, name := r.At(rel)
	folder, err := in.OpenRoot(name)
	if err != nil {
		return err
	}
	r.open[rel] = folder
	return nil
}

// Ensure creates the folder rel and those above it. An existing one may just have been
// created by another process, so its name is touched as well. Errors: T507 if a link
// is there, T505.
func (r *Root) Ensure(rel string) error {
	if r.made[rel] {
		return nil
	}
	parent := path.Dir(rel)
	if err := r.Ensure(parent); err != nil {
		return err
	}
	err := r.Reach(rel)
	if errors.Is(err, fs.ErrNotExist) {
		if err = r.Mkdir(rel); err == nil || errors.Is(err, fs.ErrExist) {
			err = r.Reach(rel)
		}
	}
	if err != nil {
		return CannotWrite(rel, err)
	}
	r.made[rel] = true
	r.Touch(parent)
	return nil
}

// Trust takes an existing folder for one whose name is durable, or will be before
// anything relies on it.
func (r *Root) Trust(rel string) { r.made[rel] = r.Reach(rel) == nil }

// Touch records that names in the folder have changed.
func (r *Root) Touch(rel string) { r.touched[rel] = true }

// Untouch says that somebody else makes the names in the folder durable.
func (r *Root) Untouch(rel string) { delete(r.touched, rel) }

// WriteFile creates a file with the content of in; Sync makes it durable. A file that
// cannot be finished is removed if possible. One that is there is fs.ErrExist in the
// chain. Errors: T505, and what in says.
func (r *Root) WriteFile(rel string, perm fs.FileMode, in io.Reader) (size int64, err error) {
	var out *os.File
	err = r.disk.Step(ActCreate, r.Path(rel), func() (err error) {
		out, err = r.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		return err
	})
	if err != nil {
		return 0, CannotWrite(rel, err)
	}
	err = r.disk.Step(ActWrite, r.Path(rel), func() (err error) { size, err = io.Copy(out, in); return err })
	if err != nil {
		_ = out.Close()
		_ = r.Remove(rel)
		return 0, CannotWrite(rel, err)
	}
	r.fresh = append(r.fresh, fresh{rel, out, false})
	return size, nil
}

// Appended has Sync make what was appended to a file durable, and close it.
func (r *Root) Appended(rel string, f *os.File) { r.fresh = append(r.fresh, fresh{rel, f, true}) }

// Full reports whether so many files were written that SyncFiles is due.
func (r *Root) Full() bool { return len(r.fresh) >= manyFresh }

// SyncFiles makes every written file durable, and closes it. A file for which that
// fails is removed if possible. Errors: T505.
func (r *Root) SyncFiles() error {
	files := r.fresh
	r.fresh = nil
	all := make([]Flush, len(files))
	for i, one := range files {
		all[i] = flushFile("", r.Path(one.rel), one.file)
	}
	return r.waitFor(all, func(i int) {
		_ = files[i].file.Close()
		if !files[i].old {
			_ = r.Remove(files[i].rel)
		}
	})
}

// waitFor makes all of it durable; failed is told what is not. Errors: T505.
func (r *Root) waitFor(all []Flush, failed func(int)) (first error) {
	for i, err := range r.disk.Together(all) {
		if err != nil {
			failed(i)
			rel, _ := filepath.Rel(r.Path(""), all[i].path)
			first = cmp.Or(first, CannotWrite(filepath.ToSlash(rel), err))
		}
	}
	return first
}

// Sync makes everything durable: first the bytes of files, then the names in every
// touched folder, each once. A folder that fails stays touched. Errors: T505.
func (r *Root) Sync() error {
	if err := r.SyncFiles(); err != nil {
		return err
	}
	folders := deepestFirst(r.touched)
	all := r.flushes("", folders)
	clear(r.touched)
	return r.waitFor(all, func(i int) { r.Touch(folders[i]) })
}

// Flushes returns what Sync would do for the touched folders, under the name what.
func (r *Root) Flushes(what string) []Flush { return r.flushes(what, deepestFirst(r.touched)) }

func (r *Root) flushes(what string, folders []string) []Flush {
	all := make([]Flush, len(folders))
	for i, rel := range folders {
		in, name := r.base, rel
		if folder := r.open[rel]; folder != nil {
			in, name = folder, "."
		}
		all[i] = Flush{what, ActSyncDir, r.Path(rel), func() error { return syncFolder(in, name) }}
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
