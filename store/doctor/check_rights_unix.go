//go:build !windows

package doctor

import "syscall"

// mayWrite reports whether the caller may write a file, or create names in a folder.
func mayWrite(path string) bool {
	const write = 2 // W_OK
	return syscall.Access(path, write) == nil
}
