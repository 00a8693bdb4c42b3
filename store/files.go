package store

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"leslie/internal/atomicfile"
)

// This file is the store's only way to change the disk: each call is one named step,
// so that a test can make it fail or kill the process before it, and a reader of a
// trace can find it in the source.

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

// disk carries out steps. before, if set, is called before each; an error of it fails
// the step without carrying it out.
type disk struct {
	before func(Action, string) error
}

func (d disk) step(a Action, path string, do func() error) error {
	if d.before != nil {
		if err := d.before(a, path); err != nil {
			return &fs.PathError{Op: string(a), Path: path, Err: err}
		}
	}
	return do()
}

func (d disk) mkdir(path string) error {
	return d.step(ActMkdir, path, func() error { return os.Mkdir(path, 0o755) })
}

func (d disk) rename(from, to string) error {
	return d.step(ActRename, to, func() error { return atomicfile.Rename(from, to) })
}

func (d disk) link(from, to string) error {
	return d.step(ActLink, to, func() error { return os.Link(from, to) })
}

func (d disk) remove(path string) error {
	return d.step(ActRemove, path, func() error { return os.Remove(path) })
}

func (d disk) removeAll(path string) error {
	return d.step(ActRemove, path, func() error { return os.RemoveAll(path) })
}

// newFile describes a file to write.
type newFile struct {
	path string
	temp string // the folder of the temporary file
	perm fs.FileMode
	// exact: keep the permissions of the replaced file, whatever the umask is.
	exact bool
	parts [][]byte
}

// prepare makes the content durable under a temporary name. The steps are named after
// the file to be replaced.
func (d disk) prepare(c newFile) (f *atomicfile.File, err error) {
	err = d.step(ActCreate, c.path, func() (err error) {
		f, err = atomicfile.New(c.temp, c.path, c.perm)
		return err
	})
	if err != nil {
		return nil, named(err, c.path)
	}
	if c.exact {
		err = d.step(ActWrite, c.path, func() error { return f.Chmod(c.perm) })
	}
	for _, part := range c.parts {
		if err == nil {
			err = d.step(ActWrite, c.path, func() error { _, err := f.Write(part); return err })
		}
	}
	if err == nil {
		err = d.step(ActSync, c.path, f.Sync)
	}
	if err != nil {
		_ = f.Cleanup()
		return nil, named(err, c.path)
	}
	return f, nil
}

// put gives a prepared file its name.
func (d disk) put(f *atomicfile.File, path string) error {
	err := d.step(ActRename, path, f.Replace)
	if err != nil {
		_ = f.Cleanup()
	}
	return named(err, path)
}

// replace writes a whole file; the caller still has to sync its folder.
func (d disk) replace(c newFile) error {
	f, err := d.prepare(c)
	if err != nil {
		return err
	}
	return d.put(f, c.path)
}

// named is an error with the name of the file that is replaced, in place of a
// random one.
func named(err error, path string) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: "replace", Path: path, Err: root(err)}
}

// appendTo appends lines to a file and leaves it open: they are durable after a sync.
// A tail without a newline gets one first. If writing fails, the partly written bytes
// are cut off if possible. fresh: the file was empty before.
func (d disk) appendTo(path string, lines [][]byte) (f *os.File, fresh bool, err error) {
	err = d.step(ActCreate, path, func() (err error) {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|openCareful, 0o644)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	if fresh, err = d.extend(f, path, lines); err != nil {
		_ = f.Close()
	}
	return f, fresh, err
}

// extend is appendTo for a file that is open for reading and appending.
func (d disk) extend(f *os.File, path string, lines [][]byte) (fresh bool, err error) {
	size, text, err := endOf(f)
	if err != nil {
		return false, err
	}
	for _, line := range lines {
		text = append(append(text, line...), '\n')
	}
	if err := d.step(ActWrite, path, func() error { _, err := f.Write(text); return err }); err != nil {
		_ = f.Truncate(size)
		return false, err
	}
	return size == 0, nil
}

// flush is one thing to make durable.
type flush struct {
	what   string // as W505 names it, where that matters
	action Action // ActSync or ActSyncDir
	path   string
	do     func() error
}

// together makes several things durable concurrently, which takes hardly longer than
// one. The steps are started in order, and the errors are returned in that order.
func (d disk) together(all []flush) []error {
	out := make([]error, len(all))
	var group sync.WaitGroup
	few := make(chan struct{}, 8)
	for i, f := range all {
		if err := d.step(f.action, f.path, func() error { return nil }); err != nil {
			out[i] = err
			continue
		}
		group.Go(func() { few <- struct{}{}; out[i] = f.do(); <-few })
	}
	group.Wait()
	return out
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

// syncDir has the names in a folder on disk.
func (d disk) syncDir(path string) error {
	return errors.Join(d.together([]flush{flushDir("", path)})...)
}

func flushDir(what, path string) flush {
	return flush{what, ActSyncDir, path, func() error { return atomicfile.SyncFolder(path) }}
}

// flushFile is a flush of a file, which it closes.
func flushFile(what, path string, f *os.File) flush {
	return flush{what, ActSync, path, func() error { return errors.Join(f.Sync(), f.Close()) }}
}
