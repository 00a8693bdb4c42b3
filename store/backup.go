package store

import (
	"io/fs"
	"os"

	"leslie/store/internal/saferoot"
	"leslie/store/internal/statefile"
)

// This file keeps the backup: the state before the last write, with its own inode. It
// is always a state that was verified under the lock, and it is replaced by rename,
// never written in place.
//
// Creating it costs nothing: the old state file gets a second name, and the rename of
// the new state then removes the first name. A crash in between leaves both names on
// one inode, where one stray write would damage both; the next writer separates them
// before anything else.

// rotate makes the loaded state the backup. Errors: T505.
func (s *Store) rotate(now *loaded) error {
	switch whole, err := s.backupIsWhole(); {
	case err != nil:
		return err
	case !whole: // a rename would delete what stands there, or could not replace it
		if _, err := s.disk.SetAside(BackupFile); err != nil {
			return err
		}
	}
	temp, backup := s.Path(backupTemp), s.Path(BackupFile)
	if err := s.linkOld(now, temp); err != nil {
		return s.disk.Replace(BackupFile, now.data)
	}
	return s.disk.WriteFailed(s.disk.Rename(temp, backup))
}

// keepBefore keeps the last state of the previous format version, once. Errors: T505,
// T509.
func (s *Store) keepBefore(now *loaded) error {
	if now.kept().Version != statefile.VersionBefore || exists(s.Path(UpgradedFile)) {
		return nil
	}
	data := now.data
	if now.recovered() {
		backup := s.readState(BackupFile)
		if backup.err != nil || backup.Version != statefile.VersionBefore {
			return nil
		}
		data = backup.data
	}
	return s.disk.Replace(UpgradedFile, data)
}

// linkOld gives the loaded file a second name. It fails if the file system has no hard
// links, or if the file is no longer the one that was verified.
func (s *Store) linkOld(now *loaded, temp string) error {
	if err := s.disk.Link(s.Path(StateFile), temp); err != nil {
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

// splitBackup separates main and backup if they are one file. Errors: T505.
func (s *Store) splitBackup(now *loaded) error {
	if !s.sharesBackup(now) {
		return nil
	}
	return s.disk.Replace(BackupFile, now.data)
}

func (s *Store) sharesBackup(now *loaded) bool {
	if now.recovered() {
		return false
	}
	info, err := os.Lstat(s.Path(BackupFile))
	return err == nil && os.SameFile(info, now.file)
}

// backupIsWhole reads the backup. A backup that cannot be read may be whole and must
// not be replaced. Errors: T509.
func (s *Store) backupIsWhole() (bool, error) {
	f, _, err := saferoot.OpenRegular(s.Path(BackupFile))
	whole := false
	if err == nil {
		whole, err = statefile.WholeFrom(f)
		_ = f.Close()
	}
	if saferoot.Uncertain(err) {
		return false, s.disk.ReadFailed(err)
	}
	return whole, nil
}

// secondPlace makes sure that a recovered state has a backup after the write that
// stores it: if there is no whole backup, the recovered state itself. Errors: T505.
func (s *Store) secondPlace(now *loaded) error {
	if whole, err := s.backupIsWhole(); whole || err != nil {
		return err
	}
	data, err := now.kept().Encode()
	if err != nil {
		return err
	}
	if _, err := s.disk.SetAside(BackupFile); err != nil {
		return err
	}
	return s.disk.Replace(BackupFile, data)
}
