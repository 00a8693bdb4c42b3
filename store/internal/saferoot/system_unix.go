//go:build !windows

package saferoot

import (
	"errors"
	"os"
	"slices"
	"syscall"
)

// OpenFlags are added to the flags of everything that is opened: neither a link nor a
// pipe gets in the way.
const OpenFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_CLOEXEC

// openShared opens a file for reading without preventing others from replacing it.
func openShared(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|OpenFlags, 0) }

// PlaceFault reports whether a call failed because of its own path: not a folder, a
// folder without permission, a name that the file system does not accept.
func PlaceFault(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && slices.Contains([]syscall.Errno{
		syscall.ENAMETOOLONG, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENOTEMPTY,
		syscall.EACCES, syscall.EPERM, syscall.EINVAL, syscall.EILSEQ, syscall.EXDEV, syscall.EBUSY,
	}, errno)
}

func syncFolder(root *os.Root, rel string) error {
	f, err := root.OpenFile(rel, os.O_RDONLY|OpenFlags, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
