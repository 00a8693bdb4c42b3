//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peak is the most memory that an ended process held, in bytes. The kernel
// begins to count with what its parent held, so that is the least it can be.
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

// flushDisks has on disk whatever was written.
func flushDisks() { syscall.Sync() }
