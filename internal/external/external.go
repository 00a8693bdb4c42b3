// Package agent runs a command that resolves conflicts or validates a result:
// files in, files out, an exit status. It is a tiny contract, so that anything
// can serve: a script, a git mergetool, a coding agent.
//
// What belongs here: splitting a command line without a shell, running it in a
// fresh folder, ending it with its whole process group. What an answer is worth
// is judged in package merge; who may run what is decided by the caller.
package external

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	shellquote "github.com/kballard/go-shellquote"

	"leslie/codes"
	"leslie/internal/fact"
)

// Verdict is what a command said with its exit status.
type Verdict int

// The verdicts.
const (
	Done     Verdict = iota // 0
	Declined                // 1
	TryAgain                // 75
	Failed                  // anything else
)

// Job is one run of a command.
type Job struct {
	Command string   // split by shell quoting rules, run without a shell
	Dir     string   // the folder it runs in
	Env     []string // all of it; nil is this process's own
	Timeout time.Duration
}

// Result is what became of a run.
type Result struct {
	Verdict Verdict
	Status  int
	// Tail is the end of what the command wrote, both streams, at most 4 KiB.
	Tail string
}

// waitAfterKill is how long a killed group's pipes may stay open.
const waitAfterKill = 2 * time.Second

// Split takes a command line apart. Errors: T903 for one that has no words or an
// open quote.
func Split(command string) ([]string, error) {
	argv, err := shellquote.Split(command)
	if err != nil || len(argv) == 0 {
		return nil, codes.InvalidArgument.Wrap(err, fact.Of("reason", "the command "+quote(command)+" cannot be split into words"))
	}
	return argv, nil
}

// Word is s as one word of a POSIX shell.
func Word(s string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,:@%+=", r))
	}
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return quote(s)
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Run runs the job to its end, or ends its process group at the timeout or when
// ctx ends. Errors: T903 for a command line that cannot be split, T701 when it
// cannot be started, T702 when it was killed by a signal, T703 at the timeout,
// T904 when ctx ended.
func Run(ctx context.Context, job Job) (Result, error) {
	argv, err := Split(job.Command)
	if err != nil {
		return Result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, job.Timeout)
	defer cancel()
	var tail tailWriter
	cmd := exec.CommandContext(limited, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = job.Dir, job.Env, waitAfterKill
	cmd.Stdout, cmd.Stderr = &tail, &tail
	ownGroup(cmd)
	late, kill := false, cmd.Cancel
	cmd.Cancel = func() error {
		late = true
		return kill()
	}
	switch err := cmd.Start(); {
	case err != nil && limited.Err() != nil: // it was over before it began
		return judge(ctx, job, cmd, true, err, "")
	case err != nil:
		return Result{}, codes.AgentUnavailable.Wrap(err, fact.Of("command", argv[0]), fact.Of("reason", plain(err)))
	}
	err = cmd.Wait()
	endGroup(cmd)
	return judge(ctx, job, cmd, late, err, tail.String())
}

// judge is the result of a command that ended by itself, or was late and killed for
// that. Its time may well be up only after it ended, while what it left behind held
// its output open.
func judge(ctx context.Context, job Job, cmd *exec.Cmd, late bool, err error, tail string) (Result, error) {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return Result{}, codes.Interrupted.Wrap(context.Cause(ctx))
	case late:
		return Result{Tail: tail}, codes.AgentTimeout.Wrap(context.DeadlineExceeded, fact.Of("duration", job.Timeout))
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		return Result{Tail: tail}, codes.AgentConnection.Wrap(err, fact.Of("reason", plain(err)))
	case cmd.ProcessState.ExitCode() < 0:
		return Result{Tail: tail}, codes.AgentConnection.New(fact.Of("reason", cmd.ProcessState.String()))
	}
	status := cmd.ProcessState.ExitCode()
	return Result{Verdict: verdict(status), Status: status, Tail: tail}, nil
}

func verdict(status int) Verdict {
	switch status {
	case 0:
		return Done
	case 1:
		return Declined
	case 75:
		return TryAgain
	}
	return Failed
}

func plain(err error) string {
	var e *exec.Error
	if errors.As(err, &e) {
		return e.Err.Error()
	}
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// tailBytes is how much of a command's output is kept.
const tailBytes = 4 << 10

// tailWriter keeps the end of what is written to it.
type tailWriter struct{ buf []byte }

func (t *tailWriter) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = bytes.Clone(t.buf[over:])
	}
	return len(p), nil
}

func (t *tailWriter) String() string {
	return strings.ToValidUTF8(string(t.buf), "?") // no longer than it was
}
