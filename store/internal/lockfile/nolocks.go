package lockfile

import (
	"errors"
	"path/filepath"
	"syscall"

	"leslie/codes"
	"leslie/internal/fact"
)

// NoLocks returns T505 that says so where a lock was refused because the file system has none, as some
// network file systems and volumes of containers; any other error unchanged.
func NoLocks(path string, err error) error {
	for _, none := range []error{syscall.ENOLCK, syscall.EOPNOTSUPP, syscall.ENOTSUP, syscall.ENOSYS, syscall.EBADF} {
		if !errors.Is(err, none) {
			continue
		}
		dir := filepath.Dir(path)
		reason := "the file system of " + dir + " has no locks"
		if name := fileSystem(dir); name != "" {
			reason += " (" + name + ")"
		}
		return codes.WriteFailed.Wrap(err, fact.Of("path", path), fact.Of("reason", reason)).
			WithHint("Without locks two processes would write at once: keep the project on a local disk, or mount that file system with locks").
			WithNext("leslie help topics reliability")
	}
	return err
}
