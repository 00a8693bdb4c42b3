package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"leslie/internal/ledger"
)

// The turn's consumer, and how long it keeps a request for who waits.
const (
	turnConsumer = "turn"
	turnRequest  = time.Minute
	// Who has the token says so, for turnFor at most; the next one gets it when that was
	// not heard for silentFor. All others wait so long when its holder is gone, and also
	// when somebody was killed who waited: a server that gives out the token does not
	// know whether who waits at another server is still there.
	turnFor   = 5 * time.Second
	silentFor = time.Second
	// A server says this often that it still knows a request; who hears nothing for
	// longer asks again.
	heartbeat = 2 * time.Second
	quietFor  = 5 * time.Second
	// Who hears nothing for this long gives up. Servers take up to 8 s to elect a leader.
	unheardFor = 12 * time.Second
)

// Turn asks the consumer for its only message, which it gives to one at a time, in the
// order of requests.
func (l *log) Turn(ctx context.Context) (done func(), err error) {
	waiting, end := context.WithCancelCause(ctx)
	defer end(nil)
	unheard := time.AfterFunc(unheardFor, func() {
		end(&ledger.TooFewError{Cause: errors.New("no server says whose turn it is")})
	})
	defer unheard.Stop()
	for {
		nc, err := l.connected(waiting)
		var token *nats.Msg
		if err == nil {
			token, err = l.awaitTurn(waiting, nc, l.exists(l.names.turn), func() { unheard.Reset(unheardFor) })
		}
		switch {
		case token != nil:
			return hold(ctx, nc, token), nil
		case ctx.Err() == nil && waiting.Err() != nil:
			return nil, context.Cause(waiting)
		case err != nil:
			return nil, err
		case !pause(ctx):
			return nil, l.silence(ctx)
		}
	}
}

// hold says that somebody has the token, until done is called or the context ends.
func hold(ctx context.Context, nc *nats.Conn, token *nats.Msg) (done func()) {
	ctx, stop := context.WithTimeout(ctx, turnFor)
	var saying sync.WaitGroup
	saying.Go(func() {
		again := time.NewTicker(silentFor / 3)
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
				_ = token.Respond([]byte("+WPI"))
			}
		}
	})
	return sync.OnceFunc(func() {
		stop()
		saying.Wait()
		giveBack(nc, token)
	})
}

// giveBack ends a turn, and waits until the server has read so: the process may end now,
// and what is then still in a buffer is lost. All others would wait until the turn ends by
// itself.
func giveBack(nc *nats.Conn, token *nats.Msg) {
	if token.Respond([]byte("-NAK")) == nil {
		_ = nc.FlushTimeout(answerWithin)
	}
}

// awaitTurn asks for the token until it comes; nil if the connection breaks before. heard is
// told that a server knows the request.
func (l *log) awaitTurn(ctx context.Context, nc *nats.Conn, why func(context.Context) error, heard func()) (*nats.Msg, error) {
	subject := "$JS.API.CONSUMER.MSG.NEXT." + l.names.turn + "." + turnConsumer
	request := fmt.Appendf(nil, `{"batch":1,"expires":%d,"idle_heartbeat":%d}`, turnRequest, heartbeat)
	watched, stop := l.watch(ctx, subject)
	defer stop()
	// One inbox for all requests: the token may also come for one that was given up.
	answers, err := subscribe(nc, subject, request)
	if err != nil {
		return nil, nil
	}
	defer func() { _ = answers.Unsubscribe() }()
	for {
		limited, cancel := context.WithTimeout(watched, quietFor)
		m, err := answers.NextMsgWithContext(limited)
		cancel()
		switch {
		case err == nil && status(m) == "100": // the request is still known
			heard()
			continue
		case err == nil && status(m) == "":
			return m, nil
		case errors.Is(context.Cause(watched), ledger.ErrDenied):
			return nil, context.Cause(watched)
		case ctx.Err() != nil: // somebody else has it
			return nil, ctx.Err()
		case watched.Err() != nil:
			return nil, nil
		}
		if why != nil {
			if err := why(ctx); err != nil {
				return nil, err
			}
			why = nil
		}
		if !pause(ctx) || nc.PublishRequest(subject, answers.Subject, request) != nil {
			return nil, nil
		}
	}
}
