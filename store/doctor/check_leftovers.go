package doctor

import (
	"path"
	"slices"

	"leslie/store"
	"leslie/store/internal/content"
	"leslie/store/internal/filework"
	"leslie/store/internal/lockfile"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file finds what dead or running processes left behind: temporary files and
// stages. The next writer removes leftovers, and so does Repair.

func (x *examination) leftovers() error {
	names, _ := x.files.LeftTemporary() // where it cannot be read, unknown entries says so
	for _, name := range names {
		if x.quiet() {
			x.transient("W505", name, "a write was cut off; the next write removes it", (*repairRun).sweep)
		}
	}
	var keep []thread.OperationID
	if x.now != nil {
		keep = x.files.Unfinished(x.now)
	}
	for _, name := range x.namesIn(store.TmpDir) {
		at := path.Join(store.TmpDir, name)
		if slices.Contains(keep, filework.OperationOf(name)) {
			continue // pending reports it
		}
		if saferoot.IsFolder(x.Store.Path(at)) && !saferoot.IsAside(name) && !filework.Held(x.files.Disk, name) {
			x.transient("W505", at, "an operation was cut off; the next write removes what it had staged", (*repairRun).sweep)
		}
	}
	return nil
}

// quiet reports whether nobody else is writing.
func (x *examination) quiet() bool {
	return x.seen.locked || !lockfile.IsHeld(x.Store.Path(store.LockFile), saferoot.OpenFlags)
}

// movedOn reports whether a newer state exists than the one being checked.
func (x *examination) movedOn() bool {
	return !x.seen.locked && x.files.Claims(store.StateFile) > x.now.Revision
}

// sweep removes temporary files, and stages that nobody holds. If the state cannot be
// read, it is unknown which stages are needed, and they stay.
func (m *repairRun) sweep() error {
	now, err := m.w.Load()
	left := func() (names []string) {
		x := &examination{Doctor: m.Doctor, files: m.w.Files, ctx: m.ctx, seen: m.seen, now: now}
		_ = x.leftovers()
		for _, f := range x.findings {
			names = append(names, f.Path)
		}
		return names
	}
	before := left()
	if err := m.w.DropTemporary(); err != nil {
		return err
	}
	if err == nil {
		err = content.PutBack(m.w.Disk)
	}
	if err == nil {
		err = filework.SweepStages(m.w.Disk, m.w.Unfinished(now)...)
	}
	if after := left(); len(after) < len(before) {
		m.did("removed %d leftovers of processes that died", len(before)-len(after))
	}
	return err
}
