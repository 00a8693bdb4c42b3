//go:build !windows

package atomicfile

import (
	"io/fs"
	"os"

	"github.com/google/renameio/v2"
)

// File is the new content of a file, until Replace gives it the name.
type File struct{ *renameio.PendingFile }

// New begins the new content of the file at path, under a temporary name in the
// folder temp, which lies in the same file system. The umask applies to perm.
func New(temp, path string, perm fs.FileMode) (*File, error) {
	// Without WithTempDir renameio tries $TMPDIR, and leaves what it tried there.
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(temp), renameio.WithPermissions(perm))
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// Replace has the content on disk and gives it the name. The name itself is on
// disk after SyncFolder of its folder.
func (f *File) Replace() error { return f.CloseAtomicallyReplace() }

// Rename gives a file another's name, whoever reads that one.
func Rename(from, to string) error { return os.Rename(from, to) }

// SyncFolder has the names in a folder on disk.
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
