//go:build !windows

package store

import (
	"errors"
	"os"
	"slices"
	"syscall"
)

// openShared opens a file for reading without preventing others from replacing it.
func openShared(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|openCareful, 0) }

// placeFault reports whether a call failed because of its own path: not a folder, a
// folder without permission, a name that the file system does not accept.
func placeFault(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && slices.Contains([]syscall.Errno{
		syscall.ENAMETOOLONG, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENOTEMPTY,
		syscall.EACCES, syscall.EPERM, syscall.EINVAL, syscall.EILSEQ, syscall.EXDEV, syscall.EBUSY,
	}, errno)
}
