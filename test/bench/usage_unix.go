//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peak returns the peak memory of an ended process in bytes. The kernel starts counting
// at what its parent held.
func peak(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin" || runtime.GOOS == "ios":
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}

// flushDisks waits until all written data is on disk.
func flushDisks() { syscall.Sync() }
