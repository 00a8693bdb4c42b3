package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"leslie/store"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/thread"
	"leslie/warnings"
)

// This file compares the threads' records with their folders, and finds entries that
// leslie skips or cannot read. The artifacts belong to their authors; leslie has no
// expectation about them.

// folders finds threads without a folder. Archived threads need one, too: their
// artifacts are read there, and the folder reserves their id.
func (x *examination) folders() error {
	if x.now == nil || len(x.records.threads) == 0 {
		return nil
	}
	if !saferoot.IsFolder(x.Store.Path(store.ThreadsDir)) {
		if saferoot.Exists(x.Store.Path(store.ThreadsDir)) {
			return nil // places has reported it
		}
		x.repairable("T202", store.ThreadsDir, "the folder of all artifacts is missing; what is recorded of its files can be restored", (*repairRun).folders)
		return nil
	}
	for _, t := range x.records.threads {
		name := store.ThreadsDir + "/" + string(t.record.ID)
		info, err := os.Lstat(x.Store.Path(name))
		switch {
		case x.pendingAt[name]:
		case !saferoot.SingleName(string(t.record.ID)):
			x.permanent("T507", store.StateFile, "the id of the thread '"+string(t.record.ID)+"' cannot be the name of a folder")
		case errors.Is(err, fs.ErrNotExist):
			x.repairable("T202", name, "the thread has no folder; what is recorded of its files can be restored", (*repairRun).folders)
		case err != nil:
			x.unreadableAt(name, err)
		case !info.IsDir():
			x.permanent("T507", name, "the thread's folder is not a directory")
		}
	}
	return nil
}

// orphans finds folders without a record.
func (x *examination) orphans() error {
	if x.now == nil || x.noArchive {
		return nil
	}
	for _, name := range x.foldersIn(store.ThreadsDir) {
		if !x.there(thread.TableThreads, name) {
			x.note("T101", store.ThreadsDir+"/"+name, "no thread has this folder; its files are not touched")
		}
	}
	return nil
}

// foldersIn are the names of the folders in a folder, set-aside ones left out.
func (x *examination) foldersIn(name string) (names []string) {
	entries, err := os.ReadDir(x.Store.Path(name))
	if err != nil {
		return nil // unknownEntries says why
	}
	for _, e := range entries {
		if e.IsDir() && !saferoot.IsAside(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// artifacts walks the threads' folders.
func (x *examination) artifacts() error {
	if x.now == nil {
		return nil
	}
	copies := map[string]bool{}
	for _, r := range x.records.references {
		copies[scan.Place(r.record.From, store.InheritedDir+"/"+string(r.record.ID))] = true
	}
	for _, t := range x.records.threads {
		if err := saferoot.Stopped(x.ctx); err != nil {
			return err
		}
		if !saferoot.SingleName(string(t.record.ID)) {
			continue // folders has reported it
		}
		x.leftOut(t.record.ID)
		inherited := scan.Place(t.record.ID, store.InheritedDir)
		for _, name := range x.namesIn(inherited) {
			switch at := path.Join(inherited, name); {
			case saferoot.IsAside(name):
				x.setAside(at)
			case !copies[at] && !x.pendingAt[at]:
				x.note("T204", at, "no reference has this copy; its files are not touched")
			}
		}
	}
	return nil
}

// leftOut reports entries that no snapshot of the thread contains, and folders that
// cannot be read.
func (x *examination) leftOut(id thread.ThreadID) {
	entries, err := x.Store.Artifacts(id)
	if err != nil {
		if info, gone := os.Lstat(x.Store.Path(scan.Place(id, ""))); gone == nil && info.IsDir() {
			x.unreadableAt(scan.Place(id, ""), err)
		}
		return
	}
	var paths []string
	for _, e := range entries {
		if e.Type == store.TypeLink || e.Type == store.TypeOther {
			paths = append(paths, e.Path)
		}
	}
	irregular, names := warnings.SplitLeftOut(paths)
	if len(irregular) > 0 {
		x.note("W204", scan.Place(id, ""), "skipped: not regular files: "+some(irregular))
	}
	if len(names) > 0 {
		x.note("W515", scan.Place(id, ""), "skipped: names that are not UTF-8: "+some(names))
	}
}

// namesIn are the names in a real folder of the store.
func (x *examination) namesIn(name string) []string {
	root, err := x.files.OpenFolder(name)
	if err != nil {
		return nil // there is none, or the copies that belong there say why
	}
	defer root.Close()
	names, _ := saferoot.ReadNames(root, ".")
	return names
}
