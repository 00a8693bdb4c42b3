package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is the new content of a file, until Replace gives it the name.
type File struct {
	*os.File
	path string
	done bool
}

// New begins the new content of the file at path, under a temporary name in the
// folder temp, which lies in the same file system. Windows has no permission bits.
func New(temp, path string, _ fs.FileMode) (*File, error) {
	f, err := os.CreateTemp(temp, "."+filepath.Base(path)+strings.Repeat("0", fewestDigits)+"*")
	if err != nil {
		return nil, err
	}
	return &File{File: f, path: path}, nil
}

// Replace has the content on disk and gives it the name. The fallback: Windows
// cannot flush a folder, so a power cut may take the name back until its file
// system has written its own journal.
func (f *File) Replace() error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := Rename(f.Name(), f.path); err != nil {
		return err
	}
	f.done = true
	return nil
}

// Cleanup removes the temporary file, unless it has replaced the other.
func (f *File) Cleanup() error {
	if f.done {
		return nil
	}
	f.done = true
	_ = f.Close() // it may be closed already
	return os.Remove(f.Name())
}

// Rename gives a file another's name, whoever reads that one: through an open
// folder Windows replaces a name as POSIX has it, by a path it does not.
func Rename(from, to string) error {
	if filepath.Dir(from) != filepath.Dir(to) {
		return os.Rename(from, to)
	}
	dir, err := os.OpenRoot(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Rename(filepath.Base(from), filepath.Base(to))
}

// SyncFolder does nothing: Windows has no way to flush a folder, and its file
// systems journal their names.
func SyncFolder(string) error { return nil }
