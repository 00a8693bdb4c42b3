//go:build !windows

package atomicfile

import (
	"io/fs"
	"os"

	"github.com/google/renameio/v2"
)

// File is the new content of a file, until Replace gives it the name.
type File struct{ *renameio.PendingFile }

// New creates a file for the new content of path, under a temporary name in the folder
// temp, which must be in the same file system. The umask applies to perm.
func New(temp, path string, perm fs.FileMode) (*File, error) {
	// Without WithTempDir renameio tries $TMPDIR, and leaves a file there.
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(temp), renameio.WithPermissions(perm))
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// Replace flushes the content to disk and renames the file to path. The name itself is on
// disk after SyncFolder of its folder.
func (f *File) Replace() error { return f.CloseAtomicallyReplace() }

// Rename renames a file over another, which may be open.
func Rename(from, to string) error { return os.Rename(from, to) }

// SyncFolder flushes the names in a folder to disk.
func SyncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
