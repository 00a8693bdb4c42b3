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
	"leslie/store/internal/content"
	"leslie/store/internal/journal"
	"leslie/store/internal/statefile"
	"leslie/thread"
)

// This file adds an operation to the log of a connected project: what it relies on first,
// then its line, if no other machine's came first. Only then it is committed here. A
// process that dies in between loses nothing: the next one finds the operation in the log,
// as if another machine had made it.

// errBehind says that an operation of another machine came first.
var errBehind = errors.New("another machine came first")

// errStale says that files of threads had to be fetched before the operation can be made.
var errStale = errors.New("files were fetched")

// updateLinked is Update for a connected project: the rules run on what this machine knows,
// and again if another machine came first. Neither a refusal nor "nothing to change" is
// answered before the log was asked. The caller holds the lock.
func (s *Store) updateLinked(ctx context.Context, now *loaded, call Call, fn func(*thread.State) (Outcome, error)) (Commit, error) {
	c, now, err := s.compete(ctx, now, call, fn)
	if len(now.ahead) > 0 && !c.Changed { // else it is on disk with the operation
		known, failed := s.adopt(ctx, now)
		c.Warnings.Add(known.warnings...)
		if err == nil {
			err = failed
		}
	}
	c.Warnings.Add(s.opts.Link.notes()...)
	return c, err
}

// compete makes an operation that the log has, or finds out why there is none; fresh is
// what is known of the log then, perhaps in memory alone.
func (s *Store) compete(ctx context.Context, now *loaded, call Call, fn func(*thread.State) (Outcome, error)) (c Commit, fresh *loaded, err error) {
	begun, confirmed, late := s.now(), false, 0
	done := func() {}
	defer func() { done() }()
	call.announced = func() { done() } // what follows is this machine's own affair
	look := s.lookAhead
	if len(call.files) > 0 {
		look = s.catchUp
	}
	turn := func() (err error) {
		if !s.opts.Link.Offline {
			if done, err = s.inTurn(ctx, call); err == nil {
				now, err = look(ctx, now)
			}
		}
		return err
	}
	asked := s.asked.Swap(nil)
	behind := asked != nil && asked.err == nil && thread.Revision(asked.Seq) > now.Revision
	if behind && asked.Now.Sub(asked.At) < busyFor || !behind && s.busy(now) {
		err, late = turn(), 2
	} else if behind {
		now, err = look(ctx, now)
	}
	if err != nil {
		return Commit{}, now, err
	}
	for {
		c, err = s.attempt(ctx, now, call, fn)
		switch {
		case errors.Is(err, errStale):
			continue
		case errors.Is(err, errBehind):
			if late++; s.now().Sub(begun) > competeFor {
				return Commit{}, now, outdone(late, s.now().Sub(begun))
			}
			if late == 2 {
				if err := turn(); err != nil {
					return Commit{}, now, err
				}
				continue
			}
		case confirmed || err == nil && (c.Changed || c.Replay != nil) || codes.Has(err, codes.OutcomeUnknown):
			return c, now, err
		default:
			more, failed := s.behind(ctx, now)
			if confirmed = true; failed != nil {
				return Commit{Warnings: now.warnings}, now, failed
			}
			if !more {
				return c, now, err
			}
		}
		confirmed = true
		before := now.Revision
		if now, err = look(ctx, now); err != nil {
			return Commit{}, now, err
		}
		if now.Revision == before { // and yet an operation was refused
			if _, err := s.behind(ctx, now); err != nil {
				return Commit{}, now, err
			}
			return Commit{}, now, diverged("it refuses what would follow revision " + strconv.Itoa(int(before)))
		}
	}
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
func (s *Store) busy(now *loaded) (busy bool) {
	at, left := s.now().Add(s.opts.Link.Skew()), busyAmong
	another := func(e journal.Entry) (more bool) {
		left--
		busy = e.Machine != "" && e.Machine != s.opts.Link.Machine && at.Sub(e.Time) < busyFor
		return !busy && left > 0
	}
	if op := now.Operation; op != nil && at.Sub(op.Time) < busyFor && another(op.Entry) {
		_ = s.inJournal(func(j journal.File) error { return j.Newest(another) })
	}
	return busy
}

// inTurn waits for the turn. done is never nil.
func (s *Store) inTurn(ctx context.Context, call Call) (done func(), err error) {
	done, err = s.opts.Link.Ledger.Turn(ctx)
	if err != nil {
		return func() {}, remoteError(ctx, err, call.Stamp.Operation)
	}
	return sync.OnceFunc(done), nil
}

// outdone is T501 for a call that was too late for too long.
func outdone(attempts int, waited time.Duration) error {
	return codes.LockFailed.New(fact.Of("attempts", attempts), fact.Of("durationMs", waited.Milliseconds()), fact.Of("path", "the project's remote")).
		WithHint("Other machines write without a pause; try again")
}

// announce adds the operation of next, with its steps, to the log. Errors: errBehind; T402, T505, T510,
// T511, T904.
func (s *Store) announce(ctx context.Context, now *loaded, next *statefile.Image, steps []thread.Step) error {
	l, op := s.opts.Link, next.Operation
	if l == nil {
		return nil
	}
	if l.Offline {
		return remoteError(ctx, offline{}, op.ID)
	}
	chain, last, err := s.endOfLog(ctx, now)
	if err != nil {
		return remoteError(ctx, err, op.ID)
	}
	e, err := op.All()
	if err != nil {
		return err
	}
	line, body, err := makeLine(e, steps, chain, l.Machine)
	if err != nil {
		return err
	}
	if body != nil {
		if err := l.Ledger.PutBlob(ctx, string(content.IDOf(body)), body); err != nil {
			return remoteError(ctx, unsent(err), op.ID)
		}
	}
	sending, cancel := context.WithTimeout(ctx, appendFor)
	defer cancel()
	err = l.Ledger.Append(sending, last, line)
	if errors.Is(err, ledger.ErrConflict) {
		return errBehind
	}
	if err != nil && ctx.Err() == nil && sending.Err() != nil && !errors.Is(err, ledger.ErrUnreachable) {
		err = errors.Join(ledger.ErrUnknown, err)
	}
	if err != nil {
		return remoteError(ctx, err, op.ID)
	}
	op.Chain, op.Machine = sumOfLine(line.Data), l.Machine
	return nil
}

// unsent is an error of storing content: whatever became of that, no operation was sent.
func unsent(err error) error {
	if errors.Is(err, ledger.ErrUnknown) {
		return errors.Join(ledger.ErrUnreachable, errors.New(err.Error()))
	}
	return err
}

// endOfLog is the hash of the line of what was loaded, and its operation's id.
func (s *Store) endOfLog(ctx context.Context, now *loaded) (chain, last string, err error) {
	chain, err = s.chainOf(now.Operation)
	if now.Operation == nil || err != nil {
		return chain, "", err
	}
	last = string(now.Operation.ID)
	if chain == "" {
		line, err := s.lineAt(ctx, now.Revision)
		if err == nil && line.ID != last {
			err = diverged("operation " + last + " is another one there")
		}
		return sumOfLine(line.Data), last, err
	}
	return chain, last, nil
}
