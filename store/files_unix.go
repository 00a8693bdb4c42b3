//go:build !windows

package store

import "os"

// openShared opens a file for reading without keeping anybody from replacing it.
func openShared(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|openCareful, 0) }
