package doctor

import (
	"errors"
	"io/fs"
	"os"

	"leslie/store"
	"leslie/store/internal/content"
	"leslie/store/internal/logfile"
	"leslie/store/internal/saferoot"
)

// This file finds what the caller may not write, without writing.

// rights reports what cannot be written if the rest can. A store that its caller may
// only read is fine.
func (x *examination) rights() error {
	if !mayWrite(x.Store.Path(".")) {
		x.note("T505", ".", "you have only read permission here")
		return nil
	}
	for _, name := range []string{store.ThreadsDir, store.TmpDir, store.BlobsDir, content.Sums, store.MergesDir, store.RequestsDir, store.LockFile, store.JournalFile, store.ArchiveFile} {
		if saferoot.Exists(x.Store.Path(name)) && !mayWrite(x.Store.Path(name)) {
			x.permanent("T505", name, "you may not write it: commands that need it fail")
		}
	}
	return nil
}

// log looks whether the log could be written.
func (x *examination) log() error {
	name := store.LogsDir + "/" + logfile.Name
	switch at := x.Store.Path(name); {
	case !mayWrite(x.Store.Path(".")) || !saferoot.IsFolder(x.Store.Path(store.LogsDir)):
	case saferoot.Irregular(x.Store.Path(name)):
		x.repairable("W503", name, "the log cannot be written: "+logfile.ErrNotRegular.Error(), func(m *repairRun) error { return m.aside(name) })
	case !mayWrite(x.Store.Path(store.LogsDir)), saferoot.Exists(at) && !mayWrite(at):
		x.permanent("W503", name, "you may not write the log")
	}
	return nil
}

// isFile reports whether something that is neither a folder nor a link has the
// name.
func (x *examination) isFile(name string) bool {
	info, err := os.Lstat(x.Store.Path(name))
	return err == nil && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0
}

// missing reports whether a name does not exist; one that cannot be inspected may
// exist.
func (x *examination) missing(name string) bool {
	_, err := os.Lstat(x.Store.Path(name))
	return errors.Is(err, fs.ErrNotExist)
}
