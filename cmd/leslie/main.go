package main

import "os"

// version is set when a release is built (-ldflags "-X main.version=...").
var version = "dev"

func main() {
	ctx := &interruptible{}
	status := run(ctx, os.Args[1:], processEnv())
	ctx.release()
	os.Exit(status)
}
