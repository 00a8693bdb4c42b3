package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"leslie/internal/ledger"
)

// Engine is NATS JetStream, on servers that an address names.
type Engine struct {
	// Getenv, if not nil, reads the variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY, which
	// say through which proxy servers are reached by websocket.
	Getenv func(string) string
}

// errDamaged says that a copy of a message is not what was stored. It is as good as none.
var errDamaged = errors.New("it is damaged")

// log is the log of one project.
type log struct {
	*link
	names
	gap func(seq int64)

	seen     sync.Mutex
	lastSeen ledger.Line // without its data: the last one that was read or appended

	confirmed atomic.Int64 // how many parts of content the servers have confirmed
}

// know remembers a line that is in the log.
func (l *log) know(line ledger.Line) {
	l.seen.Lock()
	defer l.seen.Unlock()
	l.lastSeen = ledger.Line{Seq: line.Seq, ID: line.ID}
}

// knownID returns the id of the line at a place, or "" if it was not the last one seen.
func (l *log) knownID(seq int64) string {
	l.seen.Lock()
	defer l.seen.Unlock()
	if l.lastSeen.Seq != seq {
		return ""
	}
	return l.lastSeen.ID
}

// Open reads the address and the credentials. It connects when the log is used first.
func (e Engine) Open(at ledger.Address) (ledger.Ledger, error) {
	l, err := e.open(at)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (e Engine) open(at ledger.Address) (*log, error) {
	n, err := namesOf(at.Project)
	if err != nil {
		return nil, err
	}
	link, err := e.newLink(at)
	if err != nil {
		return nil, err
	}
	gap := at.Gap
	if gap == nil {
		gap = func(int64) {}
	}
	return &log{link: link, names: n, gap: gap}, nil
}

// Close ends the connection.
func (l *log) Close() error { return l.close() }

// info is what a stream's leader says of it.
type info struct {
	Config config `json:"config"`
	// Created tells a stream from another one of its name that was made later.
	Created string    `json:"created"`
	Time    time.Time `json:"ts"`
	State   struct {
		Last int64 `json:"last_seq"`
	} `json:"state"`
}

func (l *log) info(ctx context.Context, stream string) (i info, err error) {
	err = l.api(ctx, "STREAM.INFO."+stream, struct{}{}, &i)
	return i, err
}

// exists returns a function that returns ErrMissing, if there is no such stream.
func (l *log) exists(stream string) func(context.Context) error {
	return func(ctx context.Context) error {
		if _, err := l.info(ctx, stream); errors.Is(err, ledger.ErrMissing) || errors.Is(err, ledger.ErrDenied) {
			return err
		}
		return nil
	}
}

// Head asks for the stream's end and time, and for its last message, at once: together
// they take one round trip.
func (l *log) Head(ctx context.Context) (ledger.Head, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type found struct {
		line ledger.Line
		err  error
	}
	last := make(chan found, 1)
	go func() {
		line, err := l.stored(ctx, map[string]any{"last_by_subj": l.op})
		last <- found{line, err}
	}()
	i, err := l.info(ctx, l.names.log)
	if err != nil {
		return ledger.Head{}, err
	}
	f := <-last
	if i.State.Last > f.line.Seq { // it came in between, or cannot be read there
		f.line, f.err = l.line(ctx, i.State.Last)
	}
	if f.err != nil && i.State.Last > 0 {
		return ledger.Head{}, f.err
	}
	l.know(f.line)
	return ledger.Head{Seq: f.line.Seq, ID: f.line.ID, At: f.line.Time, Now: i.Time, Log: i.Created}, nil
}

// stored returns a line that the stream's leader has. ErrMissing if it has no such line, or
// has it damaged.
func (l *log) stored(ctx context.Context, which map[string]any) (ledger.Line, error) {
	var got struct {
		Message struct {
			Seq     int64     `json:"seq"`
			Headers []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	if err := l.api(ctx, "STREAM.MSG.GET."+l.names.log, which, &got); err != nil {
		return ledger.Line{}, err
	}
	m := got.Message
	header, err := nats.DecodeHeadersMsg(m.Headers)
	line := ledger.Line{Seq: m.Seq, ID: header.Get(nats.MsgIdHdr), Data: m.Data, Time: m.Time}
	if err != nil || !whole(line, header) {
		return ledger.Line{}, failure(ledger.ErrMissing, errDamaged)
	}
	return line, nil
}

func (l *log) fromLeader(ctx context.Context, seq int64) (ledger.Line, error) {
	return l.stored(ctx, map[string]any{"seq": seq})
}

// line returns a line from whoever has it. ErrGap if nobody has it.
func (l *log) line(ctx context.Context, seq int64) (ledger.Line, error) {
	line, err := l.fromLeader(ctx, seq)
	if !errors.Is(err, ledger.ErrMissing) {
		return line, err
	}
	line, err = l.fromOthers(ctx, seq)
	switch {
	case err == nil:
		l.gap(seq - 1)
	case errors.Is(err, ledger.ErrMissing):
		err = fmt.Errorf("line %d of the log is damaged or missing: %w", seq, ledger.ErrGap)
	}
	return line, err
}
