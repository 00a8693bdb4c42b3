package state

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
func (s *Writer) rotate(now *Loaded) error {
	switch whole, err := s.backupIsWhole(); {
	case err != nil:
		return err
	case !whole: // a rename would delete what stands there, or could not replace it
		if _, err := s.SetAside(BackupFile); err != nil {
			return err
		}
	}
	temp, backup := s.Path(backupTemp), s.Path(BackupFile)
	if err := s.linkOld(now, temp); err != nil {
		return s.Replace(BackupFile, now.data)
	}
	return s.WriteFailed(s.Rename(temp, backup))
}

// linkOld gives the loaded file a second name. It fails if the file system has no hard
// links, or if the file is no longer the one that was verified.
func (s *Writer) linkOld(now *Loaded, temp string) error {
	if err := s.Link(s.Path(StateFile), temp); err != nil {
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
func (s *Writer) splitBackup(now *Loaded) error {
	if !s.SharesBackup(now) {
		return nil
	}
	return s.Replace(BackupFile, now.data)
}

// secondPlace makes sure that a recovered state has a backup after the write that
// stores it: if there is no whole backup, the recovered state itself. Errors: T505.
func (s *Writer) secondPlace(now *Loaded) error {
	if whole, err := s.backupIsWhole(); whole || err != nil {
		return err
	}
	data, err := now.Kept().Encode()
	if err != nil {
		return err
	}
	if _, err := s.SetAside(BackupFile); err != nil {
		return err
	}
	return s.Replace(BackupFile, data)
}

// SharesBackup reports whether the loaded file is the backup as well.
func (s *Files) SharesBackup(now *Loaded) bool {
	if now.Recovered() {
		return false
	}
	info, err := os.Lstat(s.Path(BackupFile))
	return err == nil && os.SameFile(info, now.file)
}

// backupIsWhole reads the backup. A backup that cannot be read may be whole and must
// not be replaced. Errors: T509.
func (s *Files) backupIsWhole() (bool, error) {
	f, _, err := saferoot.OpenRegular(s.Path(BackupFile))
	whole := false
	if err == nil {
		whole, err = statefile.WholeFrom(f)
		_ = f.Close()
	}
	if saferoot.Uncertain(err) {
		return false, s.ReadFailed(err)
	}
	return whole, nil
}

// OneInode reports whether state and backup are one file, as they are for an instant
// in every write.
func (s *Files) OneInode() bool {
	main, err := os.Lstat(s.Path(StateFile))
	if err != nil {
		return false
	}
	backup, err := os.Lstat(s.Path(BackupFile))
	return err == nil && os.SameFile(main, backup)
}
