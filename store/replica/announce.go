package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"leslie/internal/ledger"
	"leslie/store/internal/content"
	"leslie/store/internal/state"
	"leslie/store/internal/statefile"
	"leslie/thread"
)

// This file adds an operation to the log of a connected project: what it relies on first,
// then its line, if no other machine's came first. Only then it is committed here. A
// process that dies in between loses nothing: the next one finds the operation in the log,
// as if another machine had made it.

// ErrBehind says that an operation of another machine came first.
var ErrBehind = errors.New("another machine came first")

// appendFor is how long a call waits for the engine's word on an operation.
const appendFor = 20 * time.Second

// Announce adds the operation of next, with its steps, to the log; nothing where there is
// none. Errors: ErrBehind; T402, T505, T510,
// T511, T904.
func (l *Link) Announce(ctx context.Context, now *state.Loaded, next *statefile.Image, steps []thread.Step) error {
	if l == nil {
		return nil
	}
	op := next.Operation
	if l.Offline {
		return Error(ctx, Offline{}, op.ID)
	}
	chain, last, err := l.endOfLog(ctx, now)
	if err != nil {
		return Error(ctx, err, op.ID)
	}
	e, err := op.All()
	if err != nil {
		return err
	}
	line, body, err := MakeLine(e, steps, chain, l.Machine)
	if err != nil {
		return err
	}
	if body != nil {
		if err := l.Ledger.PutBlob(ctx, string(content.IDOf(body)), body); err != nil {
			return Error(ctx, Unsent(err), op.ID)
		}
	}
	sending, cancel := context.WithTimeout(ctx, appendFor)
	defer cancel()
	err = l.Ledger.Append(sending, last, line)
	if errors.Is(err, ledger.ErrConflict) {
		return ErrBehind
	}
	if err != nil {
		if ctx.Err() == nil && sending.Err() != nil {
			err = inTime(err)
		}
		return Error(ctx, err, op.ID)
	}
	op.Chain, op.Machine = Sum(line.Data), l.Machine
	return nil
}

// inTime is an error of an append that has not ended within appendFor: only one that says that nothing was sent says so
// still.
func inTime(err error) error {
	switch {
	case errors.Is(err, ledger.ErrUnknown), // ErrUnreachable may be its cause
		errors.As(err, new(*ledger.TooFewError)):
		return err
	case errors.Is(err, ledger.ErrUnreachable):
		return fmt.Errorf("%w for %s; too few of them may be there", ledger.ErrUnreachable, appendFor)
	}
	return errors.Join(ledger.ErrUnknown, err)
}

// Unsent is an error of storing content: whatever became of that, no operation was sent.
func Unsent(err error) error {
	if errors.Is(err, ledger.ErrUnknown) {
		return errors.Join(ledger.ErrUnreachable, errors.New(err.Error()))
	}
	return err
}

// endOfLog is the hash of the line of what was loaded, and its operation's id.
func (l *Link) endOfLog(ctx context.Context, now *state.Loaded) (chain, last string, err error) {
	chain = l.ChainOf(now.Operation)
	if now.Operation == nil {
		return chain, "", nil
	}
	last = string(now.Operation.ID)
	if chain == "" {
		line, err := l.LineOf(ctx, now.Operation, now.Revision)
		return Sum(line.Data), last, err
	}
	return chain, last, nil
}
