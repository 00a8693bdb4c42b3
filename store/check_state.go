package store

import (
	"errors"
	"fmt"
	"os"

	"leslie/store/internal/filework"
	"leslie/store/internal/statefile"
	"leslie/thread"
)

// This file checks the state file, the remaining work of its operation, and its
// backup.

// state reports what readers are warned of.
func (x *examination) state() error {
	if x.now == nil {
		x.unreadable(StateFile, x.store.readState(StateFile).reason())
		return nil
	}
	if x.now.Image.Version == statefile.VersionBefore {
		x.note("T506", StateFile, "its format is "+statefile.VersionBefore+"; the next write makes it "+statefile.Version+", which an older leslie does not read, and keeps this one as "+UpgradedFile)
	}
	if exists(x.store.Path(UpgradedFile)) {
		x.note("T506", UpgradedFile, "the state from before its format became "+statefile.Version+"; remove it when nobody needs an older leslie")
	}
	for _, w := range x.now.warnings {
		repair, message := (*repairRun).settle, w.Context.Text("reason")+"; the backup and the journal give revision "+w.Context.Text("revision")
		if !x.now.recovered() {
			repair, message = (*repairRun).baseline, w.Context.Text("reason")
		}
		x.repairable("W502", StateFile, message+"; lost: "+w.Context.Text("lost"), repair)
	}
	return nil
}

// unreadable reports a state or a backup if neither is whole.
func (x *examination) unreadable(name, reason string) {
	if x.store.rebuildable() {
		x.repairable("T502", name, reason, (*repairRun).settle)
	} else {
		x.permanent("T502", name, reason)
	}
}

func (x *examination) pending() error {
	if x.now == nil {
		return nil
	}
	if p := x.now.Image.Pending; p != nil {
		x.steps(p)
	}
	for _, q := range x.now.Image.Quarantined {
		x.held(q)
	}
	if op := x.now.Operation; op != nil && x.now.tail < x.now.Revision && x.now.noTail == nil {
		x.transient("W505", JournalFile, "the last operation, '"+string(op.ID)+"', is not in the journal yet; the next write adds it", (*repairRun).settle)
	}
	return nil
}

func (x *examination) steps(p *thread.Pending) {
	for _, step := range p.Steps {
		if !filework.Proper(step) {
			x.permanent("T507", StateFile, fmt.Sprintf("a step of its pending work leads out of its folder: %s %s", step.Do, step.To))
		}
	}
	for _, step := range filework.Undone(x.store.disk, p) {
		x.pendingAt[step.To] = true
		x.repairable("W505", step.To, "the last operation has not put this into place yet ("+string(step.Do)+")", (*repairRun).settle)
	}
}

// held reports the steps of earlier operations that wait for their place.
func (x *examination) held(q thread.Quarantined) {
	w, err := filework.Open(x.store.disk)
	if err != nil {
		return
	}
	defer w.Close()
	for _, step := range w.Undone(filework.PendingOf(q)) {
		x.pendingAt[step.To] = true
		x.add(Finding{
			Code: "T507", Path: step.To, Repairable: w.CheckHome(step) == nil,
			Message: "operation '" + string(q.Operation) + "' could not do this yet (" + string(step.Do) + "): " + q.Reason +
				"; each write and doctor --repair try again, and nothing else is written to " + q.Record + " until it is done",
		}, (*repairRun).settle)
	}
}

func (x *examination) backup() error {
	backup := x.store.readState(BackupFile)
	var other statefile.Foreign
	switch {
	case errors.As(backup.err, &other):
		x.permanent("T506", BackupFile, backup.reason())
	case !backup.usable():
		x.unreadableAt(BackupFile, backup.err)
	case backup.err != nil && x.now == nil:
		x.unreadable(BackupFile, backup.reason())
	case backup.err != nil:
		x.repairable("W502", BackupFile, "the backup cannot be used: "+backup.reason(), (*repairRun).backup)
	case x.now != nil && x.quiet() && x.store.oneInode():
		x.repairable("W505", BackupFile, "the backup is the same file as the state: one stray write would damage both", (*repairRun).settle)
	}
	return nil
}

// oneInode reports whether state and backup are one file, as they are for an instant
// in every write.
func (s *Store) oneInode() bool {
	main, err := os.Lstat(s.Path(StateFile))
	if err != nil {
		return false
	}
	backup, err := os.Lstat(s.Path(BackupFile))
	return err == nil && os.SameFile(main, backup)
}
