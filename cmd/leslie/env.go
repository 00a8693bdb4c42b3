package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"os"
	"os/user"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/term"

	"leslie/cmd/leslie/internal/cli"
	"leslie/internal/ledger/jetstream"
)

func processEnv() cli.Env {
	dir, err := os.Getwd()
	if err != nil {
		dir = cmp.Or(os.Getenv("PWD"), ".") // removed: its name says what it was
	}
	home, _ := os.UserHomeDir()
	cache, _ := os.UserCacheDir()
	program, _ := os.Executable()
	return cli.Env{
		Version: version, Commands: commands(),
		Program: program,
		Stdin:   os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinTTY: isTerminal(os.Stdin), StdoutTTY: isTerminal(os.Stdout), StderrTTY: isTerminal(os.Stderr),
		Columns: terminalColumns, Rows: terminalRows,
		Dir: dir, Home: home, Cache: cache, Engine: jetstream.Engine{Getenv: os.Getenv}, Host: hostName,
		Login: loginName, Session: callersSession, Getenv: os.Getenv, Environ: os.Environ,
		Ready: tuneProcess,
		Now:   time.Now, WithTimeout: context.WithTimeout, NewID: randomID, Jitter: randomDuration,
	}
}

// roomBeforeGC is the value for debug.SetGCPercent: how much the heap may grow before a
// garbage collection. With it the first one comes at 16 MB, and most commands end before.
const roomBeforeGC = 400

// tuneProcess prepares the process for a command. A command that only reads may use
// any thread, which saves one.
// One that lasts keeps its memory small instead of ending a little sooner.
func tuneProcess(writes, lasts bool) {
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

func callersSession() string { return cli.DerivedActor(os.DirFS("/proc"), os.Getppid()) }

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
