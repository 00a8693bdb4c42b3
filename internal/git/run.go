package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
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
	// without are settings of every run: programs of the repository's own that git-lfs would
	// run to download, left out.
	without []setting
}

// setting is a key of git's configuration with a value for one run.
type setting struct{ key, value string }

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
	with    []setting
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
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.dir, slices.Concat(s.environ(), c.env, settingsAsEnv(slices.Concat(s.without, c.with))), waitAfterStop
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

// settingsAsEnv names settings in the environment, where a key may have any character.
func settingsAsEnv(all []setting) []string {
	if len(all) == 0 {
		return nil
	}
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(all))}
	for i, s := range all {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return env
}

// value returns a variable of the process, "" if it has none of the name.
func (s System) value(name string) (value string) {
	for _, entry := range s.Environ {
		if text, ok := strings.CutPrefix(entry, name+"="); ok {
			value = text
		}
	}
	return value
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
	case "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_EXEC_PATH", "GIT_LFS_SKIP_SMUDGE":
		return true
	}
	return strings.HasPrefix(name, "GIT_AUTHOR_") || strings.HasPrefix(name, "GIT_COMMITTER_")
}

// lfsMissing begins what git-lfs says of content that is neither here nor can be fetched.
const lfsMissing = "Error downloading object: "

// lastLine is the line that says why git failed: the last one of an error, else the last.
func lastLine(stderr string) string {
	if name, denied := missingProgram(stderr); name != "" {
		reason := "the program " + name + ", which git's configuration names, is not installed"
		if denied {
			reason += ", or may not be run"
		}
		return reason
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	prefixes := []string{"fatal: ", "error: "}
	if strings.Contains(stderr, lfsMissing) {
		prefixes = []string{lfsMissing}
	}
	for _, line := range lines {
		for _, prefix := range prefixes {
			if text, ok := strings.CutPrefix(line, prefix); ok {
				if prefix == lfsMissing {
					text = "git-lfs has no content of " + text
				}
				return strings.ToValidUTF8(strings.TrimSpace(text), "?")
			}
		}
	}
	return strings.ToValidUTF8(strings.TrimSpace(lines[len(lines)-1]), "?")
}

// missingProgram returns the program that the shell of git's filters did not find ("LINE: 1:
// NAME: not found"), "" if that was not it. denied says that the shell was not allowed to run
// it, or to look into a folder of PATH.
func missingProgram(stderr string) (name string, denied bool) {
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		line, ok := strings.CutSuffix(line, "not found")
		if !ok {
			line, ok = strings.CutSuffix(line, "Permission denied")
			denied = ok
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "command "), ": ")
		at := strings.LastIndex(line, ": ")
		if !ok || at < 1 || line[at-1] < '0' || line[at-1] > '9' {
			continue
		}
		if name := line[at+2:]; name != "" && !strings.ContainsFunc(name, odd) {
			return name, denied
		}
	}
	return "", false
}

// odd reports whether a rune is in no usual name of a program.
func odd(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune("'\"`$&|;<>()*?[]{}~!#\\", r)
}
