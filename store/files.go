package store

import (
	"io/fs"
	"os"
)

// This file is the store's only way to change the disk: each call is one named
// step, so that a test can fail it or kill the process in front of it, and a
// reader of a trace can find it in the source.

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

// disk carries out steps. before, when it is set, is asked in front of each; an
// error of its own fails the step without doing it.
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
	return d.step(ActRename, to, func() error { return os.Rename(from, to) })
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

// write makes a file of exactly these bytes and has it on disk before it
// returns. On failure the file may be there in part: the caller gave it a
// temporary name.
func (d disk) write(path string, flag int, perm fs.FileMode, parts ...[]byte) error {
	var f *os.File
	err := d.step(ActCreate, path, func() (err error) {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, perm)
		return err
	})
	if err != nil {
		return err
	}
	for _, part := range parts {
		err = d.step(ActWrite, path, func() error { _, err := f.Write(part); return err })
		if err != nil {
			_ = f.Close()
			return err
		}
	}
	if err := d.step(ActSync, path, f.Sync); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// appendTo adds lines to a file and has them on disk before it returns. A tail
// without a newline gets one first. When writing fails, what was written in
// part is cut off again as far as possible. fresh: the file was empty before.
func (d disk) appendTo(path string, lines [][]byte) (fresh bool, err error) {
	var f *os.File
	err = d.step(ActCreate, path, func() (err error) {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|openCareful, 0o644)
		return err
	})
	if err != nil {
		return false, err
	}
	defer f.Close()
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
	return size == 0, d.step(ActSync, path, f.Sync)
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
	return d.step(ActSyncDir, path, func() error { return syncFolder(path) })
}
