//go:build !windows

package store

import (
	"io/fs"
	"os"
	"syscall"
)

// trusted reports whether a folder belongs to the caller or to root. root
// trusts everybody.
func trusted(info fs.FileInfo) bool { return belongs(info, os.Geteuid()) }

func belongs(info fs.FileInfo, me int) bool {
	sys, ok := info.Sys().(*syscall.Stat_t)
	return ok && (me == 0 || sys.Uid == 0 || int(sys.Uid) == me)
}

// sameGround reports whether the search upwards from start may continue at dir: on the
// same file system, in a folder of the caller or of root.
func sameGround(start, dir string) bool {
	a, errA := os.Stat(start)
	b, errB := os.Stat(dir)
	if errA != nil || errB != nil {
		return false
	}
	x, okX := a.Sys().(*syscall.Stat_t)
	y, okY := b.Sys().(*syscall.Stat_t)
	return okX && okY && x.Dev == y.Dev && trusted(b)
}
