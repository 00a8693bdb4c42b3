package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// interruptible is the context of the process: it ends when somebody interrupts
// it. The signals are caught from the moment on at which somebody begins to wait
// for the end (Done): for the lock, for a person, for another program. Before
// that a signal ends the process itself, as it would have a moment earlier: what
// leslie does without waiting is done in milliseconds, and the store withstands
// the death of a process anywhere. Catching signals costs threads, which is more
// than most commands need for all the rest.
type interruptible struct {
	mu     sync.Mutex
	caught context.Context // nil before somebody waits
	stop   context.CancelFunc
}

func (c *interruptible) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.caught
}

// Done catches the signals and returns what they close.
func (c *interruptible) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.caught == nil {
		c.caught, c.stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	}
	return c.caught.Done()
}

// Err is nil until the end.
func (c *interruptible) Err() error {
	if caught := c.context(); caught != nil {
		return caught.Err()
	}
	return nil
}

// Value leads to the cause of the end.
func (c *interruptible) Value(key any) any {
	if caught := c.context(); caught != nil {
		return caught.Value(key)
	}
	return nil
}

// Deadline says that there is none.
func (c *interruptible) Deadline() (time.Time, bool) { return time.Time{}, false }

// release gives the signals back.
func (c *interruptible) release() {
	if c.stop != nil {
		c.stop()
	}
}
