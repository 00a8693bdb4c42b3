package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/state"
	"leslie/store/internal/statefile"
	"leslie/thread"
	"leslie/warnings"
)

// This file creates a store. It can be interrupted anywhere and run again: the state
// file comes last but one, so a store with a state file has everything except perhaps
// its backup. The rename that names the state is the commit here, too: a failure
// before it is T505, after it W505.

const gitignore = `# The store belongs to a working copy: nothing in it is tracked by git.
*
# To track the threads' artifacts, put these lines in the place of the "*":
# /*
# !/.gitignore
# !/threads/
`

// Create creates the store of the project at dir, or completes one whose creation was
// interrupted. created is false if there is one already, in whatever condition: Create
// does not change it. A missing state is never replaced by an empty one if a backup,
// journal or archive exists. W505 reports a store that lacks its backup, or may not
// survive a power cut. Errors: T501, T504 if dir does not exist, T505, T506, T507 if a
// link is in the folder's place, because Find would not follow it, T904. After an
// error no store was created.
func Create(ctx context.Context, wait Wait, dir string, opts Options) (st *Store, created bool, notes warnings.List, err error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, false, nil, err
	}
	s := Open(root, opts)
	if err := s.files.RefuseForeign(); err != nil {
		return nil, false, nil, err
	}
	if err := s.makeFolder(); err != nil {
		return nil, false, nil, s.disk.WriteFailed(err)
	}
	w, err := s.files.Lock(ctx, wait)
	if err != nil {
		return nil, false, nil, err
	}
	defer w.Unlock()
	created, err = s.fill(w, &notes)
	return s, created, notes, err
}

func (s *Store) makeFolder() error {
	err := s.disk.Mkdir(s.Path("."))
	if errors.Is(err, fs.ErrExist) {
		info, err := os.Lstat(s.Path("."))
		if err == nil && !info.IsDir() {
			return codes.UnsafePath.New(fact.Of("path", Dir)).
				WithHint("A link or a file is in the place of the store's folder: move it away").WithNext("leslie help init")
		}
		return err
	}
	return err
}

// fill creates what an incomplete store lacks.
func (s *Store) fill(w *state.Writer, notes *warnings.List) (created bool, err error) {
	main := s.files.ReadState(StateFile)
	if main.Err == nil {
		return s.completeBackup(w, main)
	}
	for _, name := range []string{StateFile, BackupFile, JournalFile, ArchiveFile} {
		if saferoot.Exists(s.Path(name)) {
			return false, nil
		}
	}
	if err := w.DropTemporary(); err != nil {
		return false, err
	}
	if err := s.disk.WriteFailed(s.furnish()); err != nil {
		return false, err
	}
	data, err := statefile.Image{Records: thread.Records{}}.Encode()
	if err != nil {
		return false, err
	}
	if err := s.disk.Replace(StateFile, data); err != nil {
		return false, err
	}
	w.DoneOrWarn(notes, "making the backup", s.disk.Replace(BackupFile, data))
	w.DoneOrWarn(notes, "making the new store durable", errors.Join(s.disk.SyncDir(s.Path(".")), s.disk.SyncDir(s.disk.Project)))
	return true, nil
}

// completeBackup adds the backup that an interrupted creation left out, if the store
// has no operations yet.
func (s *Store) completeBackup(w *state.Writer, main state.Found) (created bool, err error) {
	if main.Revision != 0 || saferoot.Exists(s.Path(BackupFile)) {
		return false, nil
	}
	if err := w.DropTemporary(); err != nil {
		return false, err
	}
	return true, s.disk.Replace(BackupFile, main.Data)
}

// furnish creates the files next to the state.
func (s *Store) furnish() error {
	if !saferoot.Exists(s.Path(".gitignore")) {
		if err := s.disk.Replace(".gitignore", []byte(gitignore)); err != nil {
			return err
		}
	}
	if saferoot.Exists(s.Path(ThreadsDir)) {
		return nil
	}
	return s.disk.Mkdir(s.Path(ThreadsDir))
}
