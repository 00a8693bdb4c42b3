package store

import (
	"context"
	"os"
	"slices"

	"leslie/codes"
	"leslie/internal/atomicfile"
	"leslie/internal/fact"
	"leslie/store/internal/archive"
	"leslie/store/internal/content"
	"leslie/store/internal/filework"
	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/statefile"
	"leslie/thread"
	"leslie/warnings"
)

// This file writes a new state. Everything runs under the lock. The rename in swap is
// the commit: a failure before it changes nothing (T505); after it the change is
// committed (W505).

// backupTemp is the second name of the old state until it is the backup.
const backupTemp = BackupFile + ".tmp"

// temporary reports whether a name in the store's folder exists only while the lock
// is held; a dead process may leave it.
func temporary(name string) bool { return name == backupTemp || atomicfile.Temporary(name) }

// settle finishes what an earlier process left, before a new operation: temporary
// files, two names on one inode, pending steps, stages except the operation's own, the
// missing line of the journal, the missing answer of a request. Errors: T505.
func (s *Store) settle(now *loaded, own thread.OperationID) error {
	if err := s.dropTemporary(); err != nil {
		return err
	}
	if err := s.splitBackup(now); err != nil {
		return err
	}
	pending := now.Pending
	if pending != nil && !now.settled || len(now.Quarantined) > 0 {
		if err := s.retry(now); err != nil {
			return err
		}
	}
	if err := content.PutBack(s.disk); err != nil {
		return err
	}
	// A stage that cannot be removed blocks nobody: doctor reports it.
	_ = filework.SweepStages(s.disk, append(now.Waiting(), own)...)
	if now.Operation == nil {
		return nil
	}
	if now.tail < now.Revision { // unless a restore's journal has only now got its place
		now.tail = s.tailNow(now.tail)
	}
	if now.tail < now.Revision {
		var undone []thread.Step
		if pending != nil && slices.Contains(now.Waiting(), pending.Operation) {
			undone = pending.Steps
		}
		if err := s.archiveAdopted(now.Operation); err != nil {
			return err
		}
		if err := s.record(now.Operation, undone); err != nil {
			return err
		}
		now.tail = now.Revision
	}
	return s.keepAnswer(now.Operation)
}

func (s *Store) dropTemporary() error {
	names, err := s.leftTemporary()
	for _, name := range names {
		if err := s.disk.RemoveAll(s.Path(name)); err != nil {
			return s.disk.WriteFailed(err)
		}
	}
	return s.disk.ReadFailed(err)
}

// leftTemporary are the temporary names in the store's folder.
func (s *Store) leftTemporary() ([]string, error) {
	folder, err := os.Open(s.Path("."))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	return slices.DeleteFunc(names, func(name string) bool { return !temporary(name) }), err
}

// commit makes next the store's state and then settles it. announce, if not nil, is called
// with the operation's own steps when nothing else can prevent that but the disk: after it
// the operation stands, whatever becomes of this copy. Operations that were only in memory
// go to the disk with it.
func (s *Store) commit(ctx context.Context, now *loaded, next statefile.Image, announce func(context.Context, *loaded, *statefile.Image, []thread.Step) error) (made Commit, err error) {
	var w filework.Work
	var own []thread.Step
	if next.Pending != nil {
		own = next.Pending.Steps
	}
	if steps := stepsAfter(now.ahead, own); len(steps) > len(own) {
		next.Pending = &thread.Pending{Operation: next.Operation.ID, Steps: steps}
	}
	if next.Pending != nil {
		if w, err = filework.Open(s.disk); err != nil {
			return Commit{}, s.disk.WriteFailed(err)
		}
		defer func() {
			if err != nil {
				w.Cancel(next.Pending)
			}
			_ = w.Close()
		}()
	}
	next = next.Follow(now.Image)
	next.Quarantined, next.Operation.Held = now.Quarantined, now.Quarantined
	if err := w.Prepare(next.Pending); err != nil {
		return Commit{}, err
	}
	if !next.Operation.Adopts() {
		if err := s.appendArchive(archive.LinesOf(next.Operation.Archived, next.Revision)); err != nil {
			return Commit{}, err
		}
	}
	if ctx.Err() != nil {
		return Commit{}, codes.Interrupted.Wrap(context.Cause(ctx))
	}
	if announce != nil {
		if err := announce(ctx, now, &next, own); err != nil {
			return Commit{}, err
		}
	}
	c := Commit{Revision: next.Revision, Changed: true, Operation: next.Operation.ID, Warnings: now.warnings}
	if err = s.keepAhead(now); err == nil {
		err = s.swap(now, next)
	}
	if err != nil {
		if announce == nil || next.Operation.Chain == "" {
			return Commit{}, err
		}
		s.settled(&c.Warnings, ownCopy, err)
		return c, nil
	}
	s.afterCommit(w, next, &c.Warnings)
	return c, nil
}

// swap replaces the state file by next: a durable temporary file, then the old state
// as backup, then the rename. Errors: T505, T509, and then nothing has changed.
func (s *Store) swap(now *loaded, next statefile.Image) error {
	parts, err := next.EncodeFrom(now.kept())
	if err != nil {
		return err
	}
	state, err := s.disk.Prepare(s.disk.NewFile(StateFile, parts...))
	if err != nil {
		return s.disk.WriteFailed(err)
	}
	defer state.Cleanup()
	putBack := func() {}
	if err = s.keepBefore(now); err == nil {
		putBack, err = s.makeRoom(now)
	}
	if err == nil {
		err = s.disk.WriteFailed(s.disk.Put(state, s.Path(StateFile)))
	}
	if err != nil {
		putBack()
		_ = os.Remove(s.Path(backupTemp))
	}
	return err
}

// makeRoom handles the file at the state's name: a whole state becomes the backup; a
// damaged one is moved aside, and the backup stays.
func (s *Store) makeRoom(now *loaded) (putBack func(), err error) {
	nothing := func() {}
	switch {
	case !now.recovered():
		return nothing, s.rotate(now)
	case !now.broken: // whole but old: its later operations are in next
		return nothing, s.secondPlace(now)
	}
	aside, err := s.disk.SetAside(StateFile)
	if err != nil || aside == "" {
		return nothing, err
	}
	return func() { _ = os.Rename(aside, s.Path(StateFile)) }, nil
}

// What remains to do after a commit, as W505 names it.
const (
	durableState = "making the new state durable"
	filesInPlace = "putting files into place"
	journalLine  = "writing the journal"
	archiveLines = "writing the archive"
	keptAnswer   = "keeping the answer for the request"
	ownCopy      = "writing this machine's copy" // the log has the operation
	listOfFiles  = "noting which files were published"
)

// afterCommit does what follows the commit. The change is committed whatever fails.
func (s *Store) afterCommit(w filework.Work, m statefile.Image, out *warnings.List) {
	if onlyFolders(m.Pending) && !m.Operation.Adopts() {
		s.settleAtOnce(w, m, out)
	} else {
		s.settleInTurn(w, m, out)
	}
	s.settled(out, keptAnswer, s.keepAnswer(m.Operation))
	if m.Revision%forgetEvery == 0 {
		s.forgetOld()
	}
}

// settleInTurn makes the state durable before a file is moved, and every file before
// the journal says so.
func (s *Store) settleInTurn(w filework.Work, m statefile.Image, out *warnings.List) {
	standing := m.Pending != nil && w.Reach(ThreadsDir) == nil
	durable := s.settled(out, durableState, s.disk.SyncDir(s.Path(".")))
	var undone []thread.Step
	if m.Pending != nil && !s.placed(out, m.Pending, w.CarryOut(m.Pending, standing && durable)) {
		undone = m.Pending.Steps
	}
	if s.settled(out, archiveLines, s.archiveAdopted(m.Operation)) { // else the next writer does both
		s.settled(out, journalLine, s.record(m.Operation, undone))
	}
}

// archiveAdopted appends the records that an operation archived and that no state had.
// Before the commit they would count; so they follow it, and the journal's line follows
// them. Repeating it has no effect: of two lines the last counts. Errors: T505.
func (s *Store) archiveAdopted(o *journal.Operation) error {
	if !o.Adopts() {
		return nil
	}
	e, err := o.All()
	if err != nil {
		return err
	}
	return s.appendArchive(archive.LinesOf(e.Archived, e.Seq))
}

// onlyFolders reports whether an operation only creates a few folders, or nothing.
func onlyFolders(p *thread.Pending) bool {
	const few = 8
	return p == nil || len(p.Steps) <= few && !slices.ContainsFunc(p.Steps, func(step thread.Step) bool {
		return step.Do != thread.StepMakeDir
	})
}

// settleAtOnce does everything and then makes it durable at once: one fsync after the
// other takes up to three times as long. A power cut in between may keep any part,
// which loses nothing if only folders are created: the journal's line names the steps,
// and rolling the state forward repeats them.
func (s *Store) settleAtOnce(w filework.Work, m statefile.Image, out *warnings.List) {
	all := []saferoot.Flush{saferoot.FlushDir(durableState, s.Path("."))}
	var steps []thread.Step
	if m.Pending != nil {
		steps = m.Pending.Steps
		made, err := w.MakeFolders(m.Pending, filesInPlace)
		s.placed(out, m.Pending, err)
		all = append(all, made...)
	}
	line, err := m.Operation.Line(steps)
	var added []saferoot.Flush
	if err == nil {
		added, err = s.disk.AddLines(journalLine, JournalFile, line)
	}
	if s.settled(out, journalLine, err) {
		all = append(all, added...)
	}
	for i, err := range s.disk.Together(all) {
		s.settled(out, all[i].What, s.disk.WriteFailed(err))
	}
}

// settled adds W505 for a failure after a commit.
func (s *Store) settled(out *warnings.List, what string, err error) bool {
	if err != nil {
		out.Add(warnings.NotSettled.New(fact.Of("what", what), fact.Of("reason", s.disk.Reason(err))))
	}
	return err == nil
}

// placed is settled for the steps of an operation. Where a link or the like keeps
// them from their place (T507) the state is on disk and they wait: that is W507.
func (s *Store) placed(out *warnings.List, p *thread.Pending, err error) bool {
	if codes.Has(err, codes.UnsafePath) {
		out.Add(filesPending(*p))
		return false
	}
	return s.settled(out, filesInPlace, err)
}
