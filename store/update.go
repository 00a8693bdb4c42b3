package store

import (
	"context"
	"errors"
	"slices"

	"leslie/codes"
	"leslie/store/internal/journal"
	"leslie/store/internal/state"
	"leslie/store/internal/statefile"
	"leslie/store/replica"
	"leslie/thread"
)

// This file implements writing: one Update is one revision and one line of the
// journal. doc.go explains the order of its steps.

// Update lets fn change the State, under the store's lock, and commits the changes as
// one operation.
//
// fn receives a fresh State and must have no effect outside it: an Update may be
// repeated by another process or after planning again. An error or a panic of fn
// changes nothing; neither does an Update whose request was answered before
// (Commit.Replay, W901). If fn changes nothing, nothing is written, except that a
// recovered state is stored.
//
// Errors: what fn returns, with the W502 that fn saw; T501 with attempts and
// durationMs; T502, T506, T509 of loading; T503 (it takes precedence over T102, T107
// and T108 of fn, but not over an id that does not exist); T505 if a write before the
// commit failed, and then nothing has changed; T903 for a request id that belongs to
// another call; T904 if ctx ends before the commit. From the commit on ctx is ignored
// and nothing fails: what could not be finished is W505.
func (s *Store) Update(ctx context.Context, call Call, fn func(*thread.State) (Outcome, error)) (Commit, error) {
	if err := s.files.RefuseForeign(); err != nil {
		return Commit{}, err
	}
	for _, stage := range call.Staged {
		if err := stage.Sync(); err != nil {
			return Commit{}, err
		}
	}
	if err := s.mustBeLinked(); err != nil {
		return Commit{}, err
	}
	now, w, err := s.files.BeginWrite(ctx, call.Wait, call.Stamp.Operation)
	if codes.Has(err, codes.LockFailed) && call.LogEnd.unanswered() { // whoever has the lock waits for the servers, too
		return Commit{}, replica.Error(ctx, call.LogEnd.err, call.Stamp.Operation)
	}
	if err != nil {
		return Commit{}, err
	}
	defer w.Unlock()
	if s.opts.Link != nil {
		return s.updateLinked(ctx, w, now, call, fn)
	}
	return s.attempt(ctx, w, now, call, fn)
}

// attempt runs the rules on what was loaded and commits their changes. In a connected
// project it may fail with replica.ErrBehind or a staleError; then nothing has changed.
func (s *Store) attempt(ctx context.Context, w *state.Writer, now *state.Loaded, call Call, fn func(*thread.State) (Outcome, error)) (Commit, error) {
	if c, err := s.answered(call, now.Operation, now.Ahead); c != nil || err != nil {
		return s.unchanged(w, now, c, err)
	}
	if call.Unless != nil {
		switch c, err := s.answered(*call.Unless, now.Operation, now.Ahead); {
		case err != nil:
			return Commit{Warnings: now.Warnings}, err
		case c != nil:
			return Commit{Warnings: now.Warnings}, ErrAnswered
		}
	}
	if err := now.HeldBack(threadRecords(call.files)...); err != nil {
		return Commit{Warnings: now.Warnings}, err
	}
	st := s.files.State(now)
	out, err := fn(st)
	if err == nil && st.Changed() {
		err = now.HeldBack(written(st, out)...)
	}
	if err := verdict(ctx, call, st, err); err != nil {
		return Commit{Warnings: now.Warnings}, err
	}
	if !st.Changed() && len(st.HandsOn()) == 0 {
		return s.unchanged(w, now, nil, nil)
	}
	published, err := s.publish(ctx, now, call, st)
	if err != nil {
		return Commit{Warnings: now.Warnings}, err
	}
	if !st.Changed() {
		return s.unchanged(w, now, nil, nil)
	}
	made := call.Image(st, out)
	notes, err := w.Commit(ctx, now, made, func(ctx context.Context, now *state.Loaded, next *statefile.Image, steps []thread.Step) error {
		err := s.opts.Link.Announce(ctx, now, next, steps)
		if err == nil && call.announced != nil {
			call.announced()
		}
		return err
	})
	if err != nil {
		return Commit{}, err
	}
	s.keepLists(w, &notes, published)
	return Commit{Revision: made.Revision, Changed: true, Operation: made.Operation.ID, Warnings: notes}, nil
}

// verdict returns the error of a call whose rules ran.
func verdict(ctx context.Context, call Call, st *thread.State, err error) error {
	if call.Expect != nil && (err == nil || yields(err)) {
		if err := st.Stale(*call.Expect); err != nil {
			return err
		}
	}
	if err == nil && ctx.Err() != nil {
		err = codes.Interrupted.Wrap(context.Cause(ctx))
	}
	return ended(err)
}

// yields reports whether an error is only about the state of a record: if the caller
// knew an older record, T503 is more useful.
func yields(err error) bool {
	e := codes.Of(err)
	return e != nil && slices.Contains([]codes.Code{
		codes.InvalidTransition, codes.NotWritable, codes.Claimed, codes.ThreadsNotTerminated, codes.ObjectiveDone,
	}, e.Code())
}

// ended returns T904 for the end of a context without a code of its own.
func ended(err error) error {
	over := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if over && codes.Of(err) == nil {
		return codes.Interrupted.Wrap(err)
	}
	return err
}

// Image is the image that the operation of this call creates.
func (call Call) Image(st *thread.State, out Outcome) statefile.Image {
	op := st.Operation()
	op.ID, op.Time, op.As, op.Actor = call.Stamp.Operation, call.Stamp.Time, call.Stamp.As, call.Stamp.Actor
	op.Command, op.Params, op.RequestID, op.Continues = call.Command, call.Params, call.Request, call.Continues
	op.ThreadID = out.Thread
	e := journal.Entry{Operation: op, Archived: st.ArchivedNow(), Pending: st.Planned()}
	if call.Request != "" {
		e.Answer = out.Answer
	}
	m := statefile.Of(st, e)
	return m
}

// unchanged ends an Update that has nothing to commit: a recovered state, or one with
// other quarantined steps, is stored at its own revision.
func (s *Store) unchanged(w *state.Writer, now *state.Loaded, c *Commit, err error) (Commit, error) {
	if err != nil {
		return Commit{}, err
	}
	if err := w.KeepQuarantine(now); err != nil {
		return Commit{}, err
	}
	if c == nil {
		c = &Commit{Revision: now.Revision}
	}
	c.Warnings = append(now.Warnings, c.Warnings...)
	return *c, nil
}
