//go:build !windows

package external_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/test/harness"
)

// script returns a job that runs a shell script.
func script(t testing.TB, text string) external.Job {
	t.Helper()
	name := filepath.Join(t.TempDir(), "an agent")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return external.Job{Command: "/bin/sh '" + name + "'", Dir: t.TempDir(), Timeout: time.Minute}
}

func requireCode(t testing.TB, code codes.Code, err error) *codes.Error {
	t.Helper()
	require.Error(t, err)
	require.True(t, codes.Has(err, code), "want %s, got %v", code, err)
	return codes.Of(err)
}

func TestTheExitStatusIsTheVerdict(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]external.Result{
		"exit 0":   {Verdict: external.Done},
		"exit 1":   {Verdict: external.Declined, Status: 1},
		"exit 75":  {Verdict: external.TryAgain, Status: 75},
		"exit 2":   {Verdict: external.Failed, Status: 2},
		"exit 127": {Verdict: external.Failed, Status: 127},
		"exit 255": {Verdict: external.Failed, Status: 255},
		"echo on stdout; echo on stderr >&2; exit 1": {Verdict: external.Declined, Status: 1, Tail: "on stdout\non stderr\n"},
	} {
		got, err := external.Run(t.Context(), script(t, text))
		require.NoError(t, err, "%s", text)
		assert.Equal(t, want, got, "%s", text)
	}
}

func TestTheCommandRunsInItsFolderWithItsEnvironmentAndNothingToRead(t *testing.T) {
	t.Parallel()
	job := script(t, `pwd -P >where; printf '%s|%s' "$LESLIE_OURS" "$HOME" >env; if read -r x; then echo "$x" >read; else echo nothing >read; fi`)
	job.Env = []string{"LESLIE_OURS=/a b/ours", "PATH=" + os.Getenv("PATH")}
	got, err := external.Run(t.Context(), job)
	require.NoError(t, err)
	require.Equal(t, external.Done, got.Verdict, got.Tail)
	wrote := func(name string) string {
		data, err := os.ReadFile(filepath.Join(job.Dir, name))
		require.NoError(t, err)
		return strings.TrimSpace(string(data))
	}
	real, err := filepath.EvalSymlinks(job.Dir)
	require.NoError(t, err)
	assert.Equal(t, real, wrote("where"))
	assert.Equal(t, "/a b/ours|", wrote("env"), "what it is given is all that it has")
	assert.Equal(t, "nothing", wrote("read"), "it does not wait for a person's input")
}

func TestACommandThatCannotBeStartedIsT701(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, []byte("#!/bin/sh\nexit 0\n"), 0o644))
	noProgram := filepath.Join(dir, "no-program")
	harness.WriteProgram(t, noProgram, "no program\n")
	for command, reason := range map[string]string{
		filepath.Join(dir, "none") + " --now": "no such file",
		"leslie-has-no-such-agent":            "executable file not found",
		plain:                                 "permission denied",
		noProgram:                             "exec format error",
		dir:                                   "",
	} {
		_, err := external.Run(t.Context(), external.Job{Command: command, Dir: dir, Timeout: time.Minute})
		e := requireCode(t, codes.AgentUnavailable, err)
		got, _ := e.Facts().Get("command")
		assert.Equal(t, strings.Fields(command)[0], got)
		why, _ := e.Facts().Get("reason")
		assert.Contains(t, why, reason, "%s", command)
	}
}

func TestACommandKilledByASignalIsT702(t *testing.T) {
	t.Parallel()
	for _, signal := range []string{"KILL", "TERM", "SEGV"} {
		got, err := external.Run(t.Context(), script(t, "echo before; kill -"+signal+" $$"))
		requireCode(t, codes.AgentConnection, err)
		assert.Equal(t, "before\n", got.Tail)
	}
}

// lifeline is a pipe that the processes of a test keep open: reading it ends when the
// last of them is dead.
type lifeline struct{ *os.File }

func newLifeline(t testing.TB) lifeline {
	t.Helper()
	name := filepath.Join(t.TempDir(), "lifeline")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return lifeline{f}
}

// outlives is a script whose grandchild reports that it is alive and then waits
// forever.
func (l lifeline) outlives() string {
	return `sh -c 'trap "" HUP TERM INT; exec 3>"` + l.Name() + `" && echo alive >&3; while :; do read -r x <"` + l.Name() + `.never"; done' >/dev/null 2>&1 &
	`
}

// requireDead asserts that all processes that held the lifeline are dead, and reports
// whether there were any.
func (l lifeline) requireDead(t testing.TB) (lived bool) {
	t.Helper()
	require.NoError(t, l.SetReadDeadline(time.Now().Add(20*time.Second)))
	said, err := io.ReadAll(l)
	require.NoError(t, err, "a grandchild lives on")
	return string(said) == "alive\n"
}

// holding is a script whose grandchild waits on a pipe without a writer.
func (l lifeline) holding(t testing.TB, then string) string {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(l.Name()+".never", 0o600))
	return l.outlives() + then
}

func TestTheTimeoutEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	for limit := 250 * time.Millisecond; ; limit *= 2 { // a slow machine needs longer to bring the grandchild up
		l := newLifeline(t)
		job := script(t, l.holding(t, "echo begun; wait"))
		job.Timeout = limit
		got, err := external.Run(t.Context(), job)
		e := requireCode(t, codes.AgentTimeout, err)
		duration, _ := e.Facts().Get("duration")
		assert.Equal(t, limit, duration)
		if l.requireDead(t) {
			assert.Equal(t, "begun\n", got.Tail, "what it said before")
			return
		}
		require.Less(t, limit, time.Minute)
	}
}

func TestAnInterruptEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	l := newLifeline(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	up := filepath.Join(t.TempDir(), "up")
	require.NoError(t, syscall.Mkfifo(up, 0o600))
	job := script(t, l.holding(t, `echo up >"`+up+`"; wait`))
	failed := make(chan error, 1)
	go func() {
		_, err := external.Run(ctx, job)
		failed <- err
	}()
	_, err := os.ReadFile(up) // waits for the script
	require.NoError(t, err)
	cancel()
	requireCode(t, codes.Interrupted, <-failed)
	l.requireDead(t)
}

func TestProcessesThatACommandLeavesBehindAreKilled(t *testing.T) {
	t.Parallel()
	l := newLifeline(t)
	up := l.Name() + ".up"
	require.NoError(t, syscall.Mkfifo(up, 0o600))
	text := strings.Replace(l.holding(t, `read -r x <"`+up+`"; exit 1`), "echo alive >&3;", `echo alive >&3; echo up >"`+up+`";`, 1)
	got, err := external.Run(t.Context(), script(t, text))
	require.NoError(t, err)
	assert.Equal(t, external.Declined, got.Verdict)
	assert.True(t, l.requireDead(t), "the grandchild was up before the command ended")
}

// A child that keeps the output open does not keep leslie waiting forever.
func TestAChildThatKeepsTheOutputOpenDoesNotDelayTheVerdict(t *testing.T) {
	t.Parallel()
	l := newLifeline(t)
	text := strings.Replace(l.holding(t, "echo said; exit 0"), ">/dev/null 2>&1 &", "&", 1)
	got, err := external.Run(t.Context(), script(t, text))
	require.NoError(t, err)
	assert.Equal(t, external.Done, got.Verdict)
	assert.Equal(t, "said\n", got.Tail)
	l.requireDead(t)
}

// The command ends before its timeout; a process that it left behind keeps its output
// open beyond that.
func TestACommandThatEndedInTimeIsNotCalledLate(t *testing.T) {
	t.Parallel()
	for then, want := range map[string]external.Verdict{"exit 0": external.Done, "exit 1": external.Declined} {
		t.Run(then, func(t *testing.T) {
			t.Parallel()
			for range 20 { // a slow machine may not end it in time
				l := newLifeline(t)
				job := script(t, strings.Replace(l.holding(t, ">ended; "+then), ">/dev/null 2>&1 &", "&", 1))
				job.Timeout = time.Second
				begun := time.Now()
				got, err := external.Run(t.Context(), job)
				l.requireDead(t)
				info, unfinished := os.Stat(filepath.Join(job.Dir, "ended"))
				if unfinished != nil || info.ModTime().Sub(begun) > job.Timeout/2 {
					continue
				}
				require.NoError(t, err)
				assert.Equal(t, want, got.Verdict)
				return
			}
			t.Fatal("it never ended in time")
		})
	}
}

func TestACancelledCallDoesNotStartTheCommand(t *testing.T) {
	t.Parallel()
	job := script(t, "echo x >started")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := external.Run(ctx, job)
	requireCode(t, codes.Interrupted, err)
	job.Timeout = 0
	_, err = external.Run(t.Context(), job)
	requireCode(t, codes.AgentTimeout, err)
	assert.NoFileExists(t, filepath.Join(job.Dir, "started"))
}

func TestTheEndOfTheOutputIsKept(t *testing.T) {
	t.Parallel()
	got, err := external.Run(t.Context(), script(t, `i=0; while [ $i -lt 2000 ]; do echo "line $i"; i=$((i+1)); done; printf 'the end'`))
	require.NoError(t, err)
	assert.Len(t, got.Tail, 4096)
	assert.True(t, strings.HasSuffix(got.Tail, "line 1998\nline 1999\nthe end"), got.Tail)

	got, err = external.Run(t.Context(), script(t, `i=0; while [ $i -lt 3000 ]; do printf 'a\377'; i=$((i+1)); done`))
	require.NoError(t, err)
	assert.LessOrEqual(t, len(got.Tail), 4096, "also of what is no text")
	assert.NotContains(t, got.Tail, "\xff")
}

// onTerminal is the environment variable with the script that the test binary runs when
// it is started again on a terminal.
const onTerminal = "LESLIE_AGENT_ON_TERMINAL"

func TestMain(m *testing.M) {
	if command := os.Getenv(onTerminal); command != "" {
		got, err := external.Run(context.Background(), external.Job{Command: command, Timeout: time.Minute})
		if err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString("verdict " + got.Tail)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestTheCommandCannotWriteToTheTerminal(t *testing.T) {
	t.Parallel()
	job := script(t, `for fd in 0 1 2; do if [ -t $fd ]; then echo "no""ise: $fd is a terminal"; fi; done
( echo no""ise >/dev/tty ) 2>/dev/null && exit 3
echo quiet`)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), onTerminal+"="+job.Command)
	tty, err := pty.Start(cmd) // its controlling terminal
	require.NoError(t, err)
	defer tty.Close()
	shown, _ := io.ReadAll(tty) // EIO when the last one has closed it
	require.NoError(t, cmd.Wait())
	assert.NotContains(t, string(shown), "noise")
	assert.Contains(t, string(shown), "verdict quiet")
}
