package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// endRounds is how often leftover processes are looked for: each may have started others.
const endRounds = 5

// endMarked kills the processes whose environment has an entry, and returns how many it
// found. A process that runs as somebody else cannot be looked at.
func endMarked(entry string) (found int) {
	seen := map[int]bool{}
	for range endRounds {
		more := false
		for _, pid := range marked(entry) {
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
	}
	return len(seen)
}

// marked returns the ids of the living processes whose environment has an entry.
func marked(entry string) (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		env, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+entry+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
