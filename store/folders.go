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

// This file makes folders and files below the store's, and has them on disk. Work
// that lies deep is done from folders that are held open; what was made goes to the
// disk all at once, in the order that names rely on: a file's bytes, its name, the
// folder's own name.

// folders makes folders and files below a root and remembers what has to be on
// disk before anything may rely on them. It holds folders open for as long as it is
// used: see close.
type folders struct {
	saferoot
	made    map[string]bool // known to be a real folder, and touched where its name is
	touched map[string]bool // folders whose names changed, or may not be on disk yet
	fresh   []fresh         // files whose bytes may not be on disk yet
	files   *pendingSync    // the files that are on their way there
	names   *pendingSync    // the folders that are
}

// fresh is a file that was written, and is open until it is on disk.
type fresh struct {
	rel  string
	file *os.File
	size int64
}

// pendingSync is what is on its way to the disk: folders, or as many files.
type pendingSync struct {
	all   []flush
	files []fresh
	wait  func() []error
}

const (
	manyFresh = 32 // so many files are written before they are had on disk together
	manyOpen  = 64 // so many folders are held open

	muchBytes   = 1 << 20 // more than this is had on disk before the store is locked
	muchFolders = 16      // more than so many, too
)

func newFolders(r saferoot) *folders {
	r.open = map[string]*os.Root{}
	return &folders{saferoot: r, made: map[string]bool{".": true}, touched: map[string]bool{}}
}

// close closes what is held open, the root too. What was written for nothing is let
// go of.
func (f *folders) close() error {
	f.closeFiles()
	f.leaveIn(".")
	return f.root.Close()
}

// leave lets go of a folder and of all in it, which will not be where they were.
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

// reach goes to a real folder and holds it open, and those above it. Errors: T507
// for a link, errNotFolder, fs.ErrNotExist, the system's own.
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

// ensure makes the folder rel and those above it. One that is there may have
// been made by another process a moment ago, so its name is touched as well.
// Errors: T507 when a link stands there, T505.
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

// touch remembers that names in the folder changed.
func (f *folders) touch(rel string) { f.touched[rel] = true }

// settleFiles has every fresh file on disk. Errors: T505.
func (f *folders) settleFiles() error {
	err := f.waitFiles()
	all := f.unflushed()
	files := f.fresh
	f.fresh = nil
	return cmp.Or(err, f.waitFor(&pendingSync{all, files, func() []error { return f.disk.together(all) }}))
}

// begin begins to have on disk every fresh file, and the names in the touched
// folders but those that will be touched again. landFiles and landNames say what
// became of it.
func (f *folders) begin(later map[string]bool) {
	if f.files != nil || f.names != nil {
		return
	}
	files := f.unflushed()
	f.files = &pendingSync{files, f.fresh, f.disk.begin(files)}
	f.fresh = nil
	now := maps.Clone(f.touched)
	maps.DeleteFunc(now, func(rel string, _ bool) bool { return later[rel] })
	maps.DeleteFunc(f.touched, func(rel string, _ bool) bool { return now[rel] })
	names := f.flushes(now)
	f.names = &pendingSync{all: names, wait: f.disk.begin(names)}
}

// waitFiles waits for the files that are on their way. Errors: T505.
func (f *folders) waitFiles() error {
	was := f.files
	f.files = nil
	return f.waitFor(was)
}

// waitNames waits for the folders that are on their way. Errors: T505.
func (f *folders) waitNames() error {
	was := f.names
	f.names = nil
	return f.waitFor(was)
}

// waitFor waits. A file that is not on disk then is removed as far as that is
// possible; a folder stays touched.
func (f *folders) waitFor(was *pendingSync) (first error) {
	if was == nil {
		return nil
	}
	for i, err := range was.wait() {
		if err == nil {
			continue
		}
		rel, _ := filepath.Rel(f.dir, was.all[i].path)
		rel = filepath.ToSlash(rel)
		if i < len(was.files) {
			_ = was.files[i].file.Close()
			_ = f.remove(rel)
		} else {
			f.touch(rel)
		}
		first = cmp.Or(first, cannotWrite(rel, err))
	}
	return first
}

// unflushed are the fresh files. Each is closed with it.
func (f *folders) unflushed() []flush {
	all := make([]flush, len(f.fresh))
	for i, one := range f.fresh {
		all[i] = flush{ActSync, f.path(one.rel), func() error { return errors.Join(one.file.Sync(), one.file.Close()) }}
	}
	return all
}

// closeFiles closes what was written for nothing.
func (f *folders) closeFiles() {
	_ = f.waitFiles()
	_ = f.waitNames()
	for _, one := range f.fresh {
		_ = one.file.Close()
	}
	f.fresh = nil
}

// settle has everything on disk: first the bytes of files, then the names in
// every touched folder, each once. Errors: T505.
func (f *folders) settle() error {
	if err := f.settleFiles(); err != nil {
		return err
	}
	if err := f.waitNames(); err != nil {
		return err
	}
	all := f.unsettled()
	clear(f.touched)
	return f.waitFor(&pendingSync{all: all, wait: func() []error { return f.disk.together(all) }})
}

// much reports whether it would take a while to have everything on disk.
func (f *folders) much() bool {
	size := int64(0)
	for _, one := range f.fresh {
		size += one.size
	}
	return size > muchBytes || len(f.touched) > muchFolders
}

// unsettled are the folders that were touched.
func (f *folders) unsettled() []flush { return f.flushes(f.touched) }

// flushes are the names in folders.
func (f *folders) flushes(folders map[string]bool) []flush {
	var out []flush
	for _, rel := range deepestFirst(folders) {
		in, name := f.root, rel
		if folder := f.open[rel]; folder != nil {
			in, name = folder, "."
		}
		out = append(out, flush{ActSyncDir, f.path(rel), func() error { return syncInside(in, name) }})
	}
	return out
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
