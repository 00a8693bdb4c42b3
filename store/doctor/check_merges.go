package doctor

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"leslie/store"
	"leslie/store/internal/filework"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file checks the files to edit of pending merges. Their threads are checked with
// the relations, their texts with the blobs.

func (x *examination) merges() error {
	if x.now == nil {
		return nil
	}
	pending := map[string]bool{}
	for _, m := range x.records.merges {
		pending[string(m.ID)] = true
		x.workOf(m)
	}
	for _, name := range x.foldersIn(store.MergesDir) {
		if !pending[name] && !x.pendingAt[store.MergesDir+"/"+name] {
			x.note("T303", store.MergesDir+"/"+name, "no pending merge has this folder; its files are not touched")
		}
	}
	return nil
}

// workOf finds missing files to edit. Removing one is neither a decision nor a fault,
// so this is a note.
func (x *examination) workOf(m thread.Merge) {
	if x.pendingAt[path.Join(store.MergesDir, string(m.ID), "work")] {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.Work)) {
		at := path.Join(store.MergesDir, string(m.ID), "work", name)
		_, err := x.Store.ReadWork(m.ID, name)
		switch {
		case err == nil:
		case !errors.Is(err, fs.ErrNotExist):
			x.unreadableAt(at, err)
		case x.badBlobs[m.Work[name]] != nil:
			x.note("T303", at, "the file to edit is missing, and so is its content")
		default:
			x.transient("T303", at, "the file for editors is gone", func(r *repairRun) error { return r.work(at, m.Work[name]) })
		}
	}
}

// work writes a file to edit again, as leslie wrote it.
func (m *repairRun) work(at string, id thread.BlobID) error {
	data, err := m.Store.Blob(id)
	if err != nil {
		return err
	}
	stage, err := m.Store.Stage(m.call.Stamp.Operation)
	if err != nil {
		return err
	}
	defer func() { _ = stage.Discard() }()
	if err := stage.Write("work", data, false); err != nil {
		return err
	}
	w, err := filework.Open(m.w.Disk)
	if err != nil {
		return m.w.WriteFailed(err)
	}
	defer w.Close()
	if err := w.Ensure(path.Dir(at)); err != nil {
		return err
	}
	err = w.PlaceIfFree(stage.Rel("work"), at)
	if errors.Is(err, fs.ErrExist) {
		return nil // somebody made it a moment ago
	}
	if err != nil {
		return m.w.WriteFailed(err)
	}
	w.Touch(path.Dir(at))
	m.did("wrote %s again", saferoot.Shown(at))
	return w.Sync()
}
