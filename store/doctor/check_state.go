package doctor

import (
	"errors"
	"fmt"

	"leslie/store"
	"leslie/store/internal/filework"
	"leslie/store/internal/statefile"
	"leslie/thread"
)

// This file checks the state file, the remaining work of its operation, and its
// backup.

// state reports what readers are warned of.
func (x *examination) state() error {
	if x.now == nil {
		x.unreadable(store.StateFile, x.files.ReadState(store.StateFile).Reason())
		return nil
	}
	for _, w := range x.now.Warnings {
		repair, message := (*repairRun).restoreState, w.Context.Text("reason")+"; the backup and the journal give revision "+w.Context.Text("revision")
		if !x.now.Recovered() {
			repair, message = (*repairRun).baseline, w.Context.Text("reason")
		}
		x.repairable("W502", store.StateFile, message+"; lost: "+w.Context.Text("lost"), repair)
	}
	return nil
}

// unreadable reports a state or a backup if neither is whole.
func (x *examination) unreadable(name, reason string) {
	if x.files.Rebuildable() {
		x.repairable("T502", name, reason, (*repairRun).restoreState)
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
	if op := x.now.Operation; op != nil && x.now.Tail < x.now.Revision && x.now.NoTail == nil {
		x.transient("W505", store.JournalFile, "the last operation, '"+string(op.ID)+"', is not in the journal yet; the next write adds it", (*repairRun).restoreState)
	}
	return nil
}

func (x *examination) steps(p *thread.Pending) {
	for _, step := range p.Steps {
		if !filework.Proper(step) {
			x.permanent("T507", store.StateFile, fmt.Sprintf("a step of its pending work leads out of its folder: %s %s", step.Do, step.To))
		}
	}
	for _, step := range filework.Undone(x.files.Disk, p) {
		x.pendingAt[step.To] = true
		x.repairable("W505", step.To, "the last operation has not put this into place yet ("+string(step.Do)+")", (*repairRun).restoreState)
	}
}

// held reports the steps of earlier operations that wait for their place.
func (x *examination) held(q thread.Quarantined) {
	w, err := filework.Open(x.files.Disk)
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
		}, (*repairRun).restoreState)
	}
}

func (x *examination) backup() error {
	backup := x.files.ReadState(store.BackupFile)
	var other statefile.Foreign
	switch {
	case errors.As(backup.Err, &other):
		x.permanent("T506", store.BackupFile, backup.Reason())
	case !backup.Usable():
		x.unreadableAt(store.BackupFile, backup.Err)
	case backup.Err != nil && x.now == nil:
		x.unreadable(store.BackupFile, backup.Reason())
	case backup.Err != nil:
		x.repairable("W502", store.BackupFile, "the backup cannot be used: "+backup.Reason(), (*repairRun).backup)
	case x.now != nil && x.quiet() && x.files.OneInode():
		x.repairable("W505", store.BackupFile, "the backup is the same file as the state: one stray write would damage both", (*repairRun).restoreState)
	}
	return nil
}
