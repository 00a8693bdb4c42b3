package doctor

import (
	"path"

	"leslie/store"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/thread"
)

// This file checks the copies of frozen references, and restores them from the blobs:
// the reference's manifest says exactly what was frozen.

// frozen compares every copy with its manifest.
func (x *examination) frozen() error {
	if saferoot.Exists(x.Store.Path(store.ThreadsDir)) && !saferoot.IsFolder(x.Store.Path(store.ThreadsDir)) {
		return nil // places has reported it
	}
	for _, r := range x.records.references {
		ref := r.record
		switch {
		case ref.Binding != thread.Frozen || !ref.Resolved:
			continue
		case ref.Manifest == "":
			x.permanent("T202", store.StateFile, "the reference '"+string(ref.ID)+"' does not name its frozen files")
			continue
		case x.seen.frozen[ref.ID] == ref.Manifest:
			continue
		}
		if err := x.frozenCopy(ref); err != nil {
			return err
		}
	}
	return nil
}

func (x *examination) frozenCopy(ref thread.Reference) error {
	at := scan.Place(ref.From, store.InheritedDir+"/"+string(ref.ID))
	if x.files.Connected() && !saferoot.Exists(x.Store.Path(at)) {
		return nil // it comes from the log when somebody looks
	}
	m, err := x.Store.Manifest(ref.Manifest)
	if err != nil || x.pendingAt[at] || x.pendingAt[scan.Place(ref.From, "")] {
		return nil // reported already, as a blob or as work that is under way
	}
	_, damaged, err := x.Store.CheckFrozen(x.ctx, ref)
	switch {
	case saferoot.Stopped(x.ctx) != nil:
		return saferoot.Stopped(x.ctx)
	case err != nil && !x.isFile(at):
		x.unreadableAt(at, err)
	case err == nil && len(damaged) == 0 && (len(m) > 0 || saferoot.Exists(x.Store.Path(at))):
		x.seen.frozen[ref.ID] = ref.Manifest
	default:
		x.differs(at, ref, m, damaged)
	}
	return nil
}

func (x *examination) differs(at string, ref thread.Reference, m store.Manifest, damaged []string) {
	what := "the copy is not what the reference '" + string(ref.ID) + "' froze"
	if !saferoot.Exists(x.Store.Path(at)) {
		what = "the copy that the reference '" + string(ref.ID) + "' froze is missing"
	} else if len(damaged) > 0 {
		what += ": " + some(damaged)
	}
	var lost []string
	for _, f := range m {
		if c := x.badBlobs[f.SHA256]; c != nil && c.source == "" {
			lost = append(lost, f.Path)
		}
	}
	if len(lost) > 0 {
		x.permanent("T202", at, what+"; the content of "+some(lost)+" is lost")
		return
	}
	x.repairable("T202", at, what, func(m *repairRun) error { return m.refreeze(ref) })
}

// refreeze restores a copy; whatever was in its place is moved aside.
func (m *repairRun) refreeze(ref thread.Reference) error {
	list, err := m.Store.Manifest(ref.Manifest)
	if err != nil {
		return err
	}
	stage, err := m.Store.Stage(m.call.Stamp.Operation)
	if err != nil {
		return err
	}
	defer func() { _ = stage.Discard() }()
	if err := stage.Materialize(m.ctx, list, "copy", true); err != nil {
		return err
	}
	if err := stage.Sync(); err != nil {
		return err
	}
	w, err := m.w.Open()
	if err != nil {
		return m.w.WriteFailed(err)
	}
	defer w.Close()
	at := scan.Place(ref.From, store.InheritedDir+"/"+string(ref.ID))
	if !saferoot.Exists(m.w.Path(scan.Place(ref.From, ""))) {
		return nil // it stays missing as a whole: see folders
	}
	if err := w.Ensure(path.Dir(at)); err != nil {
		return err
	}
	if err := m.aside(at); err != nil {
		return err
	}
	if err := w.Rename(stage.Rel("copy"), at); err != nil {
		return m.w.WriteFailed(err)
	}
	w.Touch(path.Dir(at))
	m.did("restored %s", saferoot.Shown(at))
	return w.Sync()
}
