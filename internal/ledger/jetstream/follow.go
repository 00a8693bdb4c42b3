package jetstream

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"leslie/internal/ledger"
)

const (
	// followStart limits the first answer. Later silence is waited out.
	followStart = 20 * time.Second
	// lookEvery is how often who follows looks for lines that nobody told of.
	lookEvery = 5 * time.Second
)

// Follow reads what is there, and reads on whenever the stream's leader says that it has
// stored a line. That is no more than a hint, which may get lost or be false: lines come
// from the stream alone. It needs no consumer, of which servers can have only so many.
func (l *log) Follow(ctx context.Context, seq int64, each func(ledger.Line) error) error {
	var failed error
	r := &reader{log: l, at: seq, each: func(line ledger.Line) error {
		failed = each(line)
		return failed
	}}
	for first := true; ; first = false {
		err := r.follow(ctx, first)
		switch {
		case ctx.Err() != nil:
			return nil
		case failed != nil:
			return failed
		case err != nil && (first || !passes(err)):
			return err
		case !pause(ctx):
			return nil
		}
	}
}

// passes reports whether it makes sense to try again.
func passes(err error) bool {
	return errors.Is(err, ledger.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// follow hands out lines until the connection breaks. first: nobody has answered yet, and
// that is an error if it takes long.
func (r *reader) follow(ctx context.Context, first bool) error {
	start, cancel := context.WithTimeout(ctx, followStart)
	defer cancel()
	nc, err := r.connected(start)
	if err != nil {
		return err
	}
	watched, stop := r.watch(ctx, r.notice)
	defer stop()
	// What is stored from now on is told of, and what is there already is read.
	hints, err := nc.SubscribeSync(r.notice)
	if err != nil {
		return failure(ledger.ErrUnreachable, err)
	}
	defer func() { _ = hints.Unsubscribe() }()
	err = r.catchUp(start)
	for err == nil || !first && passes(err) {
		hint := nextHint(watched, hints)
		if watched.Err() != nil {
			if cause := context.Cause(watched); errors.Is(cause, ledger.ErrDenied) {
				return cause
			}
			return nil
		}
		first, err = false, r.hinted(ctx, hint)
	}
	return err
}

// nextHint waits for hints and returns the place that the last of them names; 0 if none
// came for long.
func nextHint(ctx context.Context, hints *nats.Subscription) (seq int64) {
	limited, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	for {
		m, err := hints.NextMsgWithContext(limited)
		if err != nil {
			return 0
		}
		if more, _, err := hints.Pending(); err != nil || more == 0 {
			seq, _ := strconv.ParseInt(m.Header.Get(nats.JSSequence), 10, 64)
			return seq
		}
	}
}

// hinted reads up to a place, or to the end if that is not there or unknown.
func (r *reader) hinted(ctx context.Context, seq int64) error {
	if seq > 0 {
		if seq <= r.at {
			return nil
		}
		if err := r.batch(ctx); err != nil || r.at >= seq {
			return err
		}
	}
	return r.catchUp(ctx)
}
