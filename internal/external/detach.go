package external

import (
	"os"
	"os/exec"

	"leslie/codes"
	"leslie/internal/fact"
)

// MaxInput is how long the input of Start may be, in bytes: a pipe holds it without a
// reader.
const MaxInput = 8 << 10

// Start starts a program in its own process group with an input, and does not wait for
// it; its output is discarded. Errors: T508 for a longer input than MaxInput, T701 if the
// program cannot be started.
func Start(argv []string, dir string, env []string, input []byte) error {
	if len(input) > MaxInput {
		return codes.TooLarge.New(fact.Of("what", "the input of "+argv[0]), fact.Of("limit", "8 KiB"))
	}
	unavailable := func(err error) error {
		return codes.AgentUnavailable.Wrap(err, fact.Of("command", argv[0]), fact.Of("reason", plain(err)))
	}
	in, out, err := os.Pipe()
	if err != nil {
		return unavailable(err)
	}
	defer in.Close()
	defer out.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, env, in
	ownSession(cmd)
	if err := cmd.Start(); err != nil {
		return unavailable(err)
	}
	_, _ = out.Write(input) // a program that does not read has ended
	return cmd.Process.Release()
}

// Detach starts a program in a session of its own, without input, so that it goes on when
// the terminal or the caller has gone. What it prints is added to a file that only its
// owner can read. ended is closed when it has ended, as long as this process lives.
// Errors: T505 for the file, T701 if the program cannot be started.
func Detach(argv []string, dir string, env []string, log string) (ended <-chan struct{}, err error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, codes.WriteFailed.OfPath(log, err)
	}
	defer out.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, out, out
	ownSession(cmd)
	if err := cmd.Start(); err != nil {
		return nil, codes.AgentUnavailable.Wrap(err, fact.Of("command", argv[0]), fact.Of("reason", plain(err)))
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	return done, nil
}
