//go:build unix

package lab

import (
	"os"
	"syscall"
	"time"
)

// Interruption is a signal and the delay after which it is sent; 0 means never.
type Interruption struct {
	After  time.Duration
	Signal syscall.Signal
	// Armed, unless nil, is polled; the delay begins when it returns true.
	Armed func() bool
}

// KillAfter kills after a delay.
func KillAfter(d time.Duration) Interruption { return Interruption{After: d, Signal: syscall.SIGKILL} }

// Kills reports whether it is a kill.
func (e Interruption) Kills() bool { return e.After > 0 && e.Signal == syscall.SIGKILL }

// send sends the signal after the delay, unless the process ends first.
func (e Interruption) send(process *os.Process, over <-chan struct{}) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for e.Armed != nil && !e.Armed() {
		select {
		case <-over:
			return
		case <-look.C:
		}
	}
	select {
	case <-over:
	case <-time.After(e.After):
		_ = process.Signal(e.Signal)
	}
}

const lookEvery = 300 * time.Microsecond
