package saferoot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"leslie/codes"
	"leslie/internal/fact"
)

// Anything else in place of a file or a folder is never opened.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrNotFolder  = errors.New("not a folder")
)

// Damage is why a file is not as leslie wrote it. It is data for a warning or for T502,
// and never leaves the store as it is.
type Damage string

// Error says what is wrong with the file.
func (d Damage) Error() string { return string(d) }

// WriteFailed returns T505 for a failed step; it returns a coded error unchanged.
func (d Disk) WriteFailed(err error) error { return d.coded(codes.WriteFailed, err) }

// ReadFailed returns T509 for a file that exists and cannot be read; it returns a
// coded error unchanged. T509 says nothing about the file's content, so nothing is
// recovered because of it.
func (d Disk) ReadFailed(err error) error { return d.coded(codes.ReadFailed, err) }

func (d Disk) coded(code codes.Code, err error) error {
	if err == nil || codes.Of(err) != nil {
		return err
	}
	path, reason := d.split(err)
	return code.Wrap(err, fact.Of("path", path), fact.Of("reason", reason))
}

// Reason is the plain reason of an error, coded or not, for a text.
func (d Disk) Reason(err error) string {
	if e := codes.Of(err); e != nil && e.Unwrap() != nil {
		err = e.Unwrap()
	}
	_, reason := d.split(err)
	return reason
}

// split splits an error into the path, relative to the project if it is inside it, and
// the plain reason.
func (d Disk) split(err error) (path, reason string) {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		return d.Relative(pathErr.Path), Cause(pathErr.Err).Error()
	case errors.As(err, &linkErr):
		return d.Relative(linkErr.New), Cause(linkErr.Err).Error()
	}
	return Folder, err.Error()
}

// Cause is the innermost error of a chain of path errors.
func Cause(err error) error {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		return Cause(pathErr.Err)
	case errors.As(err, &linkErr):
		return Cause(linkErr.Err)
	}
	return err
}

// Relative is a path as answers show it: relative to the project's root, with "/".
func (d Disk) Relative(path string) string {
	if !filepath.IsAbs(path) {
		return filepath.ToSlash(path)
	}
	rel, err := filepath.Rel(d.Project, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(rel)
}

// Shown is a place in the store's folder as answers show it: relative to the project's
// root.
func Shown(rel string) string { return path.Join(Folder, rel) }

// CannotWrite returns T505 for a place in the store's folder; a coded error keeps its
// code.
func CannotWrite(rel string, err error) error { return coded(codes.WriteFailed, rel, err) }

// CannotRead returns T509 for a place in the store's folder; a coded error keeps its
// code.
func CannotRead(rel string, err error) error { return coded(codes.ReadFailed, rel, err) }

func coded(code codes.Code, rel string, err error) error {
	if err == nil || codes.Of(err) != nil {
		return err
	}
	return code.Wrap(err, fact.Of("path", Shown(rel)), fact.Of("reason", Cause(err).Error()))
}

// Uncertain reports whether an error leaves open whether a name exists. A name that
// leads out, or through something that is not a folder, has nothing of leslie's.
func Uncertain(err error) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) || errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return errno != syscall.ENOTDIR && errno != syscall.ELOOP && errno != syscall.ENAMETOOLONG
}

// Stopped returns T904 if a call was cancelled.
func Stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return codes.Interrupted.Wrap(context.Cause(ctx))
	}
	return nil
}
