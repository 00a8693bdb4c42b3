package store

import (
	"os"
	"path/filepath"
)

// syncFolder does nothing: Windows has no way to flush a folder, and its file
// systems journal their names.
func syncFolder(string) error { return nil }

// replaceName gives a file another's name, whoever reads that one: through an open
// folder Windows replaces a name as POSIX has it, by a path it does not.
func replaceName(from, to string) error {
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
