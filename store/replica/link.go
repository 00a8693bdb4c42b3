package replica

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/warnings"
)

const (
	// AskFor is how long a call waits for the log's engine to answer at all.
	AskFor = 2 * time.Second
	// clocksDiffer is from when on a clock is said to be wrong.
	clocksDiffer = 2 * time.Second
)

// Link is one process's connection to the log of a project. It is safe for concurrent use.
type Link struct {
	Remote  Remote
	Ledger  ledger.Ledger
	Machine string // this copy's name in operations
	// Offline: the log is not to be asked.
	Offline bool

	skew      atomic.Int64 // of the engine's clock against this machine's, in nanoseconds
	log       atomic.Value // which log the engine has: see Log
	following atomic.Int32 // how many tell this process of new lines as they come
	gap       atomic.Int64 // behind which a copy of the log lacked something, plus 1
}

// NoteGap remembers that one of the engine's copies lacked what follows a place.
func (l *Link) NoteGap(seq int64) { l.gap.Store(seq + 1) }

// Skew is how far the engine's clock is ahead of this machine's, 0 if it is not known.
func (l *Link) Skew() time.Duration {
	if l == nil {
		return 0
	}
	return time.Duration(l.skew.Load())
}

// Notes are W510 and W512.
func (l *Link) Notes() (all warnings.List) {
	if skew := l.Skew(); skew.Abs() > clocksDiffer {
		side := "behind"
		if skew < 0 {
			side = "ahead of"
		}
		all.Add(warnings.ClockDiffers.New(fact.Of("difference", skew.Abs().Round(time.Second/10).String()+" "+side)))
	}
	if gap := l.gap.Swap(0); gap > 0 {
		all.Add(warnings.ReplicaGap.New(fact.Of("revision", gap-1)))
	}
	return all
}

// Head asks for the end of the log, and learns what time it is there.
func (l *Link) Head(ctx context.Context, now func() time.Time) (ledger.Head, error) {
	if l.Offline {
		return ledger.Head{}, Offline{}
	}
	asking, cancel := context.WithTimeout(ctx, AskFor)
	defer cancel()
	before := now()
	h, err := l.Ledger.Head(asking)
	if err != nil && ctx.Err() == nil && asking.Err() != nil {
		err = errors.Join(ledger.ErrUnreachable, err)
	}
	if err == nil && !h.Now.IsZero() {
		half := now().Sub(before) / 2
		l.skew.Store(int64(h.Now.Sub(before.Add(half))))
	}
	if err == nil {
		l.log.Store(h.Log)
	}
	return h, err
}

// Log is which log the engine had when it was asked last, "" if it was not: see ledger.Head.
func (l *Link) Log() string {
	log, _ := l.log.Load().(string)
	return log
}

// Follow notes that somebody tells this process of new lines as they come, until end.
func (l *Link) Follow() (end func()) {
	l.following.Add(1)
	return func() { l.following.Add(-1) }
}

// Followed reports whether somebody does.
func (l *Link) Followed() bool { return l.following.Load() > 0 }
