//go:build !windows

package git

import "syscall"

// Writable reports whether the process may make names in a folder.
func Writable(dir string) bool {
	const write, search = 2, 1
	return syscall.Access(dir, write|search) == nil
}
