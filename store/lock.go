package store

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

// This file is the one lock of a store: an advisory lock of the kernel on a
// file that is never deleted. The kernel frees it when its holder dies, so a
// lock is never stale and none is ever broken.
//
// An attempt is one step of the schedule in package retry. Inside a wait the lock is
// queued for in the kernel, where that is known to pass over a process that is
// stopped; elsewhere it is tried every 1 to 25 ms. Either way a waiter goes on
// within milliseconds once the lock is free.

const (
	longestPause = 25 * time.Millisecond
	saidAfter    = time.Second
	releaseTries = 3
)

// lock waits for the lock and returns what gives it back. Errors: T501 with
// attempts and durationMs, T904 when ctx ends, T505 when the lock file cannot be
// opened.
func (s *Store) lock(ctx context.Context, wait Wait) (unlock func(), err error) {
	path := s.Path(LockFile)
	if err := s.lockable(path); err != nil {
		return nil, err
	}
	// A fresh one each time: a Flock that is held lets its owner in again.
	f := flock.New(path, flock.SetPermissions(0o644))
	w := waiter{
		policy: shorten(s.opts.Lock, wait.Timeout),
		limit:  wait.Timeout,
		try: func() (bool, error) {
			ok, err := tried(f.TryLock)
			return ok, s.writeFailed(err)
		},
		waiting: func() {
			if wait.Notify != nil {
				wait.Notify(path)
			}
		},
	}
	w.await = w.polling(s.opts.Jitter)
	if queues {
		q := &queue{
			lock:   func() error { return s.writeFailed(persist(f.Lock)) },
			unlock: func() { _ = release(f) },
			left:   make(chan struct{}),
		}
		defer q.leave()
		w.await = q.await
	}
	if err := w.acquire(ctx); err != nil {
		return nil, err
	}
	return func() { _ = release(f) }, nil
}

// persist makes a call for a lock again as long as a signal cuts it off: that says
// nothing of the lock.
func persist(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// tried is persist for a call that does not wait.
func tried(call func() (bool, error)) (got bool, err error) {
	err = persist(func() (err error) { got, err = call(); return err })
	return got, err
}

// release gives a lock back. A signal, or a network file system, may fail the
// call; a lock that was not given back would be waited for by the next lock that
// this process takes.
func release(held interface{ Unlock() error }) (err error) {
	for range releaseTries {
		if err = held.Unlock(); err == nil {
			return nil
		}
	}
	return err
}

// lockable refuses a lock file that is something else: a link would create a
// file elsewhere, a pipe would block.
func (s *Store) lockable(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return s.writeFailed(&os.PathError{Op: "lock", Path: path, Err: errors.New("it is not a regular file")})
	}
	return nil
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
		if err := sleep(ctx, min(most, pause)); err != nil {
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

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
