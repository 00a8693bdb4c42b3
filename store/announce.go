package store

import (
	"context"

	"leslie/store/internal/state"
	"leslie/thread"
	"leslie/warnings"
)

// staleError says that files of threads had to be fetched before the operation can be made, and what whoever called
// has to be told of that.
type staleError struct{ notes warnings.List }

func (staleError) Error() string { return "files were fetched" }

// updateLinked is Update for a connected project: the rules run on what this machine knows,
// and again if another machine came first. Neither a refusal nor "nothing to change" is
// answered before the log was asked. The caller holds the lock.
func (s *Store) updateLinked(ctx context.Context, w *state.Writer, now *state.Loaded, call Call, fn func(*thread.State) (Outcome, error)) (Commit, error) {
	c, now, err := s.compete(ctx, w, now, call, fn)
	if len(now.Ahead) > 0 && !c.Changed { // else it is on disk with the operation
		known, failed := w.Adopt(ctx, now)
		c.Warnings.Add(known.Warnings...)
		if err == nil {
			err = failed
		}
	}
	c.Warnings.Add(s.opts.Link.Notes()...)
	return c, err
}
