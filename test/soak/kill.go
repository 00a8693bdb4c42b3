//go:build unix

package main

import (
	"io"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// This file ends processes before they are done: at a random moment, or right
// after their commit.

// interruption is a signal that comes after a while; none comes after 0.
type interruption struct {
	after  time.Duration
	signal syscall.Signal
	// begun, when there is one, is asked again and again, and the while begins
	// when it is so.
	begun func() bool
}

func killAfter(d time.Duration) interruption { return interruption{after: d, signal: syscall.SIGKILL} }

// send sends the signal when it is time, unless the process is over first.
func (e interruption) send(process *os.Process, over <-chan struct{}) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for e.begun != nil && !e.begun() {
		select {
		case <-over:
			return
		case <-look.C:
		}
	}
	select {
	case <-over:
	case <-time.After(e.after):
		_ = process.Signal(e.signal)
	}
}

const lookEvery = 300 * time.Microsecond

// moment draws when a call of a command is ended: mostly before it usually is.
func (w *worker) moment(command string) time.Duration {
	return 1 + time.Duration(w.r.Float64()*1.2*float64(w.report.usual(command)))
}

// afterCommit is about how long a call works after its commit.
const afterCommit = 4 * time.Millisecond

// atCommit kills a call right after its commit, when most can be lost:
// as soon as the state's first operation is its own.
func (w *worker) atCommit(l line) interruption {
	actor, floor := w.actor(l), w.told.Load()
	kill := killAfter(1 + time.Duration(w.r.Int64N(int64(afterCommit))))
	kill.begun = func() bool {
		seq, by := w.newest()
		return by == actor && seq > floor
	}
	return kill
}

// newestOperation is the beginning of a state's file.
var newestOperation = regexp.MustCompile(`"operation":\{"seq":(\d+),[^{}]*?"actor":"([^"]*)"`)

// newest is the number of the state's operation, and whose it is.
func (p *project) newest() (seq int64, actor string) {
	f, err := os.Open(p.path(stateFile))
	if err != nil {
		return 0, ""
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head)
	if found := newestOperation.FindSubmatch(head[:n]); found != nil {
		seq, _ = strconv.ParseInt(string(found[1]), 10, 64)
		actor = string(found[2])
	}
	return seq, actor
}
