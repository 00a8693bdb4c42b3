package store

import (
	"errors"
	"io/fs"
	"os"

	"leslie/store/internal/content"
	"leslie/store/internal/logfile"
)

// This file finds what the caller may not write, without writing.

// rights reports what cannot be written if the rest can. A store that its caller may
// only read is fine.
func (x *examination) rights() error {
	if !mayWrite(x.store.Path(".")) {
		x.note("T505", ".", "you have only read permission here")
		return nil
	}
	for _, name := range []string{ThreadsDir, TmpDir, BlobsDir, content.Sums, MergesDir, RequestsDir, LockFile, JournalFile, ArchiveFile} {
		if exists(x.store.Path(name)) && !mayWrite(x.store.Path(name)) {
			x.permanent("T505", name, "you may not write it: commands that need it fail")
		}
	}
	return nil
}

// log looks whether the log could be written.
func (x *examination) log() error {
	name := LogsDir + "/" + logfile.Name
	switch at := x.store.Path(name); {
	case !mayWrite(x.store.Path(".")) || !isFolder(x.store.Path(LogsDir)):
	case x.store.irregular(name):
		x.repairable("W503", name, "the log cannot be written: "+logfile.ErrNotRegular.Error(), func(m *repairRun) error { return m.aside(name) })
	case !mayWrite(x.store.Path(LogsDir)), exists(at) && !mayWrite(at):
		x.permanent("W503", name, "you may not write the log")
	}
	return nil
}

// missing reports whether a name does not exist; one that cannot be inspected may
// exist.
func (x *examination) missing(name string) bool {
	_, err := os.Lstat(x.store.Path(name))
	return errors.Is(err, fs.ErrNotExist)
}

// isFile reports whether something that is neither a folder nor a link has the
// name.
func (s *Store) isFile(name string) bool {
	info, err := os.Lstat(s.Path(name))
	return err == nil && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0
}

// irregular reports whether a name exists and is not a regular file.
func (s *Store) irregular(name string) bool {
	info, err := os.Lstat(s.Path(name))
	return err == nil && !info.Mode().IsRegular()
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
