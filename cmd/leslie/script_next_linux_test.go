package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"leslie/cmd/leslie/internal/cli"
)

// othersWork reports whether a process works in one of these folders, where the next lines of
// an error are not run. One that tells what begins to wait is about to end: it is waited for.
func othersWork(folders []string) bool {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		pid, _ := strconv.Atoi(filepath.Base(process))
		dir, err := os.Readlink(filepath.Join(process, "cwd"))
		if err != nil || pid == os.Getpid() || !within(dir, folders) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		if argv := strings.Split(string(line), "\x00"); len(argv) < 2 || argv[1] != cli.NotifyWord {
			return true
		}
		ended, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // it has ended
		}
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(ended), Events: unix.POLLIN}}, int(2*cli.NotifyTimeout.Milliseconds()))
		_ = unix.Close(ended)
		if err != nil {
			return true
		}
	}
	return false
}
