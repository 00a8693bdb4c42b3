package harness

import (
	"os"
	"syscall"
)

// MemoryDir is a folder in memory for temporary files, "" where there is none
// that has room and may hold programs, or where TMPDIR names another.
func MemoryDir() string {
	const (
		folder = "/dev/shm"
		tmpfs  = 0x01021994
		noExec = 0x8
		enough = 512 << 20
	)
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(folder, &fs) != nil {
		return ""
	}
	if fs.Type != tmpfs || fs.Flags&noExec != 0 || fs.Bavail*uint64(fs.Bsize) < enough || syscall.Access(folder, 0x2) != nil {
		return ""
	}
	return folder
}
