package store

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange has two folders change their names, at once where the file system can.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return exchangeByThree(a, b)
	}
	return err
}
