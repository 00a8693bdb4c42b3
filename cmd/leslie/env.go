package main

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"io"
	"os"
	"os/user"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/term"

	"leslie/internal/app"
	"leslie/internal/ledger"
	"leslie/internal/ledger/jetstream"
)

// env has everything that a call takes from the process. Nothing below run reads a
// global, so a test provides its own.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// Which of the three streams is a terminal.
	stdinTTY, stdoutTTY, stderrTTY bool
	// columns returns the width of the terminal in cells, rows its height in lines; 0 if it
	// is unknown.
	columns, rows func() int

	program string // the path of leslie itself, "" when unknown

	dir  string // the working folder, absolute
	home string // the user's home folder, "" when unknown
	// cache is the user's folder for what may be lost, "" when unknown.
	cache string
	// engine opens the logs of projects on several machines; host is this machine's name.
	engine ledger.Engine
	host   func() string
	// login looks up the user's login name, "" if unknown.
	login func() string
	// session derives a name for the agent whose process called this one, "" if there
	// is none to derive.
	session func() string
	getenv  func(string) string
	// environ returns the whole environment, for a started program.
	environ func() []string
	now     func() time.Time
	// withTimeout returns a context with a timeout: context.WithTimeout.
	withTimeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
	// newID returns an id of a kind: its prefix and 8 random base32 characters.
	newID func(prefix string) string
	// jitter returns a random duration in (0, max].
	jitter func(max time.Duration) time.Duration
	// ready prepares the process for a command, which may be one that writes; nil if
	// the process is not leslie's own.
	ready func(writes, lasts bool)
}

func processEnv() env {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	home, _ := os.UserHomeDir()
	cache, _ := os.UserCacheDir()
	program, _ := os.Executable()
	return env{
		program: program,
		stdin:   os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		stdinTTY: isTerminal(os.Stdin), stdoutTTY: isTerminal(os.Stdout), stderrTTY: isTerminal(os.Stderr),
		columns: terminalColumns, rows: terminalRows,
		dir: dir, home: home, cache: cache, engine: jetstream.Engine{Getenv: os.Getenv}, host: hostName, login: loginName, session: callersSession, getenv: os.Getenv, environ: os.Environ,
		ready: readyProcess,
		now:   time.Now, withTimeout: context.WithTimeout, newID: randomID, jitter: randomDuration,
	}
}

// roomBeforeGC is the value for debug.SetGCPercent: how much the heap may grow before a
// garbage collection. With it the first one comes at 16 MB, and most commands end before.
const roomBeforeGC = 400

// readyProcess prepares the process for a command. A command that only reads may use
// any thread, which saves one.
// One that lasts keeps its memory small instead of ending a little sooner.
func readyProcess(writes, lasts bool) {
	if !writes {
		runtime.UnlockOSThread()
	}
	if !lasts {
		debug.SetGCPercent(roomBeforeGC)
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func terminalColumns() int { columns, _ := terminalSize(); return columns }

func terminalRows() int { _, rows := terminalSize(); return rows }

func terminalSize() (columns, rows int) {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if columns, rows, err := term.GetSize(int(f.Fd())); err == nil {
			return columns, rows
		}
	}
	return 0, 0
}

func hostName() string {
	name, _ := os.Hostname()
	return name
}

// credentials is the path of the file with the user's credentials for remotes, "" for none.
func (e env) credentials() string {
	if name := e.getenv("LESLIE_REMOTE_CREDS"); name != "" {
		return name
	}
	return app.CredentialsFile(e.home)
}

func loginName() string {
	for _, key := range []string{"LOGNAME", "USER", "USERNAME"} {
		if name := os.Getenv(key); name != "" {
			return name
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

func callersSession() string { return derivedActor(os.DirFS("/proc"), os.Getppid()) }

func randomID(prefix string) string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime aborts first
	return prefix + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

func randomDuration(most time.Duration) time.Duration {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime aborts first
	return time.Duration(binary.LittleEndian.Uint64(b[:])%uint64(most)) + 1
}
