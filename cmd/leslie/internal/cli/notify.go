package cli

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
	// NotifyWord is the first argument of that process; the command is the second.
	NotifyWord = "__notify"
	// NotifyTimeout is how long the command may run.
	NotifyTimeout = 5 * time.Second
)

// notify starts the command in a process of its own, which is no part of an agent's run:
// it goes on when that has ended. A failure changes nothing.
func (e Env) notify(command, dir string, event []byte) {
	if e.Program == "" {
		return
	}
	own := slices.DeleteFunc(slices.Clone(e.Environ()),
		func(entry string) bool { return strings.HasPrefix(entry, "LESLIE_RUN=") })
	_ = external.Start([]string{e.Program, NotifyWord, command}, dir, own, event)
}

// SuperviseNotification runs the command with the event that standard input has.
func SuperviseNotification(ctx context.Context, e Env, command string, timeout time.Duration) (external.Result, error) {
	event, err := io.ReadAll(io.LimitReader(e.Stdin, external.MaxInput))
	if err != nil {
		return external.Result{}, err
	}
	return external.Run(ctx, external.Job{Command: command, Dir: e.Dir, Env: e.Environ(), Timeout: timeout,
		Input: event})
}
