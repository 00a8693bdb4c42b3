package store

import (
	"context"

	"leslie/codes"
	"leslie/thread"
)

// This file is the reader's door. It takes no lock, writes nothing, creates
// nothing and works in a read-only folder: a state is replaced by rename, so
// what is read is one whole revision.

// View gives fn the State as it stands. fn's error is returned as it is, beside
// the View. Where the state, or archived records that fn asked for, had to be
// recovered, the View carries W502 and the files are left as they are. Errors: T502, T506, T509, T904.
func (s *Store) View(ctx context.Context, fn func(*thread.State) error) (View, error) {
	if ctx.Err() != nil {
		return View{}, codes.Interrupted.Wrap(context.Cause(ctx))
	}
	now, err := s.load()
	if err != nil {
		return View{}, err
	}
	undone := s.undoneOf(now)
	err = ended(fn(s.state(now))) // which may find that the archive lacks records
	return View{Revision: now.revision, Warnings: now.warnings, Undone: undone}, err
}

// state is a fresh State of what was loaded; the loaded records stay as they
// are whatever is done to it.
func (s *Store) state(now *loaded) *thread.State {
	return thread.NewState(now.revision, now.records, &archiveSource{store: s, now: now})
}
