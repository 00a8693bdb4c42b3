package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"leslie/internal/ledger"
)

// How much is asked of a copy at once: enough that the round trips of a long log do not
// count, and not more than a server sends before it thinks that nobody reads.
const (
	batchLines  = 10_000
	batchBytes  = 8 << 20
	leaderLines = 64
)

// After reads from whichever copy answers, while the leader says where the log ends. What
// that copy lacks is read elsewhere: a server skips a damaged message without a word.
func (l *log) After(ctx context.Context, seq int64, each func(ledger.Line) error) error {
	r := reader{log: l, at: seq, each: each}
	return r.catchUp(ctx)
}

// reader hands out lines in order.
type reader struct {
	*log
	at   int64 // the place of the last one
	each func(ledger.Line) error
}

// catchUp reads up to the end.
func (r *reader) catchUp(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type found struct {
		info
		err error
	}
	end := make(chan found, 1)
	go func() {
		i, err := r.info(ctx, r.names.log)
		end <- found{i, err}
	}()
	if err := r.batch(ctx); err != nil {
		return err
	}
	f := <-end
	if f.err != nil {
		return f.err
	}
	return r.until(ctx, f.State.Last)
}

// until reads up to a place that the log has reached.
func (r *reader) until(ctx context.Context, last int64) error {
	for r.at < last {
		was := r.at
		if err := r.batch(ctx); err != nil {
			return err
		}
		if r.at > was || r.at >= last {
			continue
		}
		// This copy ends here: it is behind, or does not answer.
		if err := r.fill(ctx, min(last, r.at+leaderLines)); err != nil {
			return err
		}
	}
	return nil
}

// take hands out a line that comes next; what is missing before it is read elsewhere.
func (r *reader) take(ctx context.Context, line ledger.Line) error {
	if line.Seq <= r.at {
		return nil
	}
	if line.Seq > r.at+1 {
		if err := r.heal(ctx, line.Seq-1); err != nil {
			return err
		}
	}
	return r.hand(line)
}

// hand gives the next line to who reads.
func (r *reader) hand(line ledger.Line) error {
	if err := r.each(line); err != nil {
		return err
	}
	r.know(line)
	r.at = line.Seq
	return nil
}

// heal hands out the lines up to a place, which this copy lacks, and tells of it.
func (r *reader) heal(ctx context.Context, last int64) error {
	hole := r.at
	if err := r.fill(ctx, last); err != nil {
		return err
	}
	r.gap(hole)
	return nil
}

// fill hands out the lines up to a place, from the leader or else from any copy.
func (r *reader) fill(ctx context.Context, last int64) error {
	for r.at < last {
		lines, err := r.some(ctx, r.at+1, min(last, r.at+leaderLines))
		for _, line := range lines {
			if err := r.hand(line); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// some reads lines at once, each alone, and returns those before the first error.
func (r *reader) some(ctx context.Context, from, to int64) ([]ledger.Line, error) {
	lines := make([]ledger.Line, to-from+1)
	errs := make([]error, len(lines))
	var all sync.WaitGroup
	for i := range lines {
		all.Go(func() { lines[i], errs[i] = r.line(ctx, from+int64(i)) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return lines[:i], err
		}
	}
	return lines, nil
}

// batch hands out what one copy has behind the place that is reached. It is no error if
// that is nothing, or if no copy answers.
func (r *reader) batch(ctx context.Context) error {
	nc, err := r.connected(ctx)
	if err != nil {
		return err
	}
	request, err := json.Marshal(map[string]int64{"seq": r.at + 1, "batch": batchLines, "max_bytes": batchBytes})
	if err != nil {
		return err
	}
	subject := "$JS.API.DIRECT.GET." + r.names.log
	watched, stop := r.watch(ctx, subject)
	defer stop()
	answers, err := subscribe(nc, subject, request)
	if err != nil {
		return r.quiet(ctx, watched)
	}
	defer func() { _ = answers.Unsubscribe() }()
	for {
		limited, cancel := context.WithTimeout(watched, answerWithin)
		m, err := answers.NextMsgWithContext(limited)
		cancel()
		if err != nil {
			return r.quiet(ctx, watched)
		}
		if status(m) != "" { // the end of what was asked for, nothing found, nobody there
			return nil
		}
		line, err := lineOf(m)
		switch {
		case err == nil:
			err = r.take(ctx, line)
		case !errors.Is(err, errDamaged):
		case line.Seq == r.at+1:
			err = r.heal(ctx, line.Seq)
		default: // then its place is not certain: what follows shows that one is missing
			err = nil
		}
		if err != nil {
			return err
		}
	}
}

// quiet returns what it means that no answer came: an error only if it was refused, or if
// there is no more time.
func (r *reader) quiet(ctx, watched context.Context) error {
	if cause := context.Cause(watched); errors.Is(cause, ledger.ErrDenied) {
		return cause
	}
	if ctx.Err() != nil {
		return r.silence(ctx)
	}
	return nil
}

// subscribe sends a request that gets many answers.
func subscribe(nc *nats.Conn, subject string, request []byte) (*nats.Subscription, error) {
	inbox := nc.NewInbox()
	answers, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	// The request limits what comes, and nothing of it may be dropped.
	if err := answers.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	if err := nc.PublishRequest(subject, inbox, request); err != nil {
		_ = answers.Unsubscribe()
		return nil, err
	}
	return answers, nil
}

// lineOf returns the line that a copy sent, with errDamaged if it is not as it was appended.
func lineOf(m *nats.Msg) (ledger.Line, error) {
	seq, err := strconv.ParseInt(m.Header.Get(nats.JSSequence), 10, 64)
	if err != nil {
		return ledger.Line{}, fmt.Errorf("the server's answer is not understood: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get(nats.JSTimeStamp))
	if err != nil {
		return ledger.Line{}, fmt.Errorf("the server's answer is not understood: %w", err)
	}
	line := ledger.Line{Seq: seq, ID: m.Header.Get(nats.MsgIdHdr), Data: m.Data, Time: at}
	if !whole(line, m.Header) {
		return line, failure(ledger.ErrMissing, errDamaged)
	}
	return line, nil
}

// fromOthers returns a line that some server has. ErrMissing if none has it.
func (l *log) fromOthers(ctx context.Context, seq int64) (ledger.Line, error) {
	var line ledger.Line
	err := l.elsewhere(ctx, "$JS.API.DIRECT.GET."+l.names.log, fmt.Appendf(nil, `{"seq":%d}`, seq), func(m *nats.Msg) (err error) {
		line, err = lineOf(m)
		return err
	})
	return line, err
}

// elsewhere sends a direct request to each server that is known, over a connection of its
// own: a server that has a copy answers from that. The first answer that use accepts is
// it. ErrMissing if all say that it is not there, or have it damaged.
func (l *log) elsewhere(ctx context.Context, subject string, request []byte, use func(*nats.Msg) error) error {
	nc, err := l.connected(ctx)
	if err != nil {
		return err
	}
	err = failure(ledger.ErrMissing, errors.New("no server that was asked has it"))
	for _, server := range nc.Servers() {
		m, e := l.from(ctx, server, subject, request)
		if e == nil {
			e = use(m)
		}
		switch {
		case e == nil:
			return nil
		case ctx.Err() != nil:
			return l.silence(ctx)
		case !errors.Is(e, ledger.ErrMissing):
			err = e // it may have it
		}
	}
	return err
}

func (l *log) from(ctx context.Context, server, subject string, request []byte) (*nats.Msg, error) {
	one := l.alone(server)
	defer func() { _ = one.close() }()
	nc, err := one.connected(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	m, err := nc.RequestWithContext(limited, subject, request)
	switch {
	case errors.Is(err, nats.ErrNoResponders) || err == nil && status(m) != "":
		return nil, ledger.ErrMissing
	case err != nil:
		return nil, failure(ledger.ErrUnreachable, err)
	}
	return m, nil
}
