package store

import (
	"os"
	"path/filepath"
)

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
