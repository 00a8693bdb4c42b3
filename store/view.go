package store

import (
	"context"

	"leslie/codes"
	"leslie/thread"
)

// This file implements reading. It takes no lock, writes nothing, creates nothing and
// works in a read-only folder: a rename replaces the state, so a reader always gets
// one whole revision.

// View calls fn with the current State. It returns fn's error unchanged, with the
// View. If the state, or archived records that fn asked for, had to be recovered, the
// View has W502, and the files are not changed. Errors: T502, T506, T509, T904.
func (s *Store) View(ctx context.Context, fn func(*thread.State) error) (View, error) {
	if ctx.Err() != nil {
		return View{}, codes.Interrupted.Wrap(context.Cause(ctx))
	}
	now, err := s.files.Load()
	if err != nil {
		return View{}, err
	}
	undone := s.files.Undone(now)
	err = ended(fn(s.files.State(now))) // which may find that the archive lacks records
	return View{Revision: now.Revision, Warnings: now.Warnings, Undone: undone}, err
}
