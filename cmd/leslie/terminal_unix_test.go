//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/gofrs/flock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// process returns leslie as a process in a project, with an environment without an
// agent's marker.
func process(t *testing.T, b *bench, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "leslie", args...)
	cmd.Dir = b.Dir
	cmd.Env = append([]string{"HOME=" + b.Home, "LOGNAME=kim", "PATH=" + os.Getenv("PATH")}, env...)
	return cmd
}

// onTerminal runs leslie with all three streams on a pseudo-terminal and returns what it
// wrote there and its exit status.
func onTerminal(t *testing.T, b *bench, env []string, args ...string) (string, int) {
	t.Helper()
	cmd := process(t, b, env, args...)
	terminal, wait := startOnTerminal(t, cmd, nil)
	defer terminal.Close()
	name := cmd.Stdout.(*os.File).Name()
	var out bytes.Buffer
	copied := make(chan error, 1)
	go func() { _, err := io.Copy(&out, terminal); copied <- err }()
	status := exitStatus(t, wait())
	select {
	case err := <-copied: // Linux answers EIO once the last process has left the terminal
		if err != nil && !errors.Is(err, syscall.EIO) {
			require.NoError(t, err)
		}
	case <-time.After(20 * time.Second):
		require.Fail(t, "a process stayed on the terminal", "leslie %s ended with %d; still there: %v", strings.Join(args, " "), status, processesWith(name))
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), status
}

// startOnTerminal starts a process on a new pseudo-terminal, nil for one without a size, and
// returns what somebody who sits there has, and what waits for the process. The terminal is
// held until the process has ended and closed then, so that a reader gets the end from that:
// once Linux did not tell the end to a reader when the process itself was the last to close
// it, and the reader waited for ever.
func startOnTerminal(t *testing.T, cmd *exec.Cmd, size *pty.Winsize) (terminal *os.File, wait func() error) {
	t.Helper()
	terminal, tty, err := pty.Open()
	require.NoError(t, err)
	if size != nil {
		require.NoError(t, pty.Setsize(terminal, size))
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		_ = tty.Close()
		ended <- err
	}()
	return terminal, sync.OnceValue(func() error { return <-ended })
}

// processesWith returns the command lines of the processes that have a file open, as far as
// the system says.
func processesWith(name string) (lines []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == name {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(link)), "cmdline"))
			lines = append(lines, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return slices.Compact(lines)
}

// interrupt types Ctrl-C. A terminal sends the signal first and then drops unread output,
// which may be the answer; this one drops nothing.
func interrupt(t *testing.T, terminal *os.File) {
	t.Helper()
	keep := exec.Command("stty", "noflsh")
	keep.Stdin = terminal
	require.NoError(t, keep.Run())
	_, err := io.WriteString(terminal, "\x03")
	require.NoError(t, err)
}

func exitStatus(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	require.NoError(t, err)
	return 0
}

func TestJSONIsIndentedOnATerminalAndCompactElsewhere(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	shown, status := onTerminal(t, b, nil, "status", "--format", "json")
	assert.Zero(t, status)
	assert.True(t, strings.HasPrefix(shown, "{\n  \"success\": true,\n"), shown)
	piped, err := process(t, b, nil, "status", "--format", "json").Output()
	require.NoError(t, err)
	assert.Equal(t, 1, bytes.Count(piped, []byte("\n")))
	assert.Equal(t, document(t, []byte(shown)), document(t, piped), "both say the same")
}

func TestColourOnlyOnATerminal(t *testing.T) {
	t.Parallel()
	const colour = "\x1b[38;5;131merror\x1b[0m"
	tests := []struct {
		name     string
		terminal bool
		env      []string
		args     []string
		want     bool
	}{
		{"terminal", true, nil, nil, true},
		{"terminal, NO_COLOR", true, []string{"NO_COLOR=1"}, nil, false},
		{"terminal, NO_COLOR empty", true, []string{"NO_COLOR="}, nil, true},
		{"terminal, never", true, nil, []string{"--color", "never"}, false},
		{"terminal, always over NO_COLOR", true, []string{"NO_COLOR=1"}, []string{"--color", "always"}, true},
		{"pipe", false, nil, nil, false},
		{"pipe, always", false, nil, []string{"--color", "always"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			args := append([]string{"status", "thread-xyz"}, tt.args...)
			var said string
			if tt.terminal {
				said, _ = onTerminal(t, b, tt.env, args...)
			} else {
				var stderr bytes.Buffer
				cmd := process(t, b, tt.env, args...)
				cmd.Stderr = &stderr
				assert.Equal(t, 11, exitStatus(t, cmd.Run()))
				said = stderr.String()
			}
			assert.Equal(t, tt.want, strings.Contains(said, colour), "%q", said)
			assert.Equal(t, tt.want, strings.Contains(said, "\x1b"), "%q", said)
		})
	}
}

func TestADiffIsColouredAndHarmlessOnATerminalOnly(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.write(t, ".leslie/threads/part/new.md", "\tone\x1b[2J\n")
	shown, status := onTerminal(t, b, nil, "diff", "part", "--", "new.md")
	assert.Zero(t, status)
	assert.Contains(t, shown, "\x1b[38;5;63m@@ -0,0 +1 @@\x1b[0m\n")
	assert.Contains(t, shown, "\x1b[38;5;29m+\tone\\x1b[2J\x1b[0m\n", "tabs stay, escapes do not")
	plain, _ := onTerminal(t, b, []string{"NO_COLOR=1"}, "diff", "part", "--", "new.md")
	assert.Contains(t, plain, "\n+\tone\\x1b[2J\n")
	piped, err := process(t, b, nil, "diff", "part", "--", "new.md").Output()
	require.NoError(t, err)
	assert.Contains(t, string(piped), "\n+\tone\x1b[2J\n", "byte by byte, for git apply")
	content, _ := onTerminal(t, b, nil, "show", "part:new.md")
	assert.Equal(t, "\tone\\x1b[2J\n", content)
}

// TestNoCommandWaitsForSomebodyWhoIsNotThere: agents run commands on pseudo-terminals,
// too.
func TestNoCommandWaitsForSomebodyWhoIsNotThere(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands().All() {
		t.Run(cmd.Name, func(t *testing.T) {
			t.Parallel()
			b, ref := readyFor(t, cmd.Name)
			for _, argv := range [][]string{examples()[cmd.Name].fails, cmd.Path(), examples()[cmd.Name].works} {
				shown, status := onTerminal(t, b, []string{"CLAUDECODE=1"}, withRef(argv, ref)...)
				assert.GreaterOrEqual(t, status, 0, "it did not end by itself: %s", shown)
			}
		})
	}
}

// TestASignalEndsTheWaitForTheLock: the process reports what it waits for, so the test
// knows when to interrupt it.
func TestASignalEndsTheWaitForTheLock(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			lock := flock.New(filepath.Join(b.Dir, ".leslie/thread_relations.json.lock"))
			held, err := lock.TryLock()
			require.NoError(t, err)
			require.True(t, held)
			defer func() { _ = lock.Unlock() }()
			cmd := process(t, b, nil, "done", "main", "--format", "json")
			var out bytes.Buffer
			cmd.Stdout = &out
			stderr, err := cmd.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			said := make([]byte, len("leslie: waiting for the lock"))
			_, err = io.ReadFull(stderr, said)
			require.NoError(t, err)
			assert.Equal(t, "leslie: waiting for the lock", string(said))
			require.NoError(t, cmd.Process.Signal(signal))
			_, _ = io.Copy(io.Discard, stderr)
			assert.Equal(t, 130, exitStatus(t, cmd.Wait()))
			a := document(t, out.Bytes())
			assert.Equal(t, "T904", a.Error.Code)
			assert.Equal(t, false, a.Error.Details["changed"])
		})
	}
}
