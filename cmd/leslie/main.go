package main

import (
	"os"
	"runtime"
)

// version is set when a release is built (-ldflags "-X main.version=...").
var version = unversioned

func main() {
	// Do this first, on the process's first thread: the system calls of a command that
	// writes stay on it, so that a trace or an injected fault counts them in order.
	// See readyProcess.
	runtime.LockOSThread()
	ctx := &interruptible{}
	if len(os.Args) == 3 && os.Args[1] == notifyWord {
		_, _ = superviseNotification(ctx, processEnv(), os.Args[2], notifyTimeout)
		os.Exit(0)
	}
	status := run(ctx, os.Args[1:], processEnv())
	ctx.release()
	os.Exit(status)
}
