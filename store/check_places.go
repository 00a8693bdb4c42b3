package store

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"leslie/store/internal/content"
	"leslie/store/internal/logfile"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file checks the names in the store's folder: that folders are folders, and
// which entries do not belong to leslie.

// knownFolders returns the folders that leslie knows in the store's folder.
func knownFolders() []string {
	return []string{ThreadsDir, RequestsDir, TmpDir, BlobsDir, MergesDir, LogsDir, RunsDir, RemoteDir}
}

// knownFiles returns the files that leslie knows there.
func knownFiles() []string {
	return []string{StateFile, BackupFile, LockFile, UpgradedFile, JournalFile, ArchiveFile, ConfigFile, RemoteFile, ".gitignore"}
}

// places checks what the other checks read. It leaves links alone, because somebody
// put them there.
func (x *examination) places() error {
	for _, name := range knownFolders() {
		info, err := os.Lstat(x.store.Path(name))
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && info.IsDir():
		case err != nil:
			x.unreadableAt(name, err)
		case info.Mode()&fs.ModeSymlink != 0:
			x.permanent("T507", name, "expected a directory, found a link: leslie does not follow it")
		default:
			x.repairable("T507", name, "expected a directory", func(m *repairRun) error { return m.aside(name) })
		}
	}
	if info, err := os.Lstat(x.store.Path(LockFile)); err == nil && !info.Mode().IsRegular() {
		x.permanent("T505", LockFile, "expected an empty file: nothing can be written until you remove it")
	}
	return nil
}

// unknownEntries reports what was set aside and what does not belong to leslie, in every
// folder that only leslie writes to.
func (x *examination) unknownEntries() error {
	x.unknown(".", func(name string, _ fs.DirEntry) bool {
		return slices.Contains(knownFolders(), name) || slices.Contains(knownFiles(), name) || temporary(name)
	})
	x.unknown(ThreadsDir, func(name string, e fs.DirEntry) bool {
		return e.IsDir() || x.now != nil && x.there(thread.TableThreads, name) // folders reports it
	})
	x.unknown(MergesDir, func(_ string, e fs.DirEntry) bool { return e.IsDir() })
	x.unknown(TmpDir, func(_ string, e fs.DirEntry) bool { return e.IsDir() })
	x.unknown(LogsDir, func(name string, _ fs.DirEntry) bool { return name == logfile.Name || name == logfile.Name+".1" })
	x.unknown(RequestsDir, func(name string, _ fs.DirEntry) bool { return content.Valid(thread.BlobID(name)) })
	return nil
}

func (x *examination) unknown(folder string, known func(string, fs.DirEntry) bool) {
	if info, err := os.Lstat(x.store.Path(folder)); err != nil || !info.IsDir() {
		return
	}
	entries, err := os.ReadDir(x.store.Path(folder))
	if err != nil {
		x.unreadableAt(folder, err)
		return
	}
	for _, e := range entries {
		name := strings.TrimPrefix(folder+"/"+e.Name(), "./")
		switch {
		case saferoot.IsAside(e.Name()):
			x.setAside(name)
		case !known(e.Name(), e):
			x.note("W204", name, "it is not leslie's")
		}
	}
}

func (x *examination) setAside(name string) {
	x.note("W502", name, "it was damaged and moved aside; remove it when nobody needs it")
}
