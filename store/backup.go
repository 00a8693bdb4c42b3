package store

import (
	"io/fs"
	"os"
)

// This file keeps the backup: the state before the last write, on an inode of
// its own. It only ever receives a state that was just found whole under the
// lock, and it is replaced by rename, never written in place.
//
// Making it costs nothing: the old state file gets a second name, and the rename
// of the new state then takes the first name away. A crash between the two
// leaves both names on one inode, where one stray write would damage both; the
// next writer makes them two before it does anything else.

// rotate makes the state that was loaded the backup. Errors: T505.
func (s *Store) rotate(now *loaded) error {
	if !now.backup.whole { // a rename would delete what stands there, or could not replace it
		if err := s.setAside(BackupFile); err != nil {
			return err
		}
	}
	temp, backup := s.Path(backupTemp), s.Path(BackupFile)
	if err := s.linkOld(now, temp); err != nil {
		return s.replace(BackupFile, now.data)
	}
	return s.writeFailed(s.disk.rename(temp, backup))
}

// keepBefore keeps the last state of the version before, once. Errors: T505, T509.
func (s *Store) keepBefore(now *loaded) error {
	if now.image.version != versionBefore || exists(s.Path(UpgradedFile)) {
		return nil
	}
	data := now.data
	if now.recovered() {
		backup := s.readState(BackupFile)
		if backup.err != nil || backup.version != versionBefore {
			return nil
		}
		data = backup.data
	}
	return s.replace(UpgradedFile, data)
}

// linkOld gives the file that was loaded a second name. It fails where the file
// system has no hard links, or where the file is no longer the one whose bytes
// were found whole.
func (s *Store) linkOld(now *loaded, temp string) error {
	if err := s.disk.link(s.Path(StateFile), temp); err != nil {
		return err
	}
	if info, err := os.Lstat(temp); err == nil && unchangedSince(now.file, info) {
		return nil
	}
	_ = os.Remove(temp)
	return fs.ErrInvalid
}

func unchangedSince(was, is fs.FileInfo) bool {
	return os.SameFile(was, is) && was.Size() == is.Size() && was.ModTime().Equal(is.ModTime())
}

// splitBackup makes main and backup two files where they are one. Errors: T505.
func (s *Store) splitBackup(now *loaded) error {
	if !s.sharesBackup(now) {
		return nil
	}
	return s.replace(BackupFile, now.data)
}

func (s *Store) sharesBackup(now *loaded) bool {
	if now.recovered() {
		return false
	}
	info, err := os.Lstat(s.Path(BackupFile))
	return err == nil && os.SameFile(info, now.file)
}

// oldBackup is the backup that has to go. It stays open while others may wait for
// the processor: to free its blocks takes a file system some time. That is done
// while the disk is waited for, or behind the lock.
type oldBackup struct {
	file  *os.File // nil where there is none
	size  int64
	whole bool // what isWhole said
}

// openBackup opens the backup. One that cannot be looked at may be whole, and may
// not go. Errors: T509.
func (s *Store) openBackup() (oldBackup, error) {
	f, info, err := openRegular(s.Path(BackupFile))
	switch {
	case unknowable(err):
		return oldBackup{}, s.readFailed(err)
	case err != nil:
		return oldBackup{}, nil
	}
	return oldBackup{file: f, size: info.Size()}, nil
}

// isWhole reads all of it.
func (o oldBackup) isWhole() bool { return o.file != nil && wholeFile(o.file, o.size) }

func (o oldBackup) close() {
	if o.file != nil {
		_ = o.file.Close()
	}
}

// secondPlace sees to it that a recovered state has a backup behind the write
// that puts it on disk: where there is no whole one, the recovered state itself.
// Errors: T505.
func (s *Store) secondPlace(now *loaded) error {
	if now.backup.whole {
		return nil
	}
	data, err := now.image.encode()
	if err != nil {
		return err
	}
	if err := s.setAside(BackupFile); err != nil {
		return err
	}
	return s.replace(BackupFile, data)
}
