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

	"leslie/codes"
	"leslie/fact"
	"leslie/thread"
)

// This file is how the store opens what strangers may have planted. A project
// can come from anybody, its .leslie with it: a link where the store expects a
// folder, a pipe where it expects a file. Three rules hold against that:
//
//   - Everything below .leslie is reached through an os.Root of it, so no name
//     and no link leads out, whatever is swapped while leslie works.
//   - The store's own folders and a thread's folder have to be real folders: a
//     link in their place is refused (T507) even where it stays inside.
//   - A file is opened without waiting and is compared with what stood there:
//     only a regular file is ever read, a pipe swapped in does not hang.
//
// .leslie itself may be a link: whoever works in the project made it the store.

// What stands there instead of a file or a folder is never opened.
var (
	errNotRegular = errors.New("not a regular file")
	errNotFolder  = errors.New("not a folder")
)

// base opens the store's folder. The caller closes it.
func (s *Store) base() (*os.Root, error) { return os.OpenRoot(s.Path("")) }

// realFolder returns nil when rel and every folder above it, up to the root,
// is a folder and no link. Errors: T507 for a link, else the system's own
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

// mustBeFolder refuses what stands in place of a folder: T507 for a link.
func mustBeFolder(rel string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		return codes.UnsafePath.New(fact.Of("path", shown(rel)))
	}
	return &fs.PathError{Op: "open", Path: rel, Err: errNotFolder}
}

// openFolder opens a real folder below the store's as a root of its own.
// Errors: T507, fs.ErrNotExist, the system's own.
func (s *Store) openFolder(rel string) (*os.Root, error) {
	base, err := s.base()
	if err != nil {
		return nil, err
	}
	f := newFolders(s.rooted(base))
	defer f.close()
	if err := f.reach(rel); err != nil {
		return nil, err
	}
	folder := f.open[rel]
	delete(f.open, rel) // it is the caller's
	return folder, nil
}

// openThread opens a thread's folder. An id that is no single name is T507:
// such a thread cannot exist.
func (s *Store) openThread(id thread.ThreadID) (*os.Root, error) {
	if !singleName(string(id)) {
		return nil, codes.UnsafePath.New(fact.Of("path", string(id)), fact.Of("threadId", id))
	}
	return s.openFolder(ThreadsDir + "/" + string(id))
}

// openInside opens a regular file for reading, without following a link in its
// place and without waiting for anybody. The answer describes the open file. A
// file that is replaced by rename at this moment is opened anew.
// Errors: errNotRegular, fs.ErrNotExist, the system's own.
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

// readNames returns the names in a real folder, sorted. One that is a folder no
// more has none. Errors: fs.ErrNotExist, the system's own.
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

// singleName reports whether name is one name of a folder's entry, and none
// that hides.
func singleName(name string) bool {
	return fs.ValidPath(name) && !strings.ContainsAny(name, `/\`) && name[0] != '.' && filepath.IsLocal(name)
}

// rooted carries out steps below the store's folder, through its os.Root.
type rooted struct {
	root *os.Root
	disk disk
	dir  string              // absolute path of the root: what a step is called by
	open map[string]*os.Root // folders that are held open: see at
}

func (s *Store) rooted(base *os.Root) rooted {
	return rooted{root: base, disk: s.disk, dir: s.Path("")}
}

// at is the nearest way to a name: from the folder that it lies in where that is
// held open, which is one call of the system, else from the root, which is two more
// for each folder on the way.
func (r rooted) at(rel string) (in *os.Root, name string) {
	if in := r.open[path.Dir(rel)]; in != nil {
		return in, path.Base(rel)
	}
	return r.root, rel
}

func (r rooted) path(rel string) string { return filepath.Join(r.dir, filepath.FromSlash(rel)) }

func (r rooted) lstat(rel string) (fs.FileInfo, error) {
	in, name := r.at(rel)
	return in.Lstat(name)
}

// openFile opens a file without a step: to read, or within one.
func (r rooted) openFile(rel string, flag int, perm fs.FileMode) (*os.File, error) {
	in, name := r.at(rel)
	return in.OpenFile(name, flag, perm)
}

// mkdir makes one folder. One that is there is fs.ErrExist.
func (r rooted) mkdir(rel string) error {
	in, name := r.at(rel)
	return r.disk.step(ActMkdir, r.path(rel), func() error { return in.Mkdir(name, 0o755) })
}

// create opens a new file for writing; one that is there is fs.ErrExist.
func (r rooted) create(rel string, perm fs.FileMode) (f *os.File, err error) {
	err = r.disk.step(ActCreate, r.path(rel), func() (err error) {
		f, err = r.openFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		return err
	})
	return f, err
}

func (r rooted) write(rel string, do func() error) error {
	return r.disk.step(ActWrite, r.path(rel), do)
}

func (r rooted) sync(rel string, f *os.File) error {
	return r.disk.step(ActSync, r.path(rel), f.Sync)
}

func (r rooted) rename(from, to string) error {
	return r.disk.step(ActRename, r.path(to), func() error { return r.root.Rename(from, to) })
}

// link gives a file a second name; one that is taken is fs.ErrExist.
func (r rooted) link(from, to string) error {
	return r.disk.step(ActLink, r.path(to), func() error { return r.root.Link(from, to) })
}

func (r rooted) remove(rel string) error {
	in, name := r.at(rel)
	return r.disk.step(ActRemove, r.path(rel), func() error { return in.Remove(name) })
}

func (r rooted) removeAll(rel string) error {
	in, name := r.at(rel)
	return r.disk.step(ActRemove, r.path(rel), func() error { return in.RemoveAll(name) })
}

// folders makes folders and files below a root and remembers what has to be on
// disk before anything may rely on them. It holds folders open for as long as it is
// used: see close.
type folders struct {
	rooted
	made    map[string]bool // known to be a real folder, and touched where its name is
	touched map[string]bool // folders whose names changed, or may not be on disk yet
	fresh   []fresh         // files whose bytes may not be on disk yet
	files   *flight         // the files that are on their way there
	names   *flight         // the folders that are
}

// fresh is a file that was written, and is open until it is on disk.
type fresh struct {
	rel  string
	file *os.File
	size int64
}

// flight is what is on its way to the disk: folders, or as many files.
type flight struct {
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

func newFolders(r rooted) *folders {
	r.open = map[string]*os.Root{}
	return &folders{rooted: r, made: map[string]bool{".": true}, touched: map[string]bool{}}
}

// close closes what is held open, the root too. What was written for nothing is let
// go of.
func (f *folders) close() error {
	f.letGo()
	f.leaveIn(".")
	return f.root.Close()
}

// leave lets go of a folder and of all in it, which will not be where they were.
func (f *folders) leave(rel string) {
	f.leaveIn(rel)
	f.letGoOf(rel)
}

// leaveIn lets go of the folders in one.
func (f *folders) leaveIn(rel string) {
	for at := range f.open {
		if rel == "." || strings.HasPrefix(at, rel+"/") {
			f.letGoOf(at)
		}
	}
}

func (f *folders) letGoOf(rel string) {
	if folder := f.open[rel]; folder != nil {
		_ = folder.Close()
		delete(f.open, rel)
	}
}

// rename is rooted.rename; a folder that goes is let go of.
func (f *folders) rename(from, to string) error {
	f.leave(from)
	return f.rooted.rename(from, to)
}

// remove is rooted.remove; a folder that goes is let go of.
func (f *folders) remove(rel string) error {
	f.leave(rel)
	return f.rooted.remove(rel)
}

// removeAll is rooted.removeAll; a folder that goes is let go of.
func (f *folders) removeAll(rel string) error {
	f.leave(rel)
	return f.rooted.removeAll(rel)
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
	err := f.landFiles()
	all := f.unflushed()
	files := f.fresh
	f.fresh = nil
	return cmp.Or(err, f.landed(&flight{all, files, func() []error { return f.disk.together(all) }}))
}

// begin begins to have on disk every fresh file, and the names in the touched
// folders but those that will be touched again. landFiles and landNames say what
// became of it.
func (f *folders) begin(later map[string]bool) {
	if f.files != nil || f.names != nil {
		return
	}
	files := f.unflushed()
	f.files = &flight{files, f.fresh, f.disk.begin(files)}
	f.fresh = nil
	now := maps.Clone(f.touched)
	maps.DeleteFunc(now, func(rel string, _ bool) bool { return later[rel] })
	maps.DeleteFunc(f.touched, func(rel string, _ bool) bool { return now[rel] })
	names := f.flushes(now)
	f.names = &flight{all: names, wait: f.disk.begin(names)}
}

// landFiles waits for the files that are on their way. Errors: T505.
func (f *folders) landFiles() error {
	was := f.files
	f.files = nil
	return f.landed(was)
}

// landNames waits for the folders that are on their way. Errors: T505.
func (f *folders) landNames() error {
	was := f.names
	f.names = nil
	return f.landed(was)
}

// landed waits. A file that is not on disk then is removed as far as that is
// possible; a folder stays touched.
func (f *folders) landed(was *flight) (first error) {
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

// letGo closes what was written for nothing.
func (f *folders) letGo() {
	_ = f.landFiles()
	_ = f.landNames()
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
	if err := f.landNames(); err != nil {
		return err
	}
	all := f.unsettled()
	clear(f.touched)
	return f.landed(&flight{all: all, wait: func() []error { return f.disk.together(all) }})
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

// shown is a place in the store's folder as answers name it: relative to the
// project's root.
func shown(rel string) string { return path.Join(Dir, rel) }

// cannotWrite is T505 for a place in the store's folder; an error that has a
// code already keeps it.
func cannotWrite(rel string, err error) error {
	if err == nil || codes.Of(err) != nil {
		return err
	}
	return codes.WriteFailed.Wrap(err, fact.Of("path", shown(rel)), fact.Of("reason", root(err).Error()))
}

// cannotRead is T509 for a place in the store's folder; an error that has a
// code already keeps it.
func cannotRead(rel string, err error) error {
	if err == nil || codes.Of(err) != nil {
		return err
	}
	return codes.ReadFailed.Wrap(err, fact.Of("path", shown(rel)), fact.Of("reason", root(err).Error()))
}
