package store

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/store/internal/journal"
	"leslie/store/internal/state"
	"leslie/store/replica"
	"leslie/thread"
	"leslie/warnings"
)

// This file has one call win against other machines: an operation stands when it is the next
// line of the log, and another machine's may come first. Then the rules run again on what that
// one has changed. Whoever is late twice waits for a turn, which the ledger gives to one
// machine after the other, so that nobody loses for ever.

// contest is one call's attempts to add its operation to the log.
type contest struct {
	store *Store
	lock  *state.Writer
	call  Call
	rules func(*thread.State) (Outcome, error)
	// now is what is known of the log, perhaps in memory alone.
	now *state.Loaded
	// fromLog brings now up to date.
	fromLog func(context.Context, *state.Writer, *state.Loaded) (*state.Loaded, error)

	begun time.Time
	late  int // how often another machine came first; who waits for a turn counts as late twice
	// upToDate: the log was asked, and the rules run on what it had then. So a refusal of theirs
	// is an answer.
	upToDate bool
	notes    warnings.List // of what had to be fetched first
	endTurn  func()
}

// tooLate is how often another machine may come first before a call waits for its turn.
const tooLate = 2

// compete makes an operation that the log has, or finds out why there is none; fresh is
// what is known of the log then, perhaps in memory alone.
func (s *Store) compete(ctx context.Context, w *state.Writer, now *state.Loaded, call Call, rules func(*thread.State) (Outcome, error)) (c Commit, fresh *state.Loaded, err error) {
	t := &contest{store: s, lock: w, call: call, rules: rules, now: now, fromLog: s.lookAhead, begun: s.now(), endTurn: func() {}}
	if len(call.files) > 0 {
		t.fromLog = s.catchUp
	}
	t.call.announced = func() { t.endTurn() } // what follows is this machine's own affair
	defer func() { t.endTurn() }()
	if err = t.prepare(ctx); err == nil {
		c, err = t.attempts(ctx)
		c.Warnings.Add(t.notes...)
	}
	return c, t.now, err
}

// prepare reads what Ask has found in the log. Where other machines write all the time, it
// waits for a turn at once.
func (t *contest) prepare(ctx context.Context) error {
	asked := t.call.LogEnd.take()
	grown := asked != nil && asked.err == nil && thread.Revision(asked.head.Seq) > t.now.Revision
	switch {
	case grown && asked.head.Now.Sub(asked.head.At) < busyFor, !grown && t.store.busy(t.now):
		t.late = tooLate
		return t.waitForTurn(ctx)
	case grown:
		return t.catchUp(ctx)
	}
	return nil
}

// attempts runs the rules until the log has their operation, or there is none to add.
func (t *contest) attempts(ctx context.Context) (Commit, error) {
	for {
		c, err := t.store.attempt(ctx, t.lock, t.now, t.call, t.rules)
		stale, isStale := errors.AsType[staleError](err)
		switch {
		case isStale:
			t.notes.Add(stale.notes...)
			continue
		case errors.Is(err, replica.ErrBehind):
			if err := t.lost(ctx); err != nil {
				return Commit{}, err
			}
			continue
		case t.upToDate, err == nil && (c.Changed || c.Replay != nil), codes.Has(err, codes.OutcomeUnknown),
			codes.Has(err, codes.RemoteUnreachable):
			return c, err
		}
		grown, failed := t.store.behind(ctx, t.now, nil)
		switch {
		case failed != nil:
			return Commit{Warnings: t.now.Warnings}, failed
		case !grown:
			return c, err
		}
		if err := t.catchUpFurther(ctx); err != nil {
			return Commit{}, err
		}
	}
}

// lost prepares the next attempt after another machine came first. Errors: T501 if that has
// gone on for too long, T512, those of asking the log.
func (t *contest) lost(ctx context.Context) error {
	t.late++
	if waited := t.store.now().Sub(t.begun); waited > competeFor {
		return outdone(t.late, waited)
	}
	if t.late == tooLate {
		return t.waitForTurn(ctx)
	}
	return t.catchUpFurther(ctx)
}

// waitForTurn waits until this machine may write before others, and reads what they wrote
// until then. Nobody waits with a log that is not to be asked. A turn is advice: where nobody gives
// one, although the log answers, the write goes on without.
func (t *contest) waitForTurn(ctx context.Context) error {
	l := t.store.opts.Link
	if l.Offline {
		return nil
	}
	done, err := l.Ledger.Turn(ctx)
	if errors.Is(err, ledger.ErrUnreachable) && ctx.Err() == nil {
		if _, failed := l.Head(ctx, t.store.now); failed == nil {
			return t.catchUp(ctx)
		}
	}
	if err != nil {
		return replica.Error(ctx, err, t.call.Stamp.Operation)
	}
	t.endTurn = sync.OnceFunc(done)
	return t.catchUp(ctx)
}

func (t *contest) catchUp(ctx context.Context) (err error) {
	t.now, err = t.fromLog(ctx, t.lock, t.now)
	return err
}

// catchUpFurther is catchUp where the log is known to have more. Errors: T512 if it has not.
func (t *contest) catchUpFurther(ctx context.Context) error {
	t.upToDate = true
	before := t.now.Revision
	if err := t.catchUp(ctx); err != nil || t.now.Revision > before {
		return err
	}
	if _, err := t.store.behind(ctx, t.now, nil); err != nil {
		return err
	}
	return replica.Diverged("it refuses what would follow revision " + strconv.Itoa(int(before)))
}

// Many machines write where another one's operation is among the last few, and not older
// than busyFor, which counts from before it waited for its turn.
const (
	busyFor   = 2 * time.Second
	busyAmong = 8
)

// busy reports whether another machine wrote just now. Then whoever writes waits for a turn
// at once: those who only take one when they were too late lose against those who are not,
// and who wrote last would be first again.
func (s *Store) busy(now *state.Loaded) (busy bool) {
	at, left := s.now().Add(s.opts.Link.Skew()), busyAmong
	another := func(e journal.Entry) (more bool) {
		left--
		busy = e.Machine != "" && e.Machine != s.opts.Link.Machine && at.Sub(e.Time) < busyFor
		return !busy && left > 0
	}
	if op := now.Operation; op != nil && at.Sub(op.Time) < busyFor && another(op.Entry) {
		_ = s.files.InJournal(func(j journal.File) error { return j.Newest(another) })
	}
	return busy
}

// outdone is T501 for a call that was too late for too long.
func outdone(attempts int, waited time.Duration) error {
	return codes.LockFailed.New(fact.Of("attempts", attempts), fact.Of("durationMs", waited.Milliseconds()), fact.Of("path", "the project's remote")).
		WithHint("Other machines write without a pause; try again")
}
