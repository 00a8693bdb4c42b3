package main

import (
	"context"
	"io"
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

// notify starts the command in a process of its own. A failure changes nothing.
func (e env) notify(command, dir string, event []byte) {
	if e.program != "" {
		_ = external.Start([]string{e.program, notifyWord, command}, dir, e.environ(), event)
	}
}

// superviseNotification runs the command with the event that standard input has.
func superviseNotification(ctx context.Context, e env, command string, timeout time.Duration) (external.Result, error) {
	event, err := io.ReadAll(io.LimitReader(e.stdin, external.MaxInput))
	if err != nil {
		return external.Result{}, err
	}
	return external.Run(ctx, external.Job{Command: command, Dir: e.dir, Env: e.environ(), Timeout: timeout, Input: event})
}
