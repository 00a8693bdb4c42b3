package doctor

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"leslie/store"
	"leslie/store/internal/content"
	"leslie/store/internal/logfile"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/state"
	"leslie/thread"
)

// This file checks the names in the store's folder: that folders are folders, and
// which entries do not belong to leslie.

// knownFolders returns the folders that leslie knows in the store's folder.
func knownFolders() []string {
	return []string{store.ThreadsDir, store.RequestsDir, store.TmpDir, store.BlobsDir, store.MergesDir, store.LogsDir, store.RunsDir, store.RemoteDir}
}

// knownFiles returns the files that leslie knows there.
func knownFiles() []string {
	return []string{store.StateFile, store.BackupFile, store.LockFile, store.JournalFile, store.ArchiveFile, store.ConfigFile, store.RemoteFile, ".gitignore"}
}

// places checks what the other checks read. It leaves links alone, because somebody
// put them there.
func (x *examination) places() error {
	for _, name := range knownFolders() {
		info, err := os.Lstat(x.Store.Path(name))
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
	if info, err := os.Lstat(x.Store.Path(store.LockFile)); err == nil && !info.Mode().IsRegular() {
		x.permanent("T505", store.LockFile, "expected an empty file: nothing can be written until you remove it")
	}
	return nil
}

// unknownEntries reports what was set aside and what does not belong to leslie, in every
// folder that only leslie writes to.
func (x *examination) unknownEntries() error {
	x.unknown(".", func(name string, _ fs.DirEntry) bool {
		return slices.Contains(knownFolders(), name) || slices.Contains(knownFiles(), name) || state.Temporary(name)
	})
	x.unknown(store.ThreadsDir, func(name string, e fs.DirEntry) bool {
		return e.IsDir() || x.now != nil && x.there(thread.TableThreads, name) // folders reports it
	})
	x.unknown(store.MergesDir, func(_ string, e fs.DirEntry) bool { return e.IsDir() })
	x.unknown(store.TmpDir, func(_ string, e fs.DirEntry) bool { return e.IsDir() })
	x.unknown(store.LogsDir, func(name string, _ fs.DirEntry) bool {
		return name == logfile.Name || name == logfile.Name+".1" || name == logfile.Heard
	})
	x.unknown(store.RequestsDir, func(name string, _ fs.DirEntry) bool { return content.Valid(thread.BlobID(name)) })
	return nil
}

func (x *examination) unknown(folder string, known func(string, fs.DirEntry) bool) {
	if info, err := os.Lstat(x.Store.Path(folder)); err != nil || !info.IsDir() {
		return
	}
	entries, err := os.ReadDir(x.Store.Path(folder))
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
