package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// version is set when a release is built (-ldflags "-X main.version=...").
var version = "dev"

func main() {
	// The store's system calls stay on one thread, so that a trace or an
	// injected fault counts them in order.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], processEnv())
	stop()
	os.Exit(status)
}
