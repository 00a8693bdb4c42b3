package state

import (
	"context"
	"os"
	"slices"

	"leslie/codes"
	"leslie/internal/atomicfile"
	"leslie/internal/fact"
	"leslie/store/internal/archive"
	"leslie/store/internal/filework"
	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/store/internal/statefile"
	"leslie/thread"
	"leslie/warnings"
)

// This file writes a new state. Everything runs under the lock. The rename in swap is
// the commit: a failure before it changes nothing (T505); after it the change is
// committed (W505).

// backupTemp is the second name of the old state until it is the backup.
const backupTemp = BackupFile + ".tmp"

// Temporary reports whether a name in the store's folder exists only while the lock
// is held; a dead process may leave it.
func Temporary(name string) bool { return name == backupTemp || atomicfile.Temporary(name) }

// Announce adds an operation, with its steps, to the log of a project on several machines.
type Announce func(ctx context.Context, now *Loaded, next *statefile.Image, steps []thread.Step) error

// Commit makes next the store's state and then finishes its work; the warnings include those
// of loading. announce, if not nil, is called with the operation's own steps when nothing else
// can prevent that but the disk: after it the operation stands, whatever becomes of this copy.
// Operations that were only in memory go to the disk with it.
func (s *Writer) Commit(ctx context.Context, now *Loaded, next statefile.Image, announce Announce) (notes warnings.List, err error) {
	var w filework.Work
	var own []thread.Step
	if next.Pending != nil {
		own = next.Pending.Steps
	}
	if steps := stepsAfter(now.Ahead, own); len(steps) > len(own) {
		next.Pending = &thread.Pending{Operation: next.Operation.ID, Steps: steps}
	}
	if next.Pending != nil {
		if w, err = filework.Open(s.Disk); err != nil {
			return nil, s.WriteFailed(err)
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
		return nil, err
	}
	if announce != nil && len(own) > 0 { // others' operations stand, whatever is missing here
		if err := w.CheckFolders(next.Pending.Steps, own); err != nil {
			return nil, err
		}
	}
	if !next.Operation.Adopts() {
		if err := s.AppendArchive(archive.LinesOf(next.Operation.Archived, next.Revision)); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, codes.Interrupted.Wrap(context.Cause(ctx))
	}
	if announce != nil {
		if err := announce(ctx, now, &next, own); err != nil {
			return nil, err
		}
	}
	notes = now.Warnings
	if err = s.keepAhead(now); err == nil {
		err = s.Swap(now, next)
	}
	if err != nil {
		if announce == nil || next.Operation.Chain == "" {
			return nil, err
		}
		s.DoneOrWarn(&notes, ownCopy, err)
		return notes, nil
	}
	s.afterCommit(w, next, &notes)
	s.hearWriters(now.Ahead)
	return notes, nil
}

// Swap replaces the state file by next: a durable temporary file, then the old state
// as backup, then the rename. Errors: T505, T509, and then nothing has changed.
func (s *Writer) Swap(now *Loaded, next statefile.Image) error {
	parts, err := next.EncodeFrom(now.Kept())
	if err != nil {
		return err
	}
	state, err := s.Prepare(s.NewFile(StateFile, parts...))
	if err != nil {
		return s.WriteFailed(err)
	}
	defer state.Cleanup()
	putBack, err := s.makeRoom(now)
	if err == nil {
		err = s.WriteFailed(s.Put(state, s.Path(StateFile)))
	}
	if err != nil {
		putBack()
		_ = os.Remove(s.Path(backupTemp))
	}
	return err
}

// makeRoom handles the file at the state's name: a whole state becomes the backup; a
// damaged one is moved aside, and the backup stays.
func (s *Writer) makeRoom(now *Loaded) (putBack func(), err error) {
	nothing := func() {}
	switch {
	case !now.Recovered():
		return nothing, s.rotate(now)
	case !now.broken: // whole but old: its later operations are in next
		return nothing, s.secondPlace(now)
	}
	aside, err := s.SetAside(StateFile)
	if err != nil || aside == "" {
		return nothing, err
	}
	return func() { _ = os.Rename(aside, s.Path(StateFile)) }, nil
}

const forgetEvery = 64 // revisions between two looks for old answers

// What remains to do after a commit, as W505 names it.
const (
	durableState = "making the new state durable"
	filesInPlace = "putting files into place"
	journalLine  = "writing the journal"
	archiveLines = "writing the archive"
	keptAnswer   = "keeping the answer for the request"
	ownCopy      = "writing this machine's copy" // the log has the operation
)

// afterCommit does what follows the commit. The change is committed whatever fails.
func (s *Writer) afterCommit(w filework.Work, m statefile.Image, out *warnings.List) {
	if onlyFolders(m.Pending) && !m.Operation.Adopts() {
		s.finishAtOnce(w, m, out)
	} else {
		s.finishInTurn(w, m, out)
	}
	s.DoneOrWarn(out, keptAnswer, s.keepAnswer(m.Operation))
	if m.Revision%forgetEvery == 0 {
		s.forgetOld()
	}
}

// finishInTurn makes the state durable before a file is moved, and every file before
// the journal says so.
func (s *Writer) finishInTurn(w filework.Work, m statefile.Image, out *warnings.List) {
	standing := m.Pending != nil && w.Reach(scan.Threads) == nil
	durable := s.DoneOrWarn(out, durableState, s.SyncDir(s.Path(".")))
	var undone []thread.Step
	if m.Pending != nil && !s.placedOrWarn(out, m.Pending, w.CarryOut(m.Pending, standing && durable)) {
		undone = m.Pending.Steps
	}
	if s.DoneOrWarn(out, archiveLines, s.archiveAdopted(m.Operation)) { // else the next writer does both
		s.DoneOrWarn(out, journalLine, s.Record(m.Operation, undone))
	}
}

// archiveAdopted appends the records that an operation archived and that no state had.
// Before the commit they would count; so they follow it, and the journal's line follows
// them. Repeating it has no effect: of two lines the last counts. Errors: T505.
func (s *Writer) archiveAdopted(o *journal.Operation) error {
	if !o.Adopts() {
		return nil
	}
	e, err := o.All()
	if err != nil {
		return err
	}
	return s.AppendArchive(archive.LinesOf(e.Archived, e.Seq))
}

// onlyFolders reports whether an operation only creates a few folders, or nothing.
func onlyFolders(p *thread.Pending) bool {
	const few = 8
	return p == nil || len(p.Steps) <= few && !slices.ContainsFunc(p.Steps, func(step thread.Step) bool {
		return step.Do != thread.StepMakeDir
	})
}

// finishAtOnce does everything and then makes it durable at once: one fsync after the
// other takes up to three times as long. A power cut in between may keep any part,
// which loses nothing if only folders are created: the journal's line names the steps,
// and rolling the state forward repeats them.
func (s *Writer) finishAtOnce(w filework.Work, m statefile.Image, out *warnings.List) {
	all := []saferoot.Flush{saferoot.FlushDir(durableState, s.Path("."))}
	var steps []thread.Step
	if m.Pending != nil {
		steps = m.Pending.Steps
		made, err := w.MakeFolders(m.Pending, filesInPlace)
		s.placedOrWarn(out, m.Pending, err)
		all = append(all, made...)
	}
	line, err := m.Operation.Line(steps)
	var added []saferoot.Flush
	if err == nil {
		added, err = s.AddLines(journalLine, JournalFile, line)
	}
	if s.DoneOrWarn(out, journalLine, err) {
		all = append(all, added...)
	}
	for i, err := range s.Together(all) {
		s.DoneOrWarn(out, all[i].What, s.WriteFailed(err))
	}
}

// DoneOrWarn adds W505 for a failure after a commit, and reports whether there was none.
func (s *Writer) DoneOrWarn(out *warnings.List, what string, err error) bool {
	if err != nil {
		out.Add(warnings.NotSettled.New(fact.Of("what", what), fact.Of("reason", s.Reason(err))))
	}
	return err == nil
}

// placedOrWarn is doneOrWarn for the steps of an operation. Where a link or the like (T507), or a
// missing folder (T202), keeps them from their place the state is on disk and they wait:
// that is W507.
func (s *Writer) placedOrWarn(out *warnings.List, p *thread.Pending, err error) bool {
	if codes.Has(err, codes.UnsafePath) || codes.Has(err, codes.TargetCorrupted) {
		out.Add(FilesPending(*p))
		return false
	}
	return s.DoneOrWarn(out, filesInPlace, err)
}
