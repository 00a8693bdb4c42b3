package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// openShared opens a file for reading without keeping anybody from replacing it,
// which os.Open does on Windows.
func openShared(path string) (*os.File, error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Open(filepath.Base(path))
}

// placeFault reports whether a call failed by what stands in the place that it names:
// no folder, one that is closed, a file that is in use, a name that Windows does not
// take.
func placeFault(err error) bool {
	const sharingViolation, invalidName, directory, nameTooLong = 32, 123, 267, 206
	var errno syscall.Errno
	return errors.As(err, &errno) && slices.Contains([]syscall.Errno{
		syscall.ERROR_ACCESS_DENIED, syscall.ERROR_PATH_NOT_FOUND, syscall.ERROR_DIR_NOT_EMPTY, syscall.EISDIR, syscall.ENOTDIR,
		syscall.ELOOP, sharingViolation, invalidName, directory, nameTooLong,
	}, errno)
}
