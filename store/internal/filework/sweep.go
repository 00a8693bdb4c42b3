package filework

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"leslie/store/internal/content"
	"leslie/store/internal/lockfile"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file removes stages that nobody holds.

// SweepStages removes the stages that nobody holds, except those of the operations in
// keep. The caller must hold the store's lock. It ignores entries of tmp that are not
// folders. It skips a stage that cannot be removed, until the next time. Errors: T505,
// T507 if tmp is a link.
func SweepStages(disk saferoot.Disk, keep ...thread.OperationID) error {
	r, err := disk.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return saferoot.CannotWrite(content.Tmp, err)
	}
	defer r.Close()
	if err := saferoot.RealFolder(r.Base(), content.Tmp); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return saferoot.CannotWrite(content.Tmp, err)
	}
	names, err := saferoot.ReadNames(r.Base(), content.Tmp)
	if err != nil {
		return saferoot.CannotWrite(content.Tmp, err)
	}
	var first error
	for _, name := range names {
		if name != content.Collected && !slices.Contains(keep, OperationOf(name)) {
			first = cmp.Or(first, sweepStage(r, path.Join(content.Tmp, name)))
		}
	}
	return first
}

// OperationOf returns the operation of a folder in tmp.
func OperationOf(name string) thread.OperationID {
	return thread.OperationID(strings.TrimSuffix(name, displaced))
}

// sweepStage removes one stage if nobody holds it.
func sweepStage(r *saferoot.Root, dir string) error {
	if info, err := r.Lstat(dir); err != nil || !info.IsDir() {
		return nil
	}
	lockPath := path.Join(dir, lockName)
	if info, err := r.Lstat(lockPath); err == nil && !info.Mode().IsRegular() {
		return saferoot.CannotWrite(dir, r.RemoveAll(dir)) // no maker ever held this
	}
	lock := stageFlock(r.Path(lockPath))
	free, err := lockfile.Try(lock.TryLock)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // its maker ended it just now
	case err != nil:
		return saferoot.CannotWrite(lockPath, err)
	case !free:
		return nil
	}
	if info, err := standing(r, lockPath, lock); info == nil {
		_ = lockfile.Release(lock)
		return saferoot.CannotWrite(lockPath, err)
	}
	return saferoot.CannotWrite(dir, removeStage(r, dir, lock))
}

// removeStage removes a stage whose lock is held, and releases the lock. It removes
// the lock's file after everything else, and the folder only if it is empty: a process
// that creates the stage in between notices that its file is gone, or keeps its
// folder. A stage that is already gone, because its steps were carried out, is fine.
func removeStage(r *saferoot.Root, dir string, lock *flock.Flock) error {
	if removeHeld {
		defer func() { _ = lockfile.Release(lock) }()
	}
	err := removeContent(r, dir)
	if !removeHeld {
		_ = lockfile.Release(lock)
	}
	if err != nil {
		return err
	}
	err = r.Remove(path.Join(dir, lockName))
	if err == nil {
		_ = r.Remove(dir) // not empty: a maker has it
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func removeContent(r *saferoot.Root, dir string) error {
	in, name := r.At(dir)
	names, err := saferoot.ReadNames(in, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		if name == lockName {
			continue
		}
		if err := r.RemoveAll(path.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// Held reports whether a process holds the stage that is a folder of tmp.
func Held(disk saferoot.Disk, name string) bool {
	return lockfile.IsHeld(disk.Path(path.Join(content.Tmp, name, lockName)), saferoot.OpenFlags)
}

// Staging reports whether a process holds any stage, or may.
func Staging(disk saferoot.Disk) bool {
	entries, err := os.ReadDir(disk.Path(content.Tmp))
	return err != nil && !errors.Is(err, fs.ErrNotExist) || slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() && Held(disk, e.Name())
	})
}
