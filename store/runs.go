package store

import (
	"io/fs"
	"os"
	"path"
	"strconv"

	"github.com/gofrs/flock"

	"leslie/store/internal/lockfile"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// RunsDir has a folder for each thread whose agent leslie has started: what its process
// writes while it runs. Nothing in it belongs to the state.
const RunsDir = "runs"

// runLock is the file in the folder of a thread's run on which its process holds a lock,
// the only proof that it lives. It has the process's id, for whoever has to end it.
const runLock = "lock"

// HoldRun makes this process the only one that runs a thread's agent until release. It
// returns the folder for what the process writes, readable only by its owner. Errors:
// fs.ErrExist if another process runs it; T505, T507.
func (s *Store) HoldRun(id thread.ThreadID) (dir string, release func(), err error) {
	root, err := s.disk.Open()
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = root.Close() }()
	rel := path.Join(RunsDir, string(id))
	if err := root.Ensure(rel); err != nil {
		return "", nil, err
	}
	dir = s.Path(rel)
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", nil, s.disk.WriteFailed(err)
	}
	lock := flock.New(s.Path(path.Join(rel, runLock)), flock.SetFlag(os.O_CREATE|os.O_RDWR|saferoot.OpenFlags), flock.SetPermissions(0o600))
	got, err := lockfile.Try(lock.TryLock)
	switch {
	case err != nil:
		return "", nil, s.disk.WriteFailed(err)
	case !got:
		return "", nil, fs.ErrExist
	}
	_ = os.WriteFile(s.Path(path.Join(rel, runLock)), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
	return dir, func() { _ = lockfile.Release(lock) }, nil
}

// RunHeld reports whether a process runs a thread's agent now. Errors: T509.
func (s *Store) RunHeld(id thread.ThreadID) (bool, error) {
	name := s.Path(path.Join(RunsDir, string(id), runLock))
	switch _, err := os.Lstat(name); {
	case os.IsNotExist(err):
		return false, nil
	case err != nil:
		return false, s.disk.ReadFailed(err)
	}
	lock := flock.New(name, flock.SetFlag(os.O_RDWR|saferoot.OpenFlags))
	got, err := lockfile.Try(lock.TryLock)
	if err != nil {
		return false, s.disk.ReadFailed(err)
	}
	if got {
		_ = lockfile.Release(lock)
	}
	return !got, nil
}
