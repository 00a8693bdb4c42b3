package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/atomicfile"
	"leslie/internal/fact"
	"leslie/store/internal/content"
	"leslie/store/internal/lockfile"
	"leslie/store/internal/saferoot"
)

// This file changes small files that belong to no state: the user's configuration, and what
// is known of agents (LimitsFile).

// OwnLock is the lock file beside such a file.
const OwnLock = "config.lock"

// WriteFile writes a file outside any store as a whole, and durably. Errors: T505.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	disk := saferoot.Disk{}
	undurable, err := disk.ReplaceFile(path, data, perm)
	return disk.WriteFailed(cmp.Or(err, undurable))
}

// EditOwn changes a file under a lock in its folder.
// edit receives the content, nil if there is no such file, and returns the new one. A
// new file gets perm, an old one keeps its permissions; a link is followed. Nobody reads
// half of it. If undurable is set, the file is replaced, and a power cut may undo that.
// Errors, which leave the file unchanged: those of edit, T501, T505, T508, T509, T904.
func EditOwn(ctx context.Context, wait Wait, opts Options, path string, perm fs.FileMode, edit func(old []byte) ([]byte, error)) (changed bool, undurable, err error) {
	disk := saferoot.Disk{}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return false, nil, disk.WriteFailed(err)
	}
	lock := filepath.Join(folder, OwnLock)
	unlock, err := lockfile.Acquire(ctx, lock, lockfile.Request{
		Policy: opts.Lock, Timeout: wait.Timeout, Jitter: opts.Jitter, Failed: disk.WriteFailed,
		Notify: func() {
			if wait.Notify != nil {
				wait.Notify(lock)
			}
		},
	})
	if err != nil {
		return false, nil, err
	}
	defer unlock()
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	old, perm, err := readOwn(disk, path, perm)
	if err != nil {
		return false, nil, err
	}
	data, err := edit(slices.Clone(old))
	if err != nil || old != nil && bytes.Equal(data, old) {
		return false, nil, err
	}
	if err := dropOwnTemporary(path); err != nil {
		return false, nil, disk.WriteFailed(err)
	}
	undurable, err = disk.ReplaceFile(path, data, perm)
	return err == nil, undurable, disk.WriteFailed(err)
}

// readOwn reads a file and its permissions; nil and perm if there is none.
func readOwn(disk saferoot.Disk, path string, perm fs.FileMode) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return nil, 0, codes.WriteFailed.New(fact.Of("path", path), fact.Of("reason", "it is a link without a target"))
		}
		return nil, perm, nil
	case err != nil:
		return nil, 0, disk.ReadFailed(err)
	case !info.Mode().IsRegular():
		return nil, 0, codes.WriteFailed.New(fact.Of("path", path), fact.Of("reason", "it is not a regular file"))
	case info.Size() > MaxFile:
		return nil, 0, content.TooLarge("A file", path, "")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, disk.ReadFailed(err)
	}
	return append([]byte{}, data...), info.Mode().Perm(), nil
}

// dropOwnTemporary removes what dead processes left of a file's new content, which may be
// secret.
func dropOwnTemporary(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+filepath.Base(path)) && atomicfile.Temporary(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(filepath.Dir(path), e.Name())))
		}
	}
	return err
}
