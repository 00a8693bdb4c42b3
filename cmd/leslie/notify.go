package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"leslie/internal/external"
)

// This file runs the command that tells the user what begins to wait for them. leslie does
// not wait for it: a second process of leslie starts the command and ends it in time.

const (
	// notifyWord is the first argument of that process; the command is the second.
	notifyWord = "__notify"
	// notifyTimeout is how long the command may run.
	notifyTimeout = 5 * time.Second
)

// notify starts the command in a process of its own, which is no part of an agent's run:
// it goes on when that has ended. A failure changes nothing.
func (e env) notify(command, dir string, event []byte) {
	if e.program == "" {
		return
	}
	own := slices.DeleteFunc(slices.Clone(e.environ()), func(entry string) bool { return strings.HasPrefix(entry, "LESLIE_RUN=") })
	_ = external.Start([]string{e.program, notifyWord, command}, dir, own, event)
}

// superviseNotification runs the command with the event that standard input has.
func superviseNotification(ctx context.Context, e env, command string, timeout time.Duration) (external.Result, error) {
	event, err := io.ReadAll(io.LimitReader(e.stdin, external.MaxInput))
	if err != nil {
		return external.Result{}, err
	}
	return external.Run(ctx, external.Job{Command: command, Dir: e.dir, Env: e.environ(), Timeout: timeout, Input: event})
}
