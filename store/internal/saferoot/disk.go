package saferoot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"leslie/internal/atomicfile"
)

// Folder is the name of the store's folder in a project.
const Folder = ".leslie"

// Action is the kind of a step.
type Action string

// The actions a step can be.
const (
	ActCreate  Action = "create"
	ActWrite   Action = "write"
	ActSync    Action = "fsync"
	ActRename  Action = "rename"
	ActLink    Action = "link"
	ActRemove  Action = "remove"
	ActMkdir   Action = "mkdir"
	ActSyncDir Action = "fsync-dir"
)

// Disk carries out the steps of one store. It is safe for concurrent use. The zero
// value belongs to no project and takes absolute paths.
type Disk struct {
	// Project is the absolute path of the project, which holds the store's folder.
	Project string
	// Before, if set, is called before each step with its absolute path; an error of
	// it fails the step without carrying it out.
	Before func(Action, string) error
	// Now is the clock for the names of files that are set aside.
	Now func() time.Time
	// Elsewhere, if set, returns content by its SHA-256 that is not on this disk. Errors:
	// fs.ErrNotExist in the chain if it is nowhere.
	Elsewhere func(sha256 string) ([]byte, error)
}

// Path is the absolute path of a place in the store's folder, given with "/".
func (d Disk) Path(rel string) string {
	return filepath.Join(d.Project, Folder, filepath.FromSlash(rel))
}

// Step carries out a step; every change of the disk goes through it.
func (d Disk) Step(a Action, path string, do func() error) error {
	if d.Before != nil {
		if err := d.Before(a, path); err != nil {
			return &fs.PathError{Op: string(a), Path: path, Err: err}
		}
	}
	return do()
}

// Mkdir creates a folder; one that exists is fs.ErrExist.
func (d Disk) Mkdir(path string) error {
	return d.Step(ActMkdir, path, func() error { return os.Mkdir(path, 0o755) })
}

// Rename gives a file the name of another, which it replaces.
func (d Disk) Rename(from, to string) error {
	return d.Step(ActRename, to, func() error { return atomicfile.Rename(from, to) })
}

// Link gives a file a second name; one that is taken is fs.ErrExist.
func (d Disk) Link(from, to string) error {
	return d.Step(ActLink, to, func() error { return os.Link(from, to) })
}

// Remove removes a file or an empty folder.
func (d Disk) Remove(path string) error {
	return d.Step(ActRemove, path, func() error { return os.Remove(path) })
}

// RemoveAll removes a file, or a folder with its content.
func (d Disk) RemoveAll(path string) error {
	return d.Step(ActRemove, path, func() error { return os.RemoveAll(path) })
}

// NewFile describes a file to write.
type NewFile struct {
	Path string
	Temp string // the folder of the temporary file
	Perm fs.FileMode
	// Exact: keep the permissions of the replaced file, whatever the umask is.
	Exact bool
	Parts [][]byte
}

// NewFile describes a file of the store. Its temporary name is in the store's folder,
// wherever the file is: the next writer removes leftovers there.
func (d Disk) NewFile(name string, parts ...[]byte) NewFile {
	return NewFile{Path: d.Path(name), Temp: d.Path("."), Perm: 0o644, Parts: parts}
}

// Prepare makes the content durable under a temporary name. The steps are named after
// the file to be replaced.
func (d Disk) Prepare(c NewFile) (f *atomicfile.File, err error) {
	err = d.Step(ActCreate, c.Path, func() (err error) {
		f, err = atomicfile.New(c.Temp, c.Path, c.Perm)
		return err
	})
	if err != nil {
		return nil, named(err, c.Path)
	}
	if c.Exact {
		err = d.Step(ActWrite, c.Path, func() error { return f.Chmod(c.Perm) })
	}
	for _, part := range c.Parts {
		if err == nil {
			err = d.Step(ActWrite, c.Path, func() error { _, err := f.Write(part); return err })
		}
	}
	if err == nil {
		err = d.Step(ActSync, c.Path, f.Sync)
	}
	if err != nil {
		_ = f.Cleanup()
		return nil, named(err, c.Path)
	}
	return f, nil
}

// Put gives a prepared file its name.
func (d Disk) Put(f *atomicfile.File, path string) error {
	err := d.Step(ActRename, path, f.Replace)
	if err != nil {
		_ = f.Cleanup()
	}
	return named(err, path)
}

// ReplaceWith writes a whole file; the caller still has to sync its folder.
func (d Disk) ReplaceWith(c NewFile) error {
	f, err := d.Prepare(c)
	if err != nil {
		return err
	}
	return d.Put(f, c.Path)
}

// Replace writes a file of the store as a whole; the caller still has to sync its
// folder. Errors: T505.
func (d Disk) Replace(name string, data []byte) error {
	return d.WriteFailed(d.ReplaceWith(d.NewFile(name, data)))
}

// ReplaceFile replaces a file outside any store, durably. If err is set, the file is
// unchanged and nothing temporary is left. If undurable is set, the file is replaced,
// and a power cut may undo that.
func (d Disk) ReplaceFile(path string, data []byte, perm fs.FileMode) (undurable, err error) {
	folder := filepath.Dir(path)
	if err := d.ReplaceWith(NewFile{Path: path, Temp: folder, Perm: perm, Exact: true, Parts: [][]byte{data}}); err != nil {
		return nil, err
	}
	return d.SyncDir(folder), nil
}

// named is an error with the name of the file that is replaced, in place of a
// random one.
func named(err error, path string) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: "replace", Path: path, Err: Cause(err)}
}

// AppendLines appends lines to a file of the store, durably: see AddLines. Errors: T505.
func (d Disk) AppendLines(name string, lines ...[]byte) error {
	onDisk, err := d.AddLines("", name, lines...)
	if err == nil {
		err = errors.Join(d.Together(onDisk)...)
	}
	return d.WriteFailed(err)
}

// AddLines appends lines to a file of the store and returns what has to be made
// durable then, under the name what. A tail without a newline stays, and the lines
// start on a new one. Anything but a regular file is set aside first. Errors: T505.
func (d Disk) AddLines(what, name string, lines ...[]byte) ([]Flush, error) {
	path := d.Path(name)
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		if _, err := d.SetAside(name); err != nil {
			return nil, err
		}
	}
	f, fresh, err := d.appendTo(path, lines)
	if err != nil {
		return nil, d.WriteFailed(err)
	}
	all := []Flush{flushFile(what, path, f)}
	if fresh {
		all = append(all, FlushDir(what, d.Path(".")))
	}
	return all, nil
}

// appendTo appends lines to a file and leaves it open: they are durable after a sync.
// A tail without a newline gets one first. If writing fails, the partly written bytes
// are cut off if possible. fresh: the file was empty before.
func (d Disk) appendTo(path string, lines [][]byte) (f *os.File, fresh bool, err error) {
	err = d.Step(ActCreate, path, func() (err error) {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|OpenFlags, 0o644)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	if fresh, err = d.Extend(f, path, lines); err != nil {
		_ = f.Close()
	}
	return f, fresh, err
}

// Extend appends lines to a file that is open for reading and appending, as AddLines
// does. fresh: the file was empty before.
func (d Disk) Extend(f *os.File, path string, lines [][]byte) (fresh bool, err error) {
	size, text, err := endOf(f)
	if err != nil {
		return false, err
	}
	for _, line := range lines {
		text = append(append(text, line...), '\n')
	}
	if err := d.Step(ActWrite, path, func() error { _, err := f.Write(text); return err }); err != nil {
		_ = f.Truncate(size)
		return false, err
	}
	return size == 0, nil
}

// endOf returns a file's size and the newline that its last line lacks.
func endOf(f *os.File) (size int64, missing []byte, err error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, nil, err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil {
		return 0, nil, err
	}
	if last[0] != '\n' {
		missing = []byte{'\n'}
	}
	return info.Size(), missing, nil
}

// Flush is one thing to make durable.
type Flush struct {
	What   string // as W505 names it, where that matters
	action Action // ActSync or ActSyncDir
	path   string
	do     func() error
}

// FlushDir is a flush of the names in a folder.
func FlushDir(what, path string) Flush {
	return Flush{what, ActSyncDir, path, func() error { return atomicfile.SyncFolder(path) }}
}

// flushFile is a flush of a file, which it closes.
func flushFile(what, path string, f *os.File) Flush {
	return Flush{what, ActSync, path, func() error { return errors.Join(f.Sync(), f.Close()) }}
}

// Together makes several things durable concurrently, which takes hardly longer than
// one. The steps are started in order, and the errors are returned in that order.
func (d Disk) Together(all []Flush) []error {
	out := make([]error, len(all))
	var group sync.WaitGroup
	few := make(chan struct{}, 8)
	for i, f := range all {
		if err := d.Step(f.action, f.path, func() error { return nil }); err != nil {
			out[i] = err
			continue
		}
		group.Go(func() { few <- struct{}{}; out[i] = f.do(); <-few })
	}
	group.Wait()
	return out
}

// SyncDir makes the names in a folder durable.
func (d Disk) SyncDir(path string) error {
	return errors.Join(d.Together([]Flush{FlushDir("", path)})...)
}

const (
	// AsideMark is in the name of everything that was set aside.
	AsideMark = ".set-aside-"
	// manyAside is how many names are tried: if none can be inspected, moving fails as
	// well.
	manyAside = 1_000
)

// IsAside reports whether a name is that of something that was set aside.
func IsAside(name string) bool { return strings.Contains(name, AsideMark) }

// SetAside moves a damaged file or folder of the store out of the way, under a name
// that doctor lists; nothing is ever deleted. to is its absolute path, "" if there was
// nothing. Errors: T505, T509.
func (d Disk) SetAside(name string) (to string, err error) {
	from := d.Path(name)
	switch _, err := os.Lstat(from); {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil: // what is there would be written over
		return "", d.ReadFailed(err)
	}
	to = d.AsideName(name)
	if err := d.Rename(from, to); err != nil {
		return "", d.WriteFailed(err)
	}
	return to, nil
}

// AsideName returns a free path for something that is set aside.
func (d Disk) AsideName(name string) string {
	stamp := d.Now().UTC().Format("20060102T150405Z")
	for n := 1; ; n++ {
		mark := AsideMark + stamp
		if n > 1 {
			mark += fmt.Sprintf("-%d", n)
		}
		to := d.Path(WithMark(name, mark))
		if _, err := os.Lstat(to); !Uncertain(err) && err != nil || n == manyAside {
			return to
		}
	}
}

// longestName is how long a name with a mark may be, in bytes: file systems allow 255.
const longestName = 240

// WithMark is a name with a mark at its end, cut short where both are too long for a
// file system.
func WithMark(name, mark string) string {
	start := strings.LastIndexByte(name, '/') + 1
	if over := len(name) - start + len(mark) - longestName; over > 0 {
		end := max(start+1, len(name)-over)
		for end > start+1 && !utf8.RuneStart(name[end]) {
			end--
		}
		name = name[:end]
	}
	return name + mark
}
