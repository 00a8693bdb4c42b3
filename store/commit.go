package store

import (
	"context"
	"fmt"
	"os"

	"leslie/codes"
	"leslie/fact"
	"leslie/warnings"
)

// This file puts a state on disk. Everything runs under the lock. The rename in
// swap is the commit: a failure in front of it leaves all as it was (T505), one
// behind it leaves the change standing (W505).

// Names that exist only while the lock is held; a dead process may leave them.
const (
	stateTemp  = StateFile + ".tmp"
	backupTemp = BackupFile + ".tmp"
	answerTemp = "answer.tmp"
	ignoreTemp = ".gitignore.tmp"
)

func temporary() []string { return []string{stateTemp, backupTemp, answerTemp, ignoreTemp} }

// settle finishes what an earlier process left behind, before a new operation:
// temporary files, the two names on one inode, pending steps, the line that the
// journal lacks, the answer that a request is owed. Errors: T505.
func (s *Store) settle(now *loaded) error {
	if err := s.dropTemporary(); err != nil {
		return err
	}
	if err := s.splitBackup(now); err != nil {
		return err
	}
	if now.pending != nil {
		if err := s.carryOut(now.pending); err != nil {
			return s.writeFailed(err)
		}
	}
	// A stage that cannot be removed is in nobody's way: doctor names it.
	_ = s.sweepStages("")
	if now.operation == nil {
		return nil
	}
	if now.tail < now.revision {
		if err := s.record(now.operation.entry); err != nil {
			return err
		}
		now.tail = now.revision
	}
	return s.keepAnswer(now.operation)
}

func (s *Store) dropTemporary() error {
	for _, name := range temporary() {
		if _, err := os.Lstat(s.Path(name)); err != nil {
			continue
		}
		if err := s.disk.removeAll(s.Path(name)); err != nil {
			return s.writeFailed(err)
		}
	}
	return nil
}

// commit makes next the store's state and then settles it.
func (s *Store) commit(ctx context.Context, now *loaded, next image) (Commit, error) {
	if err := s.stageRemovals(next.pending); err != nil {
		return Commit{}, err
	}
	if err := s.appendArchive(next.operation.Archived, next.revision); err != nil {
		return Commit{}, err
	}
	if ctx.Err() != nil {
		return Commit{}, codes.Interrupted.Wrap(context.Cause(ctx))
	}
	if err := s.swap(now, next); err != nil {
		return Commit{}, err
	}
	c := Commit{Revision: next.revision, Changed: true, Operation: next.operation.ID, Warnings: now.warnings}
	s.afterCommit(next, &c.Warnings)
	return c, nil
}

// swap replaces the state file by next: a temporary file, on disk, then the old
// state as backup, then the rename. Errors: T505, and then all is as it was.
func (s *Store) swap(now *loaded, next image) error {
	data, err := next.encode()
	if err != nil {
		return err
	}
	if err := s.disk.write(s.Path(stateTemp), os.O_EXCL, 0o644, data); err != nil {
		s.discard()
		return s.writeFailed(err)
	}
	putBack, err := s.makeRoom(now)
	if err == nil {
		err = s.writeFailed(s.disk.rename(s.Path(stateTemp), s.Path(StateFile)))
	}
	if err != nil {
		putBack()
		s.discard()
	}
	return err
}

// makeRoom takes care of what stands at the state's name: a whole state becomes
// the backup; what is not whole is moved aside, and the backup left alone.
func (s *Store) makeRoom(now *loaded) (putBack func(), err error) {
	nothing := func() {}
	switch {
	case !now.recovered():
		return nothing, s.rotate(now)
	case !now.broken:
		return nothing, nil // whole but old: its later operations are in next
	}
	aside, err := s.moveAside(StateFile)
	if err != nil || aside == "" {
		return nothing, err
	}
	return func() { _ = os.Rename(aside, s.Path(StateFile)) }, nil
}

// discard removes the temporary files of a failed swap, as far as it can; what
// stays is removed by the next writer.
func (s *Store) discard() {
	for _, name := range []string{stateTemp, backupTemp} {
		_ = os.Remove(s.Path(name))
	}
}

// afterCommit does what follows the commit. The change stands whatever fails.
func (s *Store) afterCommit(m image, out *warnings.List) {
	settled := func(what string, err error) bool {
		if err != nil {
			_, reason := s.told(rootCause(err))
			out.Add(warnings.NotSettled.New(fact.Of("what", what), fact.Of("reason", reason)))
		}
		return err == nil
	}
	settled("making the new state durable", s.disk.syncDir(s.Path(".")))
	line := m.operation.entry
	if m.pending != nil && !settled("putting files into place", s.carryOut(m.pending)) {
		line.Pending = m.pending.Steps
	}
	settled("writing the journal", s.record(line))
	settled("keeping the answer for the request", s.keepAnswer(m.operation))
	if m.revision%forgetEvery == 0 {
		s.forgetOld()
	}
}

// rootCause is what a coded error of a write wraps.
func rootCause(err error) error {
	if e := codes.Of(err); e != nil && e.Unwrap() != nil {
		return e.Unwrap()
	}
	return err
}

// setAside moves a file or folder that is not whole out of the way, under a name
// that doctor lists; nothing is ever deleted. Errors: T505.
func (s *Store) setAside(name string) error {
	_, err := s.moveAside(name)
	return err
}

func (s *Store) moveAside(name string) (to string, err error) {
	from := s.Path(name)
	if _, err := os.Lstat(from); err != nil {
		return "", nil
	}
	stamp := s.now().UTC().Format("20060102T150405Z")
	for n := 1; ; n++ {
		to = fmt.Sprintf("%s%s%s", from, asideMark, stamp)
		if n > 1 {
			to += fmt.Sprintf("-%d", n)
		}
		if _, err := os.Lstat(to); err != nil {
			break
		}
	}
	if err := s.disk.rename(from, to); err != nil {
		return "", s.writeFailed(err)
	}
	return to, nil
}

const asideMark = ".set-aside-"
