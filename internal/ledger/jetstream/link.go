package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"leslie/internal/ledger"
)

// How long things may take. A caller's context limits the sum of them.
const (
	dialWithin     = 2 * time.Second        // one server: address, TCP, TLS and greeting
	pingEvery      = 2 * time.Second        // a server that does not answer three times is left
	reconnectPause = 100 * time.Millisecond // between two rounds through the servers
	answerWithin   = 2 * time.Second        // then a request is sent again: its answer may be lost
	retryPause     = 50 * time.Millisecond  // when nobody can answer, for an election may be on
)

// link is a connection that is made when it is used first, and again when it has ended.
// It is safe for concurrent use.
type link struct {
	servers     string
	opts        []nats.Option
	credentials string // the file that they are from, "" for none

	mu      sync.Mutex
	nc      *nats.Conn
	dial    *dialing
	closed  bool
	watches map[*watch]bool
}

// dialing is one attempt to connect, for all who wait for it.
type dialing struct {
	done chan struct{}
	nc   *nats.Conn
	err  error
}

// watch is a call that waits for answers, and how it is told that none will come.
type watch struct {
	subject string // that it published to
	end     context.CancelCauseFunc
}

// errLost says that the connection broke: the answers to what was sent before are lost.
var errLost = errors.New("the connection broke")

func (e Engine) newLink(at ledger.Address) (*link, error) {
	servers, opts, err := e.options(at)
	if err != nil {
		return nil, err
	}
	return &link{servers: servers, opts: opts, credentials: at.Credentials, watches: map[*watch]bool{}}, nil
}

// alone returns a link to one server, with the same credentials, that goes to no other of its cluster.
func (l *link) alone(server string) *link {
	opts := append(slices.Clone(l.opts), nats.IgnoreDiscoveredServers())
	return &link{servers: server, opts: opts, credentials: l.credentials, watches: map[*watch]bool{}}
}

// connected returns the connection. Where none is, it tries each server once.
func (l *link) connected(ctx context.Context) (*nats.Conn, error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, failure(ledger.ErrUnreachable, errors.New("the connection was closed"))
	}
	if l.nc != nil && !l.nc.IsClosed() {
		defer l.mu.Unlock()
		return l.nc, nil
	}
	if l.dial == nil {
		l.dial = &dialing{done: make(chan struct{})}
		go l.connect(l.dial)
	}
	d := l.dial
	l.mu.Unlock()
	select {
	case <-d.done:
		return d.nc, d.err
	case <-ctx.Done():
		return nil, l.silence(ctx)
	}
}

func (l *link) connect(d *dialing) {
	defer close(d.done)
	nc, err := nats.Connect(l.servers, append(slices.Clone(l.opts),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { l.wake("", errLost) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { l.refused(err) }),
	)...)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dial = nil
	switch {
	case err != nil:
		d.err = l.connectError(err)
	case l.closed:
		nc.Close()
		d.err = failure(ledger.ErrUnreachable, errors.New("the connection was closed"))
	default:
		l.nc, d.nc = nc, nc
	}
}

func (l *link) connectError(err error) error {
	for _, e := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired} {
		if errors.Is(err, e) {
			return &ledger.LoginError{Cause: fmt.Errorf("%s: %w", described(l.credentials), err), None: l.credentials == ""}
		}
	}
	return failure(ledger.ErrUnreachable, err)
}

func (l *link) close() error {
	l.mu.Lock()
	l.closed = true
	nc := l.nc
	l.mu.Unlock()
	if nc != nil {
		nc.Close()
	}
	return nil
}

// watch returns a context that also ends, with the cause, when the connection breaks or
// the server refuses what is published to a subject, which it says to nobody in
// particular. stop ends the watch.
func (l *link) watch(ctx context.Context, subject string) (watched context.Context, stop func()) {
	watched, end := context.WithCancelCause(ctx)
	w := &watch{subject, end}
	l.mu.Lock()
	l.watches[w] = true
	l.mu.Unlock()
	return watched, func() {
		l.mu.Lock()
		delete(l.watches, w)
		l.mu.Unlock()
		end(nil)
	}
}

// wake ends the watches of a subject, or all.
func (l *link) wake(subject string, cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.watches {
		if subject == "" || w.subject == subject {
			w.end(cause)
		}
	}
}

// refusedSubject is the subject that nothing may be published to, in what a server says of
// a refusal; "" if it is about something else.
func refusedSubject(text string) string {
	_, rest, _ := strings.Cut(text, `Publish to "`)
	subject, _, _ := strings.Cut(rest, `"`)
	return subject
}

// refused is told of errors that belong to no answer.
func (l *link) refused(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	// Where it is a subscription, no answer comes to anybody, and all are told.
	l.wake(refusedSubject(err.Error()), failure(ledger.ErrDenied, err))
}

// ask sends a request until somebody answers, it is refused, or the context ends. sent
// says whether a server may have got one whose answer is lost. Where nobody listens it
// asks once why, if it has a function for that, and goes on while that returns nil.
func (l *link) ask(ctx context.Context, msg *nats.Msg, why func(context.Context) error) (answer *nats.Msg, sent bool, err error) {
	for {
		nc, err := l.connected(ctx)
		if err != nil {
			return nil, sent, err
		}
		answer, out, err := l.askOnce(ctx, nc, msg)
		if err == nil {
			return answer, sent, nil
		}
		sent = sent || out
		switch {
		case errors.Is(err, ledger.ErrDenied), errors.Is(err, nats.ErrMaxPayload):
			return nil, sent, err
		case ctx.Err() != nil:
			return nil, sent, l.silence(ctx)
		case errors.Is(err, nats.ErrNoResponders) && why != nil:
			if err := why(ctx); err != nil {
				return nil, sent, err
			}
			why = nil
		case !out && !pause(ctx):
			return nil, sent, failure(l.silence(ctx), err)
		}
	}
}

// askOnce sends a request and waits a while. sent is for an error: whether it got out.
func (l *link) askOnce(ctx context.Context, nc *nats.Conn, msg *nats.Msg) (answer *nats.Msg, sent bool, err error) {
	watched, stop := l.watch(ctx, msg.Subject)
	defer stop()
	limited, cancel := context.WithTimeout(watched, answerWithin)
	defer cancel()
	answer, err = nc.RequestMsgWithContext(limited, msg)
	if err == nil {
		return answer, false, nil
	}
	if cause := context.Cause(watched); errors.Is(cause, ledger.ErrDenied) {
		return nil, false, cause
	}
	// Other errors say that it could not be sent, or that nobody was there to get it.
	return nil, errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled), err
}

// apiError is JetStream's own kind of error.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

// Error is what the server says.
func (e *apiError) Error() string { return fmt.Sprintf("%s (%d)", e.Description, e.ErrCode) }

// JetStream's errors that are told apart, by their err_code.
const (
	codeAccountFull   = 10002
	codeNoQuorum      = 10008
	codeNotLeader     = 10009
	codeServerFull    = 10023
	codeNoMessage     = 10037
	codeStorageFull   = 10047
	codeOtherConfig   = 10058
	codeNoStream      = 10059
	codeWrongStream   = 10060
	codeWrongLastID   = 10070
	codeWrongLast     = 10071
	codeStoreFailed   = 10077
	codeSealed        = 10109
	codeOffline       = 10118
	codeInFlight      = 10158
	codeWrongLastFlat = 10164
)

// kind returns the ledger's error that an answer means, or nil if it is none of them.
func (e *apiError) kind() error {
	switch e.ErrCode {
	case codeWrongLast, codeWrongLastFlat, codeWrongLastID:
		return ledger.ErrConflict
	case codeAccountFull, codeServerFull, codeStorageFull, codeStoreFailed:
		return ledger.ErrFull
	case codeNoStream, codeNoMessage, codeWrongStream:
		return ledger.ErrMissing
	case codeSealed:
		return ledger.ErrSealed
	}
	return nil
}

// passing reports whether the same request can succeed soon: a group elects its leader,
// or the first copy of a message is on its way.
func (e *apiError) passing() bool {
	return e.ErrCode == codeNoQuorum || e.ErrCode == codeNotLeader || e.ErrCode == codeOffline || e.ErrCode == codeInFlight
}

func (e *apiError) wrapped() error {
	if kind := e.kind(); kind != nil {
		return failure(kind, e)
	}
	return e
}

// api carries out a request of JetStream's interface: the last tokens of its subject, and
// request and response in JSON.
func (l *link) api(ctx context.Context, what string, request, response any) error {
	data, err := json.Marshal(request)
	if err != nil {
		return err
	}
	for {
		answer, _, err := l.ask(ctx, &nats.Msg{Subject: "$JS.API." + what, Data: data}, nil)
		if err != nil {
			return err
		}
		if again, err := l.taken(ctx, answer.Data, response); !again {
			return err
		}
	}
}

// taken reads an answer. again says, after a pause, that the same request can succeed now.
func (l *link) taken(ctx context.Context, data []byte, response any) (again bool, err error) {
	refusal, err := decode(data, response)
	switch {
	case err != nil || refusal == nil:
		return false, err
	case !refusal.passing():
		return false, refusal.wrapped()
	case !pause(ctx):
		return false, failure(l.silence(ctx), refusal)
	}
	return true, nil
}

// decode reads an answer, or the error that it is.
func decode(data []byte, response any) (*apiError, error) {
	var either struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(data, &either); err != nil {
		return nil, fmt.Errorf("the server's answer is not understood: %w", err)
	}
	if either.Error != nil {
		return either.Error, nil
	}
	if response == nil {
		return nil, nil
	}
	if err := json.Unmarshal(data, response); err != nil {
		return nil, fmt.Errorf("the server's answer is not understood: %w", err)
	}
	return nil, nil
}

// pause waits a moment; false if the context ended.
func pause(ctx context.Context) bool {
	t := time.NewTimer(retryPause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// failure returns an error that is of a kind and tells its cause.
func failure(kind, cause error) error { return fmt.Errorf("%w: %w", kind, cause) }

// silence returns what the end of a context means: the caller gave up, or nobody answered in time, of several servers
// not even one that is connected.
func (l *link) silence(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	l.mu.Lock()
	several := l.nc != nil && l.nc.IsConnected() && len(l.nc.Servers()) > 1
	l.mu.Unlock()
	if several {
		return &ledger.TooFewError{Cause: ctx.Err()}
	}
	return failure(ledger.ErrUnreachable, ctx.Err())
}

// status returns the code of a message without content that the server made, or "".
func status(m *nats.Msg) string {
	if len(m.Data) > 0 {
		return ""
	}
	return m.Header.Get("Status")
}
