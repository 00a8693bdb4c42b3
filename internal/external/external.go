// Package external runs a command that resolves conflicts or validates a result:
// files in, files out, an exit status. The contract is small, so that anything can
// implement it: a script, a git mergetool, a coding agent.
//
// What belongs here: splitting a command line without a shell, running it in a fresh
// folder, ending it with its whole process group. Package merge checks the answers;
// the caller decides who may run what.
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

// Verdict is the meaning of a command's exit status.
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
	Dir     string   // the working folder
	Env     []string // the complete environment; nil: this process's own
	Timeout time.Duration
	Input   []byte // on its standard input
}

// Result is the result of a run.
type Result struct {
	Verdict Verdict
	Status  int
	// Tail is the end of the command's output, both streams, at most 4 KiB.
	Tail string
}

// waitAfterKill is how long the pipes of a killed group may stay open.
const waitAfterKill = 2 * time.Second

// Split splits a command line into words. Errors: T903 if it has no words or an
// unclosed quote.
func Split(command string) ([]string, error) {
	argv, err := shellquote.Split(command)
	if err != nil || len(argv) == 0 {
		return nil, codes.InvalidArgument.Wrap(err, fact.Of("reason", "the command "+quote(command)+" cannot be split into words"))
	}
	return argv, nil
}

// Word returns s quoted as one word of a POSIX shell.
func Word(s string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,:@%+=", r))
	}
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return quote(s)
}

// Line is words as one line for a POSIX shell.
func Line(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Word(word)
	}
	return strings.Join(quoted, " ")
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Run runs the job until it ends, or kills its process group at the timeout or when
// ctx ends. Errors: T903 for a command line that cannot be split, T701 if the command
// cannot be started, T702 if a signal killed it, T703 at the timeout, T904 if ctx
// ended.
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
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(job.Input), &tail, &tail
	ownGroup(cmd)
	late, kill := false, cmd.Cancel
	cmd.Cancel = func() error {
		late = true
		return kill()
	}
	switch err := cmd.Start(); {
	case err != nil && limited.Err() != nil: // the time was up before it started
		return judge(ctx, job, cmd, true, err, "")
	case err != nil:
		return Result{}, codes.AgentUnavailable.Wrap(err, fact.Of("command", argv[0]), fact.Of("reason", plain(err)))
	}
	err = cmd.Wait()
	endGroup(cmd)
	return judge(ctx, job, cmd, late, err, tail.String())
}

// judge returns the result of a command that ended by itself, or was killed because it
// was late. The time may also be up only after the command ended, while processes
// that it left behind kept its output open.
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

// tailWriter keeps the last tailBytes written to it.
type tailWriter struct{ buf []byte }

func (t *tailWriter) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = bytes.Clone(t.buf[over:])
	}
	return len(p), nil
}

func (t *tailWriter) String() string {
	return strings.ToValidUTF8(string(t.buf), "?") // never longer than before
}
