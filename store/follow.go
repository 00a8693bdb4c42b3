package store

import (
	"context"
	"os"
	"time"

	"github.com/gofrs/flock"

	"leslie/internal/ledger"
	"leslie/store/internal/lockfile"
	"leslie/store/internal/saferoot"
)

// This file has whoever waits in a connected project told of what other machines do. The
// first process that waits follows the log and brings this machine's copy up to date; the
// others see the copy change, as they see each other's operations.

const (
	// followLock is held by the process that follows the log.
	followLock = RemoteDir + "/follow.lock"
	// followAgain is how long a process that does not follow waits until it looks whether
	// somebody does, and how long one waits whose log cannot be reached.
	followAgain = 2 * time.Second
	// gather is how long operations that come one after the other are waited for, so that
	// many of them become one new state.
	gather = 20 * time.Millisecond
)

// Follow brings the copy up to date whenever the log grows, until ctx ends, unless another
// process does. It does nothing in a project that is on one machine.
func (s *Store) Follow(ctx context.Context) {
	l := s.opts.Link
	if l == nil || l.Offline {
		return
	}
	for ctx.Err() == nil {
		if release := s.holdFollowing(); release != nil {
			s.followLog(ctx)
			release()
		}
		_ = lockfile.Sleep(ctx, followAgain)
	}
}

// holdFollowing makes this process the one that follows; nil if another is.
func (s *Store) holdFollowing() (release func()) {
	root, err := s.disk.Open()
	if err != nil {
		return nil
	}
	defer root.Close()
	if root.Ensure(RemoteDir) != nil {
		return nil
	}
	lock := flock.New(s.Path(followLock), flock.SetFlag(os.O_CREATE|os.O_RDWR|saferoot.OpenFlags), flock.SetPermissions(0o644))
	if got, err := lockfile.Try(lock.TryLock); err != nil || !got {
		return nil
	}
	return func() { _ = lockfile.Release(lock) }
}

// followLog follows until ctx ends or the log cannot be followed.
func (s *Store) followLog(ctx context.Context) {
	l := s.opts.Link
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	grown := make(chan struct{}, 1)
	now, err := s.files.Load()
	if err != nil {
		return
	}
	go func() {
		defer close(grown)
		_ = l.Ledger.Follow(ctx, int64(now.Revision), func(ledger.Line) error {
			select {
			case grown <- struct{}{}:
			default: // it is looked anyway
			}
			return nil
		})
	}()
	if _, err := s.Refresh(ctx, nil); err != nil {
		return
	}
	defer l.Follow()()
	for range grown {
		if lockfile.Sleep(ctx, gather) != nil {
			return
		}
		if err := s.takeNew(ctx); err != nil {
			return
		}
	}
}

// takeNew adds to the copy what the log has.
func (s *Store) takeNew(ctx context.Context) error {
	now, w, err := s.files.BeginWrite(ctx, Wait{}, "")
	if err != nil {
		return err
	}
	defer w.Unlock()
	_, err = s.catchUp(ctx, w, now)
	return err
}
