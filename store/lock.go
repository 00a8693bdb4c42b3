package store

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"leslie/codes"
	"leslie/retry"
)

// This file is the one lock of a store: an advisory lock of the kernel on a
// file that is never deleted. The kernel frees it when its holder dies, so a
// lock is never stale and none is ever broken.
//
// An attempt is one step of the schedule in package retry; inside a wait the
// lock is tried every 1 to 25 ms, so that a waiter goes on within milliseconds
// once the lock is free.

const (
	longestPause = 25 * time.Millisecond
	saidAfter    = time.Second
	releaseTries = 3
)

// lock waits for the lock and returns what gives it back. timeout, when
// positive, shortens the schedule. Errors: T501 with attempts and durationMs,
// T904 when ctx ends, T505 when the lock file cannot be opened.
func (s *Store) lock(ctx context.Context, timeout time.Duration) (unlock func(), err error) {
	path := s.Path(LockFile)
	if err := s.lockable(path); err != nil {
		return nil, err
	}
	// A fresh one each time: a Flock that is held lets its owner in again.
	f := flock.New(path, flock.SetPermissions(0o644))
	w := waiter{
		policy: shorten(s.opts.Lock, timeout),
		limit:  timeout,
		jitter: s.opts.Jitter,
		try: func() (bool, error) {
			ok, err := f.TryLock()
			if errors.Is(err, syscall.EINTR) {
				return false, nil
			}
			if err != nil {
				return false, s.writeFailed(err)
			}
			return ok, nil
		},
		waiting: func() {
			if s.opts.Waiting != nil {
				s.opts.Waiting(path)
			}
		},
	}
	if err := w.acquire(ctx); err != nil {
		return nil, err
	}
	return func() { _ = release(f) }, nil
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
		return s.writeFailed(&os.PathError{Op: "lock", Path: path, Err: errors.New("it is no regular file")})
	}
	return nil
}

// waiter is the schedule with the lock's own way of waiting. try is a seam: the
// schedule is tested without a file and in no time.
type waiter struct {
	policy  retry.Policy
	limit   time.Duration // of all waits together; 0: the schedule's own
	jitter  func(time.Duration) time.Duration
	try     func() (bool, error)
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
			if err := sleep(ctx, min(left, w.pause())); err != nil {
				return err
			}
			if !said && time.Since(start) >= saidAfter {
				said = true
				w.waiting()
			}
			var err error
			if held, err = w.try(); err != nil {
				return err
			}
		}
		return nil
	}
	return retry.Retry(ctx, w.policy, func(context.Context, int) (err error) {
		if !held {
			held, err = w.try()
		}
		if err == nil && !held {
			err = codes.LockFailed.New()
		}
		return err
	})
}

func (w waiter) pause() time.Duration {
	if w.jitter == nil {
		return longestPause
	}
	return min(max(w.jitter(longestPause), time.Millisecond), longestPause)
}

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
