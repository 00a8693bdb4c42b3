package doctor

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"

	"leslie/store"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/store/internal/state"
	"leslie/thread"
)

// This file brings back folders of threads that are missing. A folder that was only made
// anew would be worse than none: it says that its files were deleted, and a merge would
// delete them elsewhere. So each file comes back that the records know of, in its newest
// recorded version; those are at least the files that another thread may lose. Where one
// of them cannot be read the folder stays missing: without it, or in an older version, the
// next merge would take the file, or what is newer in it, from the others.

// folders restores the folders that threads lack, also archived ones.
func (m *repairRun) folders() error {
	now, err := m.current()
	if err != nil {
		return err
	}
	ids := []string{}
	for _, line := range now.Records[thread.TableThreads] {
		ids = append(ids, line.ID)
	}
	gone, err := m.w.Archived(now, thread.TableThreads)
	if err != nil {
		return err
	}
	for _, line := range gone {
		ids = append(ids, line.ID)
	}
	w, err := m.w.Open()
	if err != nil {
		return m.w.WriteFailed(err)
	}
	defer w.Close()
	if err := w.Ensure(store.ThreadsDir); err != nil {
		return err
	}
	var first error
	for _, id := range ids {
		_, err := w.Lstat(scan.Place(thread.ThreadID(id), ""))
		if !errors.Is(err, fs.ErrNotExist) || !saferoot.SingleName(id) {
			continue
		}
		first = cmp.Or(first, m.restoreFolder(w, now, thread.ThreadID(id)))
	}
	return cmp.Or(first, w.Sync())
}

// restoreFolder makes one folder in a stage and renames it into place, so that a folder is
// never there with a part of its files.
func (m *repairRun) restoreFolder(w *saferoot.Root, now *state.Loaded, id thread.ThreadID) error {
	files, err := m.recordedFiles(now, id)
	if err != nil {
		return err
	}
	at := scan.Place(id, "")
	if len(files) == 0 {
		if err := w.Mkdir(at); err != nil {
			return err
		}
		m.did("made the folder %s; nothing was recorded of its files", saferoot.Shown(at))
		return nil
	}
	stage, err := m.Store.Stage(thread.OperationID("restore-" + string(id)))
	if err != nil {
		return err
	}
	defer func() { _ = stage.Discard() }()
	if err := stage.Materialize(m.ctx, files, "folder", false); err != nil {
		return err
	}
	if err := stage.Sync(); err != nil {
		return err
	}
	if err := w.Rename(stage.Rel("folder"), at); err != nil {
		return err
	}
	what := "files"
	if len(files) == 1 {
		what = "file"
	}
	m.did("restored %d %s of %s as last recorded; what was written since is lost", len(files), what, saferoot.Shown(at))
	return nil
}

// recordedFiles returns the files that the records know a thread to have had, each in its
// newest version: what it published, its checkpoints, what it had in common with other
// threads, what references froze of it. Errors: T509 for a list that cannot be read.
func (m *repairRun) recordedFiles(now *state.Loaded, id thread.ThreadID) (content.Manifest, error) {
	st := m.w.State(now)
	t, err := st.Thread(string(id))
	if err != nil {
		return nil, err
	}
	var out content.Manifest
	files, folders := map[string]bool{}, map[string]bool{}
	for _, list := range st.RecordedOf(t) {
		recorded, err := m.Store.Manifest(list)
		if err != nil {
			return nil, err
		}
		for _, f := range recorded {
			in := above(f.Path)
			if files[f.Path] || folders[f.Path] || slices.ContainsFunc(in, func(dir string) bool { return files[dir] }) {
				continue // a newer list has something else in its place
			}
			files[f.Path] = true
			for _, dir := range in {
				folders[dir] = true
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// above are the folders that a file is in.
func above(file string) (dirs []string) {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}
