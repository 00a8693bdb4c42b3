package main

import (
	"os"
	"runtime"
)

// version is set when a release is built (-ldflags "-X main.version=...").
var version = unversioned

func main() { os.Exit(runProcess(processEnv())) }

// runProcess runs the process's own call and returns its exit status.
func runProcess(e env) int {
	// Do this first, on the process's first thread: the system calls of a command that
	// writes stay on it, so that a trace or an injected fault counts them in order.
	// See readyProcess.
	runtime.LockOSThread()
	ctx := &interruptible{}
	if len(os.Args) == 3 && os.Args[1] == notifyWord {
		_, _ = superviseNotification(ctx, e, os.Args[2], notifyTimeout)
		return 0
	}
	defer ctx.release()
	return run(ctx, os.Args[1:], e)
}
