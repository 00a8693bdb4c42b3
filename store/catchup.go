package store

import (
	"context"
	"errors"
	"slices"

	"leslie/codes"
	"leslie/internal/ledger"
	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/state"
	"leslie/store/replica"
	"leslie/thread"
	"leslie/warnings"
)

// This file brings the copy of a connected project up to date with the log.
//
// Many operations become one new state: the lines of all but the last are appended to
// the journal first, then the state of the last is committed as after an operation of
// this machine. So the journal may be ahead of the state of a connected project: a reader
// rolls it forward and has nothing to warn of, because the log has all of it.
//
// Whoever is going to append leaves them in memory until the log has the own operation:
// nothing that follows from the log has to be on this disk before that, and the less is done
// between reading the log's end and appending, the less often another machine is first.
//
// Each line of the log has the hash of the one before, and the operation keeps the hash
// of its own line (thread.Operation.Chain). A log that is no continuation of what this
// machine knows is refused (T512).

// linesAtOnce is how many operations of the log become one new state.
const linesAtOnce = 5000

// Ask learns where the log ends and what time it is there, for a call that is going to
// write: Update reads what is new itself, where Refresh would put it on disk first. Errors:
// T402, T510, T512, T904, with what Refresh or Update need not ask again.
func (s *Store) Ask(ctx context.Context) (*LogEnd, error) {
	l := s.opts.Link
	if l == nil || l.Followed() {
		return nil, nil
	}
	head, err := l.Head(ctx, s.now)
	return &LogEnd{head: head, err: err}, replica.Error(ctx, err, "")
}

// LogEnd is where the log ended when a call asked, or why that is not known. It serves once:
// whatever the call does after that may have changed it.
type LogEnd struct {
	head ledger.Head
	err  error
	used bool
}

// unanswered reports whether no server answered when it was asked.
func (e *LogEnd) unanswered() bool { return e != nil && errors.Is(e.err, ledger.ErrUnreachable) }

// take returns what was asked, nil if nothing was, or if it was used before.
func (e *LogEnd) take() *LogEnd {
	if e == nil || e.used {
		return nil
	}
	e.used = true
	return e
}

// Refresh brings the copy up to date before it is read. If the log's engine does not
// answer within two seconds, or the copy cannot be written, the copy stays as it is, and
// W508 says so. Another process or goroutine that follows the log makes it needless.
// known, if not nil, is what Ask was told. Errors: T402, T512, those of loading, T904.
func (s *Store) Refresh(ctx context.Context, known *LogEnd) (warnings.List, error) {
	l := s.opts.Link
	if l == nil || l.Followed() {
		return nil, nil
	}
	now, err := s.files.Load()
	if err != nil {
		return nil, nil // whoever reads it is told
	}
	behind, err := s.behind(ctx, now, known)
	if err == nil && behind {
		var w *state.Writer
		if now, w, err = s.files.BeginWrite(ctx, Wait{Timeout: replica.AskFor}, ""); err == nil {
			now, err = s.catchUp(ctx, w, now)
			w.Unlock()
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, codes.Interrupted.Wrap(context.Cause(ctx))
	case codes.Has(err, codes.RemoteUnreachable), codes.Has(err, codes.LockFailed), codes.Has(err, codes.WriteFailed):
		if now == nil {
			now, _ = s.files.Load()
		}
		return append(l.Notes(), s.unanswered(now, err)), nil
	}
	return l.Notes(), err
}

// behind reports whether the log goes on behind what was loaded, by what Ask was told just
// now, or else by asking. Errors: T402, T510, T512.
func (s *Store) behind(ctx context.Context, now *state.Loaded, known *LogEnd) (bool, error) {
	end := known.take()
	if end == nil {
		head, err := s.opts.Link.Head(ctx, s.now)
		end = &LogEnd{head: head, err: err}
	}
	if end.err != nil {
		return false, replica.Error(ctx, end.err, "")
	}
	more, err := s.continues(ctx, now, end.head)
	return more || err == nil && s.otherLog(), err
}

// continues reports whether a log goes on behind what was loaded. Errors: T512.
func (s *Store) continues(ctx context.Context, now *state.Loaded, head ledger.Head) (bool, error) {
	known := thread.OperationID("")
	if now.Operation != nil {
		known = now.Operation.ID
	}
	switch at := thread.Revision(head.Seq); {
	case at < now.Revision:
		return false, s.endsEarly(ctx, now, head)
	case at == now.Revision && head.ID != string(known):
		return false, replica.Another(at, head.ID, known)
	default:
		return at > now.Revision, nil
	}
}

// endsEarly is T512 for a log that ends before what was loaded, and may have another operation there.
func (s *Store) endsEarly(ctx context.Context, now *state.Loaded, head ledger.Head) error {
	at, own := thread.Revision(head.Seq), thread.OperationID("")
	if err := s.eachOperation(ctx, now, func(e journal.Entry) error {
		if e.Seq == at {
			own = e.ID
		}
		return nil
	}); err != nil {
		return err
	}
	if own != "" && string(own) != head.ID {
		return replica.Another(at, head.ID, own)
	}
	return replica.EndsEarly(at, now.Revision)
}

// catchUp adds what the log has behind the loaded state, and returns the new one. The
// caller holds the lock. Errors: T402, T505, T510, T512, T904.
func (s *Store) catchUp(ctx context.Context, w *state.Writer, now *state.Loaded) (*state.Loaded, error) {
	now, err := s.lookAhead(ctx, w, now)
	if err == nil {
		now, err = w.Adopt(ctx, now)
	}
	return now, err
}

// lookAhead is catchUp that leaves new operations in memory, as far as the rules need them
// nowhere else: whoever is going to append competes with other machines, and the log has
// them anyway. They go to the disk with the operation that is made (commit), or without
// one (adopt). Errors: as catchUp.
func (s *Store) lookAhead(ctx context.Context, w *state.Writer, now *state.Loaded) (*state.Loaded, error) {
	now, err := s.sameLog(ctx, w, now)
	if err != nil {
		return now, replica.Error(ctx, err, "")
	}
	in := s.opts.Link.Reader(ctx, now.Operation, now.Revision)
	var some []journal.Entry
	take := func() error {
		if len(some) == 0 {
			return nil
		}
		next, err := now.After(some)
		if some = nil; err != nil {
			return replica.Diverged("an operation cannot be applied: " + err.Error())
		}
		if now = next; len(now.Ahead) >= linesAtOnce || slices.ContainsFunc(now.Ahead, state.NeededOnDisk) {
			now, err = w.Adopt(ctx, now)
		}
		return err
	}
	err = s.opts.Link.Ledger.After(ctx, int64(now.Revision), func(line ledger.Line) error {
		e, err := in.Read(line)
		if err != nil {
			return err
		}
		if some = append(some, e); len(some) == linesAtOnce {
			return take()
		}
		return nil
	})
	if err == nil {
		err = take()
	}
	return now, replica.Error(ctx, err, "")
}

// otherLog reports whether the log is not the one that this copy last agreed with: it was
// made anew, from this or another machine's copy.
func (s *Store) otherLog() bool {
	log := s.opts.Link.Log()
	known, _, _ := saferoot.ReadRegular(s.Path(logFile))
	return log != "" && log != string(known)
}

// sameLog agrees with the log that is there now: if it has the same operation at the
// loaded revision, the hash of its line counts from now on. Errors: T505, T512; those of
// the ledger.
func (s *Store) sameLog(ctx context.Context, w *state.Writer, now *state.Loaded) (*state.Loaded, error) {
	if !s.otherLog() {
		return now, nil
	}
	now, err := w.Adopt(ctx, now)
	if err != nil {
		return now, err
	}
	if now.Operation != nil && now.Operation.Chain != "" {
		line, err := s.opts.Link.LineOf(ctx, now.Operation, now.Revision)
		if codes.Has(err, codes.RemoteDiverged) {
			if head, failed := s.opts.Link.Head(ctx, s.now); failed == nil && thread.Revision(head.Seq) < now.Revision {
				err = s.endsEarly(ctx, now, head)
			}
		}
		if err != nil {
			return now, err
		}
		if now, err = w.Rechain(now, replica.Sum(line.Data)); err != nil {
			return now, err
		}
	}
	log := s.opts.Link.Log()
	return now, s.disk.Replace(logFile, []byte(log))
}
