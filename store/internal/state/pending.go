package state

import (
	"os"
	"slices"

	"leslie/store/internal/content"
	"leslie/store/internal/filework"
	"leslie/thread"
)

// This file prevents a step that cannot be carried out from blocking the store. Its
// thread's folder may be a link for a while, or without permission, or its name too
// long for this file system. Then the steps of that thread, or merge, wait in the
// state with their operation and their stage. Each writer, and doctor --repair, tries
// them again; until they are done, writes to the thread are T507, readers of its files
// are warned (W507), and everything else works. The steps are never dropped.

// FinishPending finishes what an earlier process left, before a new operation: temporary
// files, two names on one inode, pending steps, stages except the operation's own, the
// missing line of the journal, the missing answer of a request. Errors: T505.
func (s *Writer) FinishPending(now *Loaded, own thread.OperationID) error {
	if err := s.DropTemporary(); err != nil {
		return err
	}
	if err := s.splitBackup(now); err != nil {
		return err
	}
	pending := now.Pending
	if pending != nil && !now.StepsDone || len(now.Quarantined) > 0 {
		if err := s.retry(now); err != nil {
			return err
		}
	}
	if err := content.PutBack(s.Disk); err != nil {
		return err
	}
	// A stage that cannot be removed blocks nobody: doctor reports it.
	_ = filework.SweepStages(s.Disk, append(now.Waiting(), own)...)
	if now.Operation == nil {
		return nil
	}
	if now.Tail < now.Revision { // unless a restore's journal has only now got its place
		now.Tail = s.tailNow(now.Tail)
	}
	if now.Tail < now.Revision {
		var undone []thread.Step
		if pending != nil && slices.Contains(now.Waiting(), pending.Operation) {
			undone = pending.Steps
		}
		if err := s.archiveAdopted(now.Operation); err != nil {
			return err
		}
		if err := s.Record(now.Operation, undone); err != nil {
			return err
		}
		now.Tail = now.Revision
	}
	return s.keepAnswer(now.Operation)
}

// DropTemporary removes what dead processes left under temporary names. Errors: T505, T509.
func (s *Writer) DropTemporary() error {
	names, err := s.LeftTemporary()
	for _, name := range names {
		if err := s.RemoveAll(s.Path(name)); err != nil {
			return s.WriteFailed(err)
		}
	}
	return s.ReadFailed(err)
}

// LeftTemporary are the temporary names in the store's folder.
func (s *Files) LeftTemporary() ([]string, error) {
	folder, err := os.Open(s.Path("."))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	return slices.DeleteFunc(names, func(name string) bool { return !Temporary(name) }), err
}

// retry carries out what is left of earlier operations; what cannot be done yet stays in
// the image. Errors: T505, T509.
func (s *Writer) retry(now *Loaded) error {
	all := make([]*thread.Pending, 0, len(now.Quarantined)+1)
	for _, q := range now.Quarantined {
		all = append(all, filework.PendingOf(q))
	}
	if now.Pending != nil && !now.StepsDone {
		all = append(all, now.Pending)
	}
	left, notes, err := filework.Retry(s.Disk, all)
	now.Warnings = append(now.Warnings, notes...)
	if err != nil {
		return err
	}
	same := func(a, b thread.Quarantined) bool { return a.Record == b.Record && slices.Equal(a.At, b.At) }
	now.requarantined = !slices.EqualFunc(now.Quarantined, left, same)
	now.Quarantined, now.Pending = left, nil // which is done, or quarantined
	return nil
}

// KeepQuarantine puts a state on disk whose quarantined steps are others than they
// were, at its own revision. Errors: T505, T509.
func (s *Writer) KeepQuarantine(now *Loaded) error {
	if !now.requarantined && !now.Recovered() || len(now.Ahead) > 0 { // which adopt stores
		return nil
	}
	return s.Swap(now, now.Image)
}
