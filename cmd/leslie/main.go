package main

import (
	"os"
	"runtime"

	"leslie/cmd/leslie/internal/cli"
)

// version is set when a release is built (-ldflags "-X main.version=...").
var version = cli.Unversioned

func main() {
	// Do this first of all, on the process's first thread: the system calls of a command
	// that writes stay on it, so that a trace or an injected fault counts them in order.
	// See tuneProcess. After a system call, it could be another thread.
	runtime.LockOSThread()
	os.Exit(runProcess(processEnv()))
}

// runProcess runs the process's own call and returns its exit status.
func runProcess(e cli.Env) int {
	ctx := &cli.Interruptible{}
	if len(os.Args) == 3 && os.Args[1] == cli.NotifyWord {
		_, _ = cli.SuperviseNotification(ctx, e, os.Args[2], cli.NotifyTimeout)
		return 0
	}
	defer ctx.Release()
	return cli.Run(ctx, os.Args[1:], e)
}
