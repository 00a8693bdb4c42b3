//go:build linux

package lab

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// This file is a program of its own, which torture and faults start of themselves: the tracer. It runs
// one process, numbers the calls with which that process changes something, whichever of
// its threads makes them, and disturbs it before the one with a number. Processes that it
// starts are not traced: strace, which counts by thread, can kill at the n-th call neither
// a process with many threads nor one of several programs.

// tracerWord is the first argument that makes a program of the lab the tracer.
const tracerWord = "tracer"

// Tracer makes this process the tracer if it was started as one. It then ends as the traced
// program does: with the status, or by SIGKILL.
func Tracer() (status int, is bool) {
	if len(os.Args) <= 5 || os.Args[1] != tracerWord {
		return 0, false
	}
	return runTracer(os.Args[2:]), true
}

// TracerArgs are the arguments with which a program of the lab is the tracer of another: report
// is where it writes down the calls, call the number of the one that it disturbs.
func TracerArgs(how Mode, call int, report, program string, argv []string) []string {
	return append([]string{tracerWord, string(how), strconv.Itoa(call), report, program}, argv...)
}

// CallsIn returns the calls that the tracer wrote down; over: the program has ended.
func CallsIn(report string) (calls []string, over bool) {
	text, _ := os.ReadFile(report)
	calls = strings.Split(strings.TrimSpace(string(text)), "\n")
	over = calls[len(calls)-1] == "end"
	if over {
		calls = calls[:len(calls)-1]
	}
	return calls, over
}

// Mode is what the tracer does before the call.
type Mode string

const (
	Counts  Mode = "count"  // nothing: it only writes down the calls
	Kills   Mode = "kill"   // kill the process
	Both    Mode = "both"   // kill the process, then leslie, which started it, and the process's session
	Orphans Mode = "orphan" // kill leslie, and let the process go on a little later
)

// orphanPause is how long an orphan waits before it goes on, so that the next leslie meets it.
const orphanPause = 100 * time.Millisecond

const ptraceExitKill = 0x100000

// tracer is the traced process.
type tracer struct {
	mode   Mode
	at     int
	leslie int
	report *os.File
	pid    int
	no     int
	names  map[uint64]string
}

// runTracer is the program: MODE NUMBER REPORT PROGRAM [ARGUMENTS].
func runTracer(args []string) (status int) {
	runtime.LockOSThread() // ptrace serves the thread that began it
	report, err := os.OpenFile(args[2], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return tracerFailed(err)
	}
	t := &tracer{mode: Mode(args[0]), report: report, names: callNames()}
	t.at, _ = strconv.Atoi(args[1])
	t.leslie, _ = strconv.Atoi(os.Getenv("LESLIE_PID"))
	name, err := exec.LookPath(args[3])
	if err != nil {
		return tracerFailed(err)
	}
	process, err := os.StartProcess(name, args[3:], &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		return tracerFailed(err)
	}
	t.pid = process.Pid
	end, err := t.follow()
	if err != nil {
		return tracerFailed(err)
	}
	fmt.Fprintln(report, "end")
	if end.Signaled() {
		_ = syscall.Kill(os.Getpid(), end.Signal())
		select {}
	}
	return end.ExitStatus()
}

func tracerFailed(err error) int {
	fmt.Fprintln(os.Stderr, "tracer:", err)
	return 125
}

// follow lets the process run from call to call, to its end.
func (t *tracer) follow() (end syscall.WaitStatus, err error) {
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(t.pid, &ws, 0, nil); err != nil {
		return ws, err
	}
	if err := syscall.PtraceSetOptions(t.pid, syscall.PTRACE_O_TRACESYSGOOD|syscall.PTRACE_O_TRACECLONE|ptraceExitKill); err != nil {
		return ws, err
	}
	known := map[int]bool{t.pid: true}
	for tid, signal := t.pid, 0; ; {
		_ = syscall.PtraceSyscall(tid, signal) // fails if it died meanwhile
		for {
			tid, err = syscall.Wait4(-1, &ws, syscall.WALL, nil)
			if err != nil && err != syscall.EINTR {
				return ws, err
			}
			if tid == t.pid && (ws.Exited() || ws.Signaled()) {
				return ws, nil
			}
			if err == nil && ws.Stopped() {
				break
			}
		}
		signal = 0
		switch stop := ws.StopSignal(); {
		case stop == syscall.SIGTRAP|0x80:
			t.call(tid)
		case stop == syscall.SIGTRAP, stop == syscall.SIGSTOP && !known[tid]: // an event; a new thread
		default:
			signal = int(stop)
		}
		known[tid] = true
	}
}

// call looks at a call that a thread enters or leaves.
func (t *tracer) call(tid int) {
	nr, words, entered := entering(tid)
	if !entered {
		return
	}
	what := t.change(tid, nr, words)
	if what == "" {
		return
	}
	t.no++
	fmt.Fprintln(t.report, what)
	if t.no != t.at {
		return
	}
	switch t.mode {
	case Kills:
		_ = syscall.Kill(t.pid, syscall.SIGKILL)
	case Both:
		_ = syscall.Kill(t.pid, syscall.SIGKILL)
		_ = syscall.Kill(t.leslie, syscall.SIGKILL)
		_ = syscall.Kill(0, syscall.SIGKILL)
	case Orphans:
		_ = syscall.Kill(t.leslie, syscall.SIGKILL)
		time.Sleep(orphanPause)
	}
}

// change describes a call that changes something, "" for any other. Opening changes
// something if it creates or truncates; writing to what only wakes a thread does not.
func (t *tracer) change(tid int, nr uint64, args [3]uint64) string {
	name := t.names[nr]
	creates := func(flags uint64) bool { return flags&(syscall.O_CREAT|syscall.O_TRUNC) != 0 }
	switch {
	case name == "", name == "open" && !creates(args[1]), name == "openat" && !creates(args[2]):
		return ""
	case !takesFile(name):
		return name
	}
	to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, int32(args[0])))
	if err != nil || strings.HasPrefix(to, "anon_inode:") || to == "/dev/null" || strings.HasPrefix(to, "/dev/pts/") {
		return ""
	}
	return name + " " + to
}

// takesFile reports whether the first argument of a call is an open file that it changes.
func takesFile(name string) bool {
	switch name {
	case "write", "pwrite64", "writev", "fsync", "fdatasync", "ftruncate", "fallocate", "fchmod", "flock", "copy_file_range":
		return true
	}
	return false
}

// callNames returns the calls that may change something, by their numbers.
func callNames() map[uint64]string {
	names := map[uint64]string{
		syscall.SYS_WRITE: "write", syscall.SYS_PWRITE64: "pwrite64", syscall.SYS_WRITEV: "writev", syscall.SYS_FSYNC: "fsync", syscall.SYS_FDATASYNC: "fdatasync",
		syscall.SYS_FTRUNCATE: "ftruncate", syscall.SYS_FALLOCATE: "fallocate", syscall.SYS_FCHMOD: "fchmod", syscall.SYS_FLOCK: "flock",
		syscall.SYS_OPENAT: "openat", syscall.SYS_RENAMEAT: "renameat", syscall.SYS_LINKAT: "linkat", syscall.SYS_UNLINKAT: "unlinkat", syscall.SYS_MKDIRAT: "mkdirat",
		syscall.SYS_SYMLINKAT: "symlinkat", syscall.SYS_FCHMODAT: "fchmodat", syscall.SYS_UTIMENSAT: "utimensat", syscall.SYS_EXIT_GROUP: "exit_group",
	}
	for nr, name := range olderCalls() {
		names[nr] = name
	}
	return names
}
