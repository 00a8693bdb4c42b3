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

// This file ends processes early: at a random moment, or right after their commit.

// interruption is a signal and the delay after which it is sent; 0 means never.
type interruption struct {
	after  time.Duration
	signal syscall.Signal
	// armed, unless nil, is polled; the delay begins when it returns true.
	armed func() bool
}

func killAfter(d time.Duration) interruption { return interruption{after: d, signal: syscall.SIGKILL} }

// send sends the signal after the delay, unless the process ends first.
func (e interruption) send(process *os.Process, over <-chan struct{}) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for e.armed != nil && !e.armed() {
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

// randomDelay draws a delay, mostly shorter than the command's typical duration.
func (w *worker) randomDelay(command string) time.Duration {
	return 1 + time.Duration(w.r.Float64()*1.2*float64(w.report.typical(command)))
}

// afterCommit is about how long a call takes after its commit.
const afterCommit = 4 * time.Millisecond

// atCommit kills a call right after its commit, when most can be lost: as soon as the
// state contains its operation.
func (w *worker) atCommit(l line) interruption {
	actor, floor := w.actor(l), w.reported.Load()
	kill := killAfter(1 + time.Duration(w.r.Int64N(int64(afterCommit))))
	kill.armed = func() bool {
		seq, by := w.newest()
		return by == actor && seq > floor
	}
	return kill
}

// newestOperation matches the operation at the beginning of a state file.
var newestOperation = regexp.MustCompile(`"operation":\{"seq":(\d+),[^{}]*?"actor":"([^"]*)"`)

// newest returns the number and the actor of the state's operation.
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
