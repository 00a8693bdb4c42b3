//go:build !windows

package store

import (
	"errors"
	"os"
	"slices"
	"syscall"
)

// openShared opens a file for reading without keeping anybody from replacing it.
func openShared(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|openCareful, 0) }

// placeFault reports whether a call failed by what stands in the place that it names:
// no folder, one that is closed, a name that the file system does not take.
func placeFault(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && slices.Contains([]syscall.Errno{
		syscall.ENAMETOOLONG, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENOTEMPTY,
		syscall.EACCES, syscall.EPERM, syscall.EINVAL, syscall.EILSEQ, syscall.EXDEV, syscall.EBUSY,
	}, errno)
}
