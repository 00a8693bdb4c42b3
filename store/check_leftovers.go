package store

import (
	"os"
	"path"
	"slices"

	"github.com/gofrs/flock"

	"leslie/store/internal/content"
	"leslie/store/internal/lockfile"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file finds what dead or running processes left behind: temporary files and
// stages. The next writer removes leftovers, and so does Repair.

func (x *examination) leftovers() error {
	names, _ := x.store.leftTemporary() // where it cannot be read, unknown entries says so
	for _, name := range names {
		if x.quiet() {
			x.transient("W505", name, "a write was cut off; the next write removes it", (*repairRun).sweep)
		}
	}
	var keep []thread.OperationID
	if x.now != nil {
		keep = x.store.unfinished(x.now)
	}
	for _, name := range x.namesIn(TmpDir) {
		at := path.Join(TmpDir, name)
		if slices.Contains(keep, operationOf(name)) {
			continue // pending reports it
		}
		if isFolder(x.store.Path(at)) && !saferoot.IsAside(name) && !isHeld(x.store.Path(at+"/"+stageLock)) {
			x.transient("W505", at, "an operation was cut off; the next write removes what it had staged", (*repairRun).sweep)
		}
	}
	return nil
}

// quiet reports whether nobody else is writing.
func (x *examination) quiet() bool {
	return x.seen.locked || !isHeld(x.store.Path(LockFile))
}

// movedOn reports whether a newer state exists than the one being checked.
func (x *examination) movedOn() bool {
	return !x.seen.locked && x.store.claimsOf(StateFile) > x.now.Revision
}

// isHeld reports whether a process has locked a file. It takes a shared lock for an
// instant and creates nothing; a writer waits that long, and a sweep skips the file.
func isHeld(path string) bool {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY|saferoot.OpenFlags))
	free, err := lockfile.Try(lock.TryRLock)
	_ = lock.Unlock()
	return err == nil && !free
}

// sweep removes temporary files, and stages that nobody holds. If the state cannot be
// read, it is unknown which stages are needed, and they stay.
func (m *repairRun) sweep() error {
	now, err := m.store.load()
	left := func() (names []string) {
		x := &examination{store: m.store, ctx: m.ctx, seen: m.seen, now: now}
		_ = x.leftovers()
		for _, f := range x.findings {
			names = append(names, f.Path)
		}
		return names
	}
	before := left()
	if err := m.store.dropTemporary(); err != nil {
		return err
	}
	if err == nil {
		err = content.PutBack(m.store.disk)
	}
	if err == nil {
		err = m.store.sweepStages(m.store.unfinished(now)...)
	}
	if after := left(); len(after) < len(before) {
		m.did("removed %d leftovers of processes that died", len(before)-len(after))
	}
	return err
}
