package saferoot

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// OpenFlags are added to the flags of everything that is opened: here none.
const OpenFlags = 0

// openShared opens a file for reading without preventing others from replacing it,
// which os.Open does on Windows.
func openShared(path string) (*os.File, error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Open(filepath.Base(path))
}

// PlaceFault reports whether a call failed because of its own path: not a folder, a
// folder without permission, a file that is in use, a name that Windows does not
// accept.
func PlaceFault(err error) bool {
	const sharingViolation, invalidName, directory, nameTooLong = 32, 123, 267, 206
	var errno syscall.Errno
	return errors.As(err, &errno) && slices.Contains([]syscall.Errno{
		syscall.ERROR_ACCESS_DENIED, syscall.ERROR_PATH_NOT_FOUND, syscall.ERROR_DIR_NOT_EMPTY, syscall.EISDIR, syscall.ENOTDIR,
		syscall.ELOOP, sharingViolation, invalidName, directory, nameTooLong,
	}, errno)
}

// syncFolder does nothing: see atomicfile.SyncFolder.
func syncFolder(*os.Root, string) error { return nil }
