package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
)

// System is what the package needs from the process.
type System struct {
	// Program is the name or path of git; "" is git.
	Program string
	// Environ is the environment of the process.
	Environ []string

	durable bool // what it writes is on disk when it ends
}

// failure is an exit of git that a caller may expect.
type failure struct {
	command string // the words that say what git did
	status  int
	stderr  string
}

func (f *failure) Error() string {
	text := lastLine(f.stderr)
	if text == "" {
		text = "it ended with " + exitText(f.status)
	}
	return "git " + f.command + ": " + text
}

// exited returns the failure in an error and whether it has the exit status.
func exited(err error, status int) bool {
	var f *failure
	return errors.As(err, &f) && f.status == status
}

// killed reports whether an error says that a signal ended git.
func killed(err error) bool {
	var f *failure
	return errors.As(err, &f) && f.status < 0
}

// unavailable is T801.
func unavailable(cause error, reason string) *codes.Error {
	return codes.GitUnavailable.Wrap(cause, fact.Of("reason", reason))
}

// waitAfterStop is how long git has to remove its lock files once it is told to stop.
const waitAfterStop = 5 * time.Second

// command is one run of git.
type command struct {
	dir     string   // the working folder
	env     []string // beside that of every run
	stdin   []byte
	options []string // before the command's name
	args    []string
	files   []*os.File // that git inherits
}

// run runs git and returns its standard output. Errors: T801 if it cannot be started,
// T904, else a *failure.
func (s System) run(ctx context.Context, c command) ([]byte, error) {
	program := s.Program
	if program == "" {
		program = "git"
	}
	options := safeOptions()
	if s.durable {
		options = append(options, "-c", "core.fsync=objects,reference")
	}
	cmd := exec.CommandContext(ctx, program, append(append(options, c.options...), c.args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.dir, append(s.environ(), c.env...), waitAfterStop
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.stdin), &stdout, &stderr
	cmd.ExtraFiles = c.files
	external.StopAsGroup(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return stdout.Bytes(), nil
	case ctx.Err() != nil:
		return nil, codes.Interrupted.Wrap(context.Cause(ctx))
	case errors.Is(err, exec.ErrNotFound):
		return nil, unavailable(err, "the program git was not found")
	case !errors.As(err, &exit):
		return nil, unavailable(err, "git cannot be started: "+codes.Reason(err))
	}
	return stdout.Bytes(), &failure{c.args[0], exit.ExitCode(), stderr.String()}
}

// safeOptions are the settings of every run: no program of the repository's runs, no
// garbage collection begins, and answers are in one format.
func safeOptions() []string {
	return []string{
		"--literal-pathspecs", "--no-pager",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false", "-c", "core.editor=true",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "submodule.recurse=false",
		"-c", "commit.gpgSign=false", "-c", "merge.verifySignatures=false", "-c", "log.showSignature=false",
	}
}

// environ is the process's environment without what directs git elsewhere. What names
// the user and the user's own configuration stays.
func (s System) environ() []string {
	var env []string
	for _, entry := range s.Environ {
		name, _, _ := strings.Cut(entry, "=")
		if git := strings.HasPrefix(name, "GIT_"); !git || kept(name) {
			env = append(env, entry)
		}
	}
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1")
}

func kept(name string) bool {
	switch name {
	case "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_EXEC_PATH":
		return true
	}
	return strings.HasPrefix(name, "GIT_AUTHOR_") || strings.HasPrefix(name, "GIT_COMMITTER_")
}

// lastLine is the line that says why git failed: the last one of an error, else the last.
func lastLine(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for _, line := range lines {
		for _, prefix := range []string{"fatal: ", "error: "} {
			if text, ok := strings.CutPrefix(line, prefix); ok {
				return strings.ToValidUTF8(strings.TrimSpace(text), "?")
			}
		}
	}
	return strings.ToValidUTF8(strings.TrimSpace(lines[len(lines)-1]), "?")
}
