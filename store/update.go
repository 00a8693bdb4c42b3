package store

import (
	"context"
	"errors"
	"os"
	"slices"

	"leslie/codes"
	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/statefile"
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
// and nothing fails: what could not be settled is W505.
func (s *Store) Update(ctx context.Context, call Call, fn func(*thread.State) (Outcome, error)) (Commit, error) {
	if err := s.refuseForeign(); err != nil {
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
	now, unlock, err := s.beginWrite(ctx, call.Wait, call.Stamp.Operation)
	if err != nil {
		return Commit{}, err
	}
	defer unlock()
	if s.opts.Link != nil {
		return s.updateLinked(ctx, now, call, fn)
	}
	return s.attempt(ctx, now, call, fn)
}

// attempt runs the rules on what was loaded and commits their changes. In a connected
// project it may fail with errBehind or errStale; then nothing has changed.
func (s *Store) attempt(ctx context.Context, now *loaded, call Call, fn func(*thread.State) (Outcome, error)) (Commit, error) {
	s.ahead.Store(&now.ahead)
	defer s.ahead.Store(nil)
	if c, err := s.answered(call, now.Operation); c != nil || err != nil {
		return s.unchanged(now, c, err)
	}
	if err := now.heldBack(threadRecords(call.files)...); err != nil {
		return Commit{Warnings: now.warnings}, err
	}
	st := s.state(now)
	out, err := fn(st)
	if err == nil && st.Changed() {
		err = now.heldBack(written(call, st, out)...)
	}
	if err := verdict(ctx, call, st, err); err != nil {
		return Commit{Warnings: now.warnings}, err
	}
	if !st.Changed() && len(call.PublishAll) == 0 {
		return s.unchanged(now, nil, nil)
	}
	published, err := s.publish(ctx, now, call, st, out)
	if err != nil {
		return Commit{Warnings: now.warnings}, err
	}
	if !st.Changed() {
		return s.unchanged(now, nil, nil)
	}
	c, err := s.commit(ctx, now, next(call, st, out), func(ctx context.Context, now *loaded, next *statefile.Image, steps []thread.Step) error {
		err := s.announce(ctx, now, next, steps)
		if err == nil && call.announced != nil {
			call.announced()
		}
		return err
	})
	if err == nil {
		s.keepLists(&c.Warnings, published)
	}
	return c, err
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

// next returns the image that an operation creates.
func next(call Call, st *thread.State, out Outcome) statefile.Image {
	op := thread.Operation{
		Seq:       st.Revision + 1,
		ID:        call.Stamp.Operation,
		Time:      call.Stamp.Time,
		As:        call.Stamp.As,
		Actor:     call.Stamp.Actor,
		Command:   call.Command,
		ThreadID:  out.Thread,
		Params:    call.Params,
		RequestID: call.Request,
		Reversal:  call.Reversal,
		Changes:   st.Changes(),
	}
	e := journal.Entry{Operation: op, Archived: st.ArchivedNow(), Pending: st.Planned()}
	if call.Request != "" {
		e.Answer = out.Answer
	}
	m := statefile.Of(st, e)
	return m
}

// unchanged ends an Update that has nothing to commit: a recovered state, or one with
// other quarantined steps, is stored at its own revision.
func (s *Store) unchanged(now *loaded, c *Commit, err error) (Commit, error) {
	if err != nil {
		return Commit{}, err
	}
	if err := s.keepQuarantine(now); err != nil {
		return Commit{}, err
	}
	if c == nil {
		c = &Commit{Revision: now.Revision}
	}
	c.Warnings = append(now.warnings, c.Warnings...)
	return *c, nil
}

// refuseForeign checks, before anything is touched, whether the state belongs to
// another program: then not even a lock file is created. Errors: T506, T509.
func (s *Store) refuseForeign() error {
	if s.looksOurs() {
		return nil
	}
	main := s.readState(StateFile)
	if !main.usable() {
		return s.refuse(StateFile, main.err)
	}
	return nil
}

// looksOurs reads only the first bytes.
func (s *Store) looksOurs() bool {
	f, _, err := saferoot.OpenRegular(s.Path(StateFile))
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer f.Close()
	head := make([]byte, statefile.HeadSize)
	n, _ := f.ReadAt(head, 0)
	return statefile.Known(head[:n])
}

// beginWrite takes the lock, loads the state and finishes what an earlier process left.
// Errors: those of lock and settle, T502, T506, T509; then the lock is free again.
func (s *Store) beginWrite(ctx context.Context, wait Wait, own thread.OperationID) (now *loaded, unlock func(), err error) {
	unlock, err = s.lock(ctx, wait)
	if err != nil {
		return nil, nil, err
	}
	now, err = s.loadToWrite()
	if err == nil {
		err = s.settle(now, own)
	}
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return now, unlock, nil
}
