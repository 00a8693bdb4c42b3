package scan

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when the system last saw a change of a file: of its content, its
// times or its rights.
func changeTime(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(stat.Ctimespec.Unix()).UTC()
	}
	return time.Time{}
}
