package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// endLooks is how often leftover processes are looked for, endPause apart: each may have started
	// others, and one that was killed is gone only once the system has ended it.
	endLooks = 400
	endPause = 5 * time.Millisecond
)

// endMarked kills the processes whose environment has some entries, waits until they are gone, and
// returns how many it found. A process that runs as somebody else cannot be looked at.
func endMarked(entries []string) (found int) {
	seen := map[int]bool{}
	for range endLooks {
		more := false
		for _, pid := range marked(entries) {
			if pid == os.Getpid() {
				continue
			}
			more = true
			seen[pid] = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if !more {
			break
		}
		time.Sleep(endPause)
	}
	return len(seen)
}

// marked returns the ids of the living processes whose environment has these entries.
func marked(entries []string) (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		env, err := os.ReadFile(name)
		all := strings.Split(string(env), "\x00")
		if err != nil || slices.ContainsFunc(entries, func(e string) bool { return !slices.Contains(all, e) }) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
