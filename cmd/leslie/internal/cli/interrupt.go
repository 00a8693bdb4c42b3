package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"leslie/internal/app"
)

// Interruptible is the context of the process: it ends when somebody interrupts the
// process. It catches signals only from the first call of Done on, when somebody
// starts to wait: for the lock, for a person, for another program. Before that a
// signal ends the process directly: leslie does everything without waiting within
// milliseconds, and the store survives the death of a process at any point. Catching
// signals costs threads, more than most commands need for everything else.
type Interruptible struct {
	mu     sync.Mutex
	caught context.Context // nil before the first wait
	// typed receives Ctrl-C; told receives other signals that end the process.
	typed, told chan os.Signal
	// again is closed by the first Ctrl-C after the signal that ended the context.
	again chan struct{}
}

func (c *Interruptible) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.caught
}

// Done catches the signals and returns the channel that they close.
func (c *Interruptible) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.caught == nil {
		c.catch()
	}
	return c.caught.Done()
}

func (c *Interruptible) catch() {
	caught, end := context.WithCancelCause(context.Background())
	c.caught, c.typed, c.told, c.again = caught, make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(c.typed, os.Interrupt)
	signal.Notify(c.told, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(c.told, syscall.SIGHUP)
	}
	go func() {
		var s os.Signal
		select {
		case s = <-c.typed:
		case s = <-c.told:
		}
		end(fmt.Errorf("%w: %s signal received", context.Canceled, s))
		<-c.typed
		close(c.again)
	}()
}

// Lend runs a program that uses the terminal exclusively, such as an editor: Ctrl-C,
// which the terminal sends to both processes, is only for the program. A signal that
// arrives before the program has started is lost; leslie ignores it only from then on,
// because the program would inherit that.
func (c *Interruptible) Lend(cmd *exec.Cmd) error {
	c.Done()
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	signal.Stop(c.typed)
	defer signal.Notify(c.typed, os.Interrupt)
	if err := cmd.Start(); err != nil {
		return err
	}
	signal.Ignore(os.Interrupt)
	return cmd.Wait()
}

// Err is nil until the end.
func (c *Interruptible) Err() error {
	if caught := c.context(); caught != nil {
		return caught.Err()
	}
	return nil
}

// Value returns the cause of the end, and whether somebody interrupts once more.
func (c *Interruptible) Value(key any) any {
	if _, is := key.(app.SecondInterruptKey); is {
		c.Done()
		return (<-chan struct{})(c.again)
	}
	if caught := c.context(); caught != nil {
		return caught.Value(key)
	}
	return nil
}

// Deadline reports that there is none.
func (c *Interruptible) Deadline() (time.Time, bool) { return time.Time{}, false }

// Release gives the signals back.
func (c *Interruptible) Release() {
	if c.caught != nil {
		signal.Stop(c.typed)
		signal.Stop(c.told)
	}
}
