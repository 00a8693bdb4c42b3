package state

import (
	"context"
	"time"

	"leslie/store/internal/journal"
	"leslie/store/internal/lockfile"
	"leslie/thread"
)

// This file has the holder of the store's lock: only it writes.

// Wait says how long a call waits for the store's lock. The zero value means the whole
// schedule of Files.Policy.
type Wait struct {
	// Timeout, when positive, shortens the schedule.
	Timeout time.Duration
	// Notify, if not nil, is called once after a wait of one second.
	Notify func(path string)
}

// Writer holds the lock of a store until Unlock.
type Writer struct {
	*Files
	// Unlock gives the lock back.
	Unlock func()
}

// Lock waits for the store's one lock. Errors: T501 with attempts and durationMs, T904
// when ctx ends, T505 when the lock file cannot be opened.
func (s *Files) Lock(ctx context.Context, wait Wait) (*Writer, error) {
	path := s.Path(LockFile)
	unlock, err := lockfile.Acquire(ctx, path, lockfile.Request{
		Policy: s.Policy, Timeout: wait.Timeout, Jitter: s.Jitter, Failed: s.WriteFailed,
		Notify: func() {
			if wait.Notify != nil {
				wait.Notify(path)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return &Writer{s, unlock}, nil
}

// BeginWrite takes the lock, loads the state and finishes what an earlier process left; own
// is the operation that is going to be made. Errors: those of Lock and FinishPending, T502,
// T506, T509; then the lock is free again.
func (s *Files) BeginWrite(ctx context.Context, wait Wait, own thread.OperationID) (*Loaded, *Writer, error) {
	w, err := s.Lock(ctx, wait)
	if err != nil {
		return nil, nil, err
	}
	now, err := w.LoadToWrite()
	if err == nil {
		err = w.FinishPending(now, own)
	}
	if err != nil {
		w.Unlock()
		return nil, nil, err
	}
	return now, w, nil
}

// LoadToWrite is Load for the holder of the lock: it needs the journal, and checks all
// of its last line.
func (s *Writer) LoadToWrite() (*Loaded, error) {
	now, err := s.loadWith(func(j journal.File, _ Found) (journal.Tail, error) { return j.Tail() })
	if err == nil && now.NoTail != nil {
		return nil, now.NoTail
	}
	return now, err
}
