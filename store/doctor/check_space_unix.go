//go:build linux || darwin

package doctor

import "syscall"

// spaceOf asks the system what the disk of a folder has left.
func spaceOf(dir string) (space, bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return space{}, false
	}
	left := space{free: s.Bavail * uint64(s.Bsize), files: s.Ffree}
	if s.Files == 0 { // as btrfs says
		left.files = noLimit
	}
	return left, true
}
