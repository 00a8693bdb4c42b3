package store

import (
	"context"

	"leslie/store/internal/lockfile"
)

// lock waits for the store's one lock and returns what gives it back. Errors: T501
// with attempts and durationMs, T904 when ctx ends, T505 when the lock file cannot be
// opened.
func (s *Store) lock(ctx context.Context, wait Wait) (unlock func(), err error) {
	path := s.Path(LockFile)
	return lockfile.Acquire(ctx, path, lockfile.Request{
		Policy: s.opts.Lock, Timeout: wait.Timeout, Jitter: s.opts.Jitter, Failed: s.disk.WriteFailed,
		Notify: func() {
			if wait.Notify != nil {
				wait.Notify(path)
			}
		},
	})
}
