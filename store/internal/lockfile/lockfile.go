// Package lockfile takes an advisory lock of the kernel on a file that is never
// deleted. The kernel frees it when its holder dies, so a lock is never stale and
// none is ever broken.
//
// An attempt is one step of the schedule in package retry. Inside a wait the lock is
// queued for in the kernel, where that is known to pass over a process that is
// stopped; elsewhere it is tried every 1 to 25 ms. Either way a waiter goes on
// within milliseconds once the lock is free.
package lockfile

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"leslie/codes"
	"leslie/internal/retry"
)

const (
	longestPause = 25 * time.Millisecond
	saidAfter    = time.Second
	releaseTries = 3
)

// Request says how a lock is waited for.
type Request struct {
	// Policy is the schedule; a wait in it is always for the lock, whatever its Wait is.
	Policy retry.Policy
	// Timeout, when positive, shortens the schedule.
	Timeout time.Duration
	// Jitter returns a random duration in (0, max]; nil waits max.
	Jitter func(max time.Duration) time.Duration
	// Notify is called once when the lock has been waited for one second.
	Notify func()
	// Failed gives an error of the system its code.
	Failed func(error) error
}

// Acquire waits for the lock on a file and returns what gives it back. Errors: T501
// with attempts and durationMs, T904 when ctx ends, Failed's when the file cannot be
// opened.
func Acquire(ctx context.Context, path string, r Request) (unlock func(), err error) {
	if err := lockable(path); err != nil {
		return nil, r.Failed(err)
	}
	// A fresh one each time: a Flock that is held lets its owner in again.
	f := flock.New(path, flock.SetPermissions(0o644))
	w := waiter{
		policy: shorten(r.Policy, r.Timeout),
		limit:  r.Timeout,
		try: func() (bool, error) {
			ok, err := current(f, func() (bool, error) { return Try(f.TryLock) })
			return ok, r.Failed(NoLocks(path, err))
		},
		waiting: r.Notify,
	}
	w.await = w.polling(r.Jitter)
	if queues {
		q := &queue{
			lock: func() error {
				_, err := current(f, func() (bool, error) { err := Persist(f.Lock); return err == nil, err })
				return r.Failed(NoLocks(path, err))
			},
			unlock: func() { _ = Release(f) },
			left:   make(chan struct{}),
		}
		defer q.leave()
		w.await = q.await
	}
	if err := w.acquire(ctx); err != nil {
		return nil, err
	}
	return func() { _ = Release(f) }, nil
}

// current takes a lock again whose file was moved away while it was waited for, and another put in its
// place: the lock is that of the file at the name.
func current(f *flock.Flock, take func() (bool, error)) (held bool, err error) {
	for {
		if held, err = take(); err != nil || !held {
			return held, err
		}
		locked, failed := f.Stat()
		there, gone := os.Lstat(f.Path())
		if failed != nil || gone == nil && os.SameFile(locked, there) {
			return true, nil
		}
		if err := Release(f); err != nil {
			return false, err
		}
	}
}

// AcquireNow takes the lock if nobody holds it and its file can be opened with flag;
// nil if not.
func AcquireNow(path string, flag int) (unlock func()) {
	if lockable(path) != nil {
		return nil
	}
	f := flock.New(path, flock.SetFlag(flag))
	if held, err := Try(f.TryLock); !held || err != nil {
		return nil
	}
	return func() { _ = Release(f) }
}

// IsHeld reports whether a process has locked a file, which is opened with flag besides.
// It takes a shared lock for an instant and creates nothing; a writer waits that long.
func IsHeld(path string, flag int) bool {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY|flag))
	free, err := Try(lock.TryRLock)
	_ = lock.Unlock()
	return err == nil && !free
}

// lockable refuses a lock file that is something else: a link would create a
// file elsewhere, a pipe would block.
func lockable(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return &os.PathError{Op: "lock", Path: path, Err: errors.New("it is no regular file")}
	}
	return nil
}

// Persist makes a call for a lock again as long as a signal cuts it off: that says
// nothing of the lock.
func Persist(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Try is Persist for a call that does not wait.
func Try(call func() (bool, error)) (got bool, err error) {
	err = Persist(func() (err error) { got, err = call(); return err })
	return got, err
}

// Release gives a lock back. A signal, or a network file system, may fail the
// call; a lock that was not given back would be waited for by the next lock that
// this process takes.
func Release(held interface{ Unlock() error }) (err error) {
	for range releaseTries {
		if err = held.Unlock(); err == nil {
			return nil
		}
	}
	return err
}

// waiter is the schedule with the lock's own way of waiting. try and await are
// seams: the schedule is tested without a file and in no time.
type waiter struct {
	policy  retry.Policy
	limit   time.Duration // of all waits together; 0: the schedule's own
	try     func() (bool, error)
	await   func(ctx context.Context, most time.Duration) (bool, error) // waits so long at most
	waiting func()
}

func (w waiter) acquire(ctx context.Context) error {
	start, held, said := time.Now(), false, false
	w.policy.Wait = func(ctx context.Context, d time.Duration) error {
		end := time.Now().Add(d)
		if last := start.Add(w.limit); w.limit > 0 && last.Before(end) {
			end = last
		}
		for !held {
			left := time.Until(end)
			if left <= 0 {
				return nil
			}
			if silent := saidAfter - time.Since(start); !said && silent <= 0 {
				said = true
				w.waiting()
			} else if !said {
				left = min(left, silent)
			}
			var err error
			if held, err = w.await(ctx, left); err != nil {
				return err
			}
		}
		return nil
	}
	return retry.Retry(ctx, w.policy, func(_ context.Context, attempt int) (err error) {
		if attempt == 1 { // from then on whoever waits tries
			held, err = w.try()
		}
		if err == nil && !held {
			err = codes.LockFailed.New()
		}
		return err
	})
}

// polling waits by trying again after a pause.
func (w waiter) polling(jitter func(time.Duration) time.Duration) func(context.Context, time.Duration) (bool, error) {
	pause := longestPause
	return func(ctx context.Context, most time.Duration) (bool, error) {
		if jitter != nil {
			pause = min(max(jitter(longestPause), time.Millisecond), longestPause)
		}
		if err := Sleep(ctx, min(most, pause)); err != nil {
			return false, err
		}
		return w.try()
	}
}

// queue waits for a lock in the kernel, which cannot be told to give up. So
// somebody else waits there, and gives the lock back if it comes too late.
type queue struct {
	lock   func() error
	unlock func()
	left   chan struct{} // closed when nobody wants the lock any more
	got    chan error    // nil until somebody waits
}

func (q *queue) await(ctx context.Context, most time.Duration) (bool, error) {
	if q.got == nil {
		q.got = make(chan error)
		go q.stand()
	}
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case err := <-q.got:
		return err == nil, err
	case <-ctx.Done():
		return false, ctx.Err()
	case <-t.C:
		return false, nil
	}
}

func (q *queue) stand() {
	err := q.lock()
	select {
	case q.got <- err:
	case <-q.left:
		if err == nil {
			q.unlock()
		}
	}
}

// leave ends the wait, whether the lock is held or not.
func (q *queue) leave() { close(q.left) }

// shorten returns the schedule with as many attempts as fit into timeout; the
// last wait is cut by waiter.limit.
func shorten(p retry.Policy, timeout time.Duration) retry.Policy {
	if timeout <= 0 || timeout >= p.Total() {
		return p
	}
	attempts := 1
	for left := timeout; left > 0; attempts++ {
		left -= p.Delay(attempts)
	}
	p.MaxAttempts = attempts
	return p
}

// Sleep waits, or returns why the context ended.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
