//go:build !windows

package store

import "os"

// removeHeld: a file may be removed while this process has it open and locked, so
// nobody can lock it in between.
const removeHeld = true

func syncInside(root *os.Root, rel string) error {
	f, err := root.OpenFile(rel, os.O_RDONLY|openCareful, 0)
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
