package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"leslie/codes"
	"leslie/fact"
	"leslie/thread"
)

// This file makes a store. It can be interrupted anywhere and run again: the
// state file comes last but one, so a store that has one has all but perhaps
// its backup.

const gitignore = `# The store belongs to a working copy: nothing in it is tracked by git.
*
# To track the threads' artifacts, put these lines in the place of the "*":
# /*
# !/.gitignore
# !/threads/
`

// Create makes the store of the project at dir, or completes one whose making
// was interrupted; created is false when there is one already, in whatever
// condition: it is left alone. A state that is missing while a backup, journal
// or archive exists is never replaced by an empty one.
// Errors: T501, T504 when dir does not exist, T505, T506, T507 where a link stands
// in the folder's place: Find would not follow it. T904.
func Create(ctx context.Context, dir string, opts Options) (st *Store, created bool, err error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, false, err
	}
	s := Open(root, opts)
	if err := s.refuseForeign(); err != nil {
		return nil, false, err
	}
	if err := s.makeFolder(); err != nil {
		return nil, false, s.writeFailed(err)
	}
	unlock, err := s.lock(ctx, opts.LockTimeout)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	created, err = s.fill()
	return s, created, err
}

func (s *Store) makeFolder() error {
	err := s.disk.mkdir(s.Path("."))
	if errors.Is(err, fs.ErrExist) {
		info, err := os.Lstat(s.Path("."))
		if err == nil && !info.IsDir() {
			return codes.UnsafePath.New(fact.Of("path", Dir)).
				WithHint("A link or a file stands where the store's folder belongs; move it away").WithNext("leslie help init")
		}
		return err
	}
	if err != nil {
		return err
	}
	return s.disk.syncDir(s.root)
}

// fill makes what an empty store lacks.
func (s *Store) fill() (created bool, err error) {
	main := s.readState(StateFile)
	if main.err == nil {
		return s.completeBackup(main)
	}
	for _, name := range []string{StateFile, BackupFile, JournalFile, ArchiveFile} {
		if exists(s.Path(name)) {
			return false, nil
		}
	}
	if err := s.dropTemporary(); err != nil {
		return false, err
	}
	if err := s.writeFailed(s.furnish()); err != nil {
		return false, err
	}
	data, err := image{records: thread.Records{}}.encode()
	if err != nil {
		return false, err
	}
	for _, file := range []struct{ temp, name string }{{stateTemp, StateFile}, {backupTemp, BackupFile}} {
		if err := s.replace(file.temp, file.name, data); err != nil {
			return false, err
		}
	}
	return true, s.writeFailed(s.disk.syncDir(s.Path(".")))
}

// completeBackup gives a store in which nothing has happened yet the backup that
// an interrupted making left out.
func (s *Store) completeBackup(main found) (created bool, err error) {
	if main.revision != 0 || exists(s.Path(BackupFile)) {
		return false, nil
	}
	if err := s.dropTemporary(); err != nil {
		return false, err
	}
	return true, s.replace(backupTemp, BackupFile, main.data)
}

// furnish makes what stands beside the state.
func (s *Store) furnish() error {
	if !exists(s.Path(".gitignore")) {
		if err := s.replace(ignoreTemp, ".gitignore", []byte(gitignore)); err != nil {
			return err
		}
	}
	if exists(s.Path(ThreadsDir)) {
		return nil
	}
	return s.disk.mkdir(s.Path(ThreadsDir))
}

// replace writes a file as a whole: temporary name, on disk, rename.
// Errors: T505.
func (s *Store) replace(temp, name string, data []byte) error {
	err := s.disk.write(s.Path(temp), os.O_EXCL, 0o644, data)
	if err == nil {
		err = s.disk.rename(s.Path(temp), s.Path(name))
	}
	if err != nil {
		_ = os.Remove(s.Path(temp))
	}
	return s.writeFailed(err)
}
