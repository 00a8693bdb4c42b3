//go:build !windows

package store

import "os"

func syncFolder(path string) error {
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

// replaceName gives a file another's name, whoever reads that one.
func replaceName(from, to string) error { return os.Rename(from, to) }

// openShared opens a file for reading without keeping anybody from replacing it.
func openShared(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|openCareful, 0) }
