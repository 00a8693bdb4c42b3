package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"leslie/cmd/leslie/internal/cli"
	"leslie/internal/app/code"
	"leslie/internal/ledger"
	"leslie/internal/ledger/ledgertest"
	"leslie/test/harness"
)

// This file defines "leslie" in scripts: a call in the test's own process, with the
// script's folder, environment and streams, because starting a process takes most of its
// time; "input FILE" is what it reads from standard input. "exec leslie" is always a process.
// So is every call of a script that sets PATH, or that needs a millisecond between two calls. LESLIE_SCRIPT_PROCESSES=1 (make whole) makes every call a process.

// installLeslie puts the test binary into a folder of PATH under leslie's name; called by
// that name it acts as leslie.
func installLeslie() (dir string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "leslie-script-"); err != nil {
		return "", err
	}
	name := "leslie"
	if filepath.Ext(self) == ".exe" {
		name += ".exe"
	}
	if err := harness.CopyFile(self, filepath.Join(dir, name)); err != nil {
		return dir, err
	}
	return dir, os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// leslieInScript runs a call of a script and returns its exit status.
func leslieInScript(ts *testscript.TestScript, args []string) int {
	s := ts.Value(scriptKey{}).(*scriptFacts)
	if s.processes && s.input == nil {
		status := statusOf(ts, ts.Exec("leslie", args...))
		s.tryNext(ts, args, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
		return status
	}
	var stdout, stderr bytes.Buffer
	e := s.env(ts)
	e.Stdout, e.Stderr = io.MultiWriter(ts.Stdout(), &stdout), io.MultiWriter(ts.Stderr(), &stderr)
	defer func() { s.ended = e.Now() }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	status := cli.Run(ctx, args, e)
	s.tryNext(ts, args, stdout.String(), stderr.String())
	return status
}

// env is the environment of a call in this process.
func (s *scriptFacts) env(ts *testscript.TestScript) cli.Env {
	e := processEnv()
	e.Stdin = bytes.NewReader(s.input)
	s.input = nil
	e.StdinTTY, e.StdoutTTY, e.StderrTTY = false, false, false
	program, err := exec.LookPath("leslie") // not the test's own binary
	ts.Check(err)
	e.Program = program
	e.Dir, e.Home = ts.MkAbs("."), ts.Getenv("HOME")
	e.Login = func() string { return ts.Getenv("LOGNAME") }
	e.Session = func() string { return "agent-script22" }
	e.Getenv = ts.Getenv
	e.Environ = func() []string { return s.environ(ts) }
	e.Ready = nil
	e.Engine, e.Host = &s.engine, func() string { return cmp.Or(ts.Getenv("HOST"), "laptop") }
	e.Now = s.clock()
	e.WithTimeout = func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
		if d == code.OverlapTime { // what git does not say by then is left out, and other tests run beside this one
			d = time.Minute
		}
		return context.WithTimeout(ctx, d)
	}
	return notingWaits(e)
}

// clock returns the time of a call: at least a millisecond after the call before, as
// between two processes, so that lists have one order.
func (s *scriptFacts) clock() func() time.Time {
	ahead := max(0, time.Until(s.ended.Add(time.Millisecond)))
	return func() time.Time { return time.Now().Add(ahead) }
}

// scriptFacts is what is known of a running script.
type scriptFacts struct {
	work      string    // the script's folder
	processes bool      // every call is a process
	variables []string  // the names of its environment
	ended     time.Time // of the last call in this process
	input     []byte    // what the next call reads from standard input
	// engine has the logs of projects on several machines, for calls in this process.
	engine ledgertest.Memory
}

type scriptKey struct{}

// newScript reads from a script's text whether it needs processes, and which variables it
// adds to the initial ones.
func newScript(work, text string, vars []string) *scriptFacts {
	s := &scriptFacts{work: work, processes: os.Getenv("LESLIE_SCRIPT_PROCESSES") != ""}
	for _, v := range vars {
		name, _, _ := strings.Cut(v, "=")
		s.variables = append(s.variables, name)
	}
	inProcess := false
	defer func() { s.processes = s.processes && !inProcess }()
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) < 2:
		case words[0] == "engine": // which is in this process alone
			inProcess = true
		case words[0] == "ttyin", slices.Contains(words, "1ms"):
			s.processes = true
		case words[0] == "env":
			for _, word := range words[1:] {
				name, _, _ := strings.Cut(word, "=")
				s.variables = append(s.variables, name)
				s.processes = s.processes || name == "PATH"
			}
		}
	}
	return s
}

func (s *scriptFacts) environ(ts *testscript.TestScript) (all []string) {
	for _, name := range s.variables {
		all = append(all, name+"="+ts.Getenv(name))
	}
	return all
}

// scriptLeslie is the script command leslie: the call must succeed, or fail after "!".
func scriptLeslie(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, len(args) == 0 || !strings.HasPrefix(args[len(args)-1], "&"), "exec leslie ... & runs in the background")
	switch status := leslieInScript(ts, args); {
	case status != 0 && !neg:
		ts.Fatalf("exit status %d, not 0", status)
	case status == 0 && neg:
		ts.Fatalf("unexpected success")
	}
}

// scriptInput is the script command input: the next leslie in this process reads the file.
func scriptInput(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, !neg && len(args) == 1, "input FILE")
	ts.Value(scriptKey{}).(*scriptFacts).input = []byte(ts.ReadFile(args[0]))
}

// scriptText returns the text of the script that a folder was made for.
func scriptText(workDir string) (string, error) {
	name := strings.TrimPrefix(filepath.Base(workDir), "script-")
	text, err := os.ReadFile(filepath.Join("testdata", "script", name+".txtar"))
	return string(text), err
}

// scriptEngine is the script command engine: what becomes of calls to the engine in memory
// that has the logs of projects on several machines.
func scriptEngine(ts *testscript.TestScript, neg bool, args []string) {
	e := &ts.Value(scriptKey{}).(*scriptFacts).engine
	wants(ts, !neg && len(args) >= 1, "engine works|unreachable|silent|worn|denies|stranger|accepts FILE|ahead D|lost PROJECT|cut PROJECT N|damage PROJECT N|content")
	e.Before, e.After, e.Accepts, e.Worn = nil, nil, nil, false
	fails := func(err error, only ...string) func(string, string) error {
		return func(call, _ string) error {
			if len(only) == 0 || slices.Contains(only, call) {
				return err
			}
			return nil
		}
	}
	switch {
	case args[0] == "works":
	case args[0] == "ahead" && len(args) == 2: // its clock
		d, err := time.ParseDuration(args[1])
		ts.Check(err)
		e.Now = func() time.Time { return time.Now().Add(d) }
	case args[0] == "unreachable":
		e.Before = fails(ledger.ErrUnreachable)
	case args[0] == "silent": // what is appended stands, and nobody hears of it
		e.After = fails(ledger.ErrUnknown, "append")
	case args[0] == "worn": // what is damaged is stored again, and nothing else is stored
		e.Worn = true
	case args[0] == "denies":
		e.Before = fails(ledger.ErrDenied, "append")
	case args[0] == "stranger": // to the engine is who asks
		e.Before = fails(&ledger.LoginError{Cause: errors.New("none")})
	case args[0] == "accepts" && len(args) == 2: // the credentials of a file alone
		want := ts.ReadFile(args[1])
		e.Accepts = func(at ledger.Address) error {
			if has, err := os.ReadFile(at.Credentials); err != nil || string(has) != want {
				return &ledger.LoginError{Cause: errors.New("other credentials")}
			}
			return nil
		}
	case args[0] == "lost" && len(args) == 2:
		e.Drop(args[1])
	case args[0] == "damage" && len(args) == 3 && args[2] == "content":
		e.DamageBlobs(args[1])
	case args[0] == "damage" && len(args) == 3:
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		e.Damage(args[1], int64(n))
	case args[0] == "cut" && len(args) == 3:
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		e.Cut(args[1], int64(n))
	default:
		ts.Fatalf("engine does not know %v", args)
	}
}
