package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"leslie/internal/ledger"
)

// How much AppendAll sends before it waits for answers.
const (
	windowLines = 1024
	windowBytes = 8 << 20
)

// message returns a line as it is published. Its sequence is all that the server compares:
// server 2.15.2 can compare the id of the line before, too, but a cluster where that differs
// stops the stream for good ("critical write error") instead of refusing the message.
func (l *log) message(line ledger.Line) *nats.Msg {
	return &nats.Msg{Subject: l.op, Data: line.Data, Header: nats.Header{
		sealHeader:              {lineSeal(line)},
		nats.MsgIdHdr:           {line.ID},
		nats.ExpectedStreamHdr:  {l.names.log},
		nats.ExpectedLastSeqHdr: {strconv.FormatInt(line.Seq-1, 10)},
	}}
}

// behind returns ErrConflict if the line before a place is another than the one with the
// id last. That never changes once it is there, so it may be compared before the line is
// sent; after a read of the log that takes no request.
func (l *log) behind(ctx context.Context, last string, seq int64) error {
	before := l.knownID(seq - 1)
	if before == "" && seq > 1 {
		line, err := l.line(ctx, seq-1)
		switch {
		case errors.Is(err, ledger.ErrGap): // or not there yet, which the sequence tells
			return nil
		case err != nil:
			return err
		}
		before = line.ID
	}
	if before != last {
		return failure(ledger.ErrConflict, fmt.Errorf("line %d is %q", seq-1, before))
	}
	return nil
}

func check(line ledger.Line) error {
	switch {
	case len(line.Data) > ledger.MaxLine:
		return fmt.Errorf("line %d has %d bytes; at most %d are possible", line.Seq, len(line.Data), ledger.MaxLine)
	case line.ID == "" || strings.ContainsAny(line.ID, "\r\n"):
		return fmt.Errorf("line %d has no usable id", line.Seq)
	case line.Seq < 1:
		return fmt.Errorf("there is no place %d", line.Seq)
	}
	return nil
}

// ack is the answer to a message that a stream got.
type ack struct {
	Seq       int64 `json:"seq"`
	Duplicate bool  `json:"duplicate"`
}

// Append publishes the line until somebody says what became of it.
func (l *log) Append(ctx context.Context, last string, line ledger.Line) error {
	if err := check(line); err != nil {
		return err
	}
	if err := l.behind(ctx, last, line.Seq); err != nil {
		return err
	}
	msg := l.message(line)
	lost := false // an answer: the line may be there although a later attempt fails
	for {
		answer, sent, err := l.ask(ctx, msg, l.exists(l.names.log))
		lost = lost || sent
		if err != nil {
			return unlessLost(lost, err)
		}
		var got ack
		refusal, err := decode(answer.Data, &got)
		switch {
		case err != nil:
			return unlessLost(true, err)
		case refusal == nil && got.Seq == line.Seq:
			l.know(line)
			return nil
		case refusal == nil:
			return failure(ledger.ErrConflict, fmt.Errorf("the id is at %d", got.Seq))
		case refusal.kind() == ledger.ErrConflict:
			if err := l.conflict(ctx, line, lost, refusal); !errors.Is(err, errComing) {
				return err
			}
		case !refusal.passing():
			return unlessLost(lost, refusal.wrapped())
		}
		lost = lost || refusal.ErrCode == codeInFlight
		if !pause(ctx) {
			return unlessLost(lost, failure(l.silence(ctx), refusal))
		}
	}
}

// unlessLost returns the error of an attempt, if it says what became of the line: an
// attempt whose answer is lost may have succeeded.
func unlessLost(lost bool, err error) error {
	if lost {
		return failure(ledger.ErrUnknown, err)
	}
	return err
}

// errComing says that the place is refused and nobody has a line there yet: a leader refuses
// it as soon as it has a line for it, and stores that only once the other servers have it
// too. Where that line does not arrive, the place is free again.
var errComing = errors.New("a line for that place is on its way")

// conflict returns what a refusal means, since another line has the place or the one
// before is another: nothing, if the line itself is there. Then it is this one sent again.
// With ErrConflict the other line can be read.
func (l *log) conflict(ctx context.Context, line ledger.Line, lost bool, refusal error) error {
	there, err := l.fromLeader(ctx, line.Seq)
	if errors.Is(err, ledger.ErrMissing) {
		if i, err := l.info(ctx, l.names.log); err == nil && i.State.Last == line.Seq-1 {
			return errComing
		}
	}
	if lost && errors.Is(err, ledger.ErrMissing) {
		there, err = l.fromOthers(ctx, line.Seq)
	}
	switch {
	case err == nil && there.ID == line.ID:
		l.know(line)
		return nil
	case err == nil, errors.Is(err, ledger.ErrMissing), !lost:
		return failure(ledger.ErrConflict, refusal)
	}
	return failure(ledger.ErrUnknown, err)
}

// AppendAll publishes lines without waiting for each answer. Where that goes wrong, it
// looks how far the log has come, and goes on there.
func (l *log) AppendAll(ctx context.Context, last string, lines []ledger.Line) error {
	for _, line := range lines {
		if err := check(line); err != nil {
			return err
		}
	}
	if len(lines) > 0 {
		if err := l.behind(ctx, last, lines[0].Seq); err != nil {
			return err
		}
	}
	for len(lines) > 0 {
		n, err := l.publishAll(ctx, lines)
		if err != nil {
			return err
		}
		if n == 0 {
			if n, err = l.past(ctx, lines); err != nil {
				return err
			}
		}
		if n == 0 { // Append decides what this means
			if err := l.Append(ctx, last, lines[0]); err != nil {
				return err
			}
			n = 1
		}
		l.know(lines[n-1])
		last, lines = lines[n-1].ID, lines[n:]
	}
	return nil
}

// past returns how many of the lines, from the first, are there already: if the last line
// of the log is one of them, it was appended behind those before it.
func (l *log) past(ctx context.Context, lines []ledger.Line) (n int, err error) {
	h, err := l.Head(ctx)
	if err != nil {
		return 0, err
	}
	i := h.Seq - lines[0].Seq
	if i < 0 || i >= int64(len(lines)) || lines[i].ID != h.ID {
		return 0, nil
	}
	return int(i) + 1, nil
}

// publishAll returns how many lines, from the first, the stream has confirmed. It ends at
// the first trouble.
func (l *log) publishAll(ctx context.Context, lines []ledger.Line) (n int, err error) {
	nc, err := l.connected(ctx)
	if err != nil {
		return 0, err
	}
	watched, stop := l.watch(ctx, l.op)
	defer stop()
	inbox := nc.NewInbox()
	answers, err := nc.SubscribeSync(inbox + ".*")
	if err != nil {
		return 0, nil
	}
	defer func() { _ = answers.Unsubscribe() }()
	next, waiting := 0, 0 // the next line to send; bytes that are sent and not confirmed
	for n < len(lines) {
		for next < len(lines) && next-n < windowLines && waiting < windowBytes {
			msg := l.message(lines[next])
			msg.Reply = inbox + "." + strconv.Itoa(next)
			if nc.PublishMsg(msg) != nil {
				return n, nil
			}
			waiting, next = waiting+len(lines[next].Data), next+1
		}
		if !confirmed(watched, answers, inbox+"."+strconv.Itoa(n), lines[n].Seq) {
			if cause := context.Cause(watched); errors.Is(cause, ledger.ErrDenied) {
				return n, cause
			}
			return n, nil
		}
		waiting -= len(lines[n].Data)
		n++
	}
	return n, nil
}

// confirmed waits for the next answer, and reports whether it says that the line that it
// belongs to got its place. Answers come in the order of the lines.
func confirmed(ctx context.Context, answers *nats.Subscription, subject string, seq int64) bool {
	limited, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	answer, err := answers.NextMsgWithContext(limited)
	if err != nil || answer.Subject != subject {
		return false
	}
	var got ack
	refusal, err := decode(answer.Data, &got)
	return err == nil && refusal == nil && got.Seq == seq
}
