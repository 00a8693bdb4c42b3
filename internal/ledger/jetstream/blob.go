package jetstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"leslie/internal/ledger"
)

// A blob's parts, and how many are under way at once.
const (
	partBytes = 512 << 10
	partsOnce = 4
)

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func checkHash(sum string) error {
	if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size {
		return fmt.Errorf("%q is no SHA-256", sum)
	}
	return nil
}

func partCount(size int) int { return (size + partBytes - 1) / partBytes }

func (l *log) partSubject(sum string, i int) string { return l.blob + sum + "." + strconv.Itoa(i) }

// PutBlob stores the parts, and when all are stored the size, which makes the blob exist.
// Who stores it a second time replaces each message by the same.
func (l *log) PutBlob(ctx context.Context, sum string, data []byte) error {
	if err := checkHash(sum); err != nil {
		return err
	}
	looking, cancel := context.WithTimeout(ctx, unconfirmedFor)
	defer cancel()
	there, err := l.direct(looking, l.blob+sum)
	switch {
	case err == nil && string(there) == strconv.Itoa(len(data)):
		return nil
	case err != nil && !errors.Is(err, ledger.ErrMissing) && (ctx.Err() != nil || looking.Err() == nil):
		return err
	}
	return l.RenewBlob(ctx, sum, data)
}

// RenewBlob is PutBlob without a look at what is there.
func (l *log) RenewBlob(ctx context.Context, sum string, data []byte) error {
	if hashOf(data) != sum {
		return errors.New("the content is not that of its name")
	}
	err := eachPart(partCount(len(data)), func(i int) error {
		return l.put(ctx, l.partSubject(sum, i), data[i*partBytes:min(len(data), (i+1)*partBytes)])
	})
	if err != nil {
		return err
	}
	return l.put(ctx, l.blob+sum, []byte(strconv.Itoa(len(data))))
}

// unconfirmedFor is how long a message goes without a confirmation until it is read, and unconfirmedTimes how often
// it is sent again while nothing else is confirmed, either: an election takes up to 8 s.
const (
	unconfirmedFor   = 5 * time.Second
	unconfirmedTimes = 1
)

// put stores a message of the blobs' stream. In place of a message that is damaged server
// 2.15.2 stores it and never confirms it, since it cannot remove the other: reading tells. It gives up where
// the servers have confirmed neither this message nor another for unconfirmedTimes: too few of them are there.
func (l *log) put(ctx context.Context, subject string, data []byte) error {
	for silences := 0; silences <= unconfirmedTimes; silences++ {
		confirmed := l.confirmed.Load()
		waiting, cancel := context.WithTimeout(ctx, unconfirmedFor)
		err := l.putOnce(waiting, subject, data)
		silent := waiting.Err() != nil
		cancel()
		if err == nil {
			l.confirmed.Add(1)
		}
		if err == nil || !silent || ctx.Err() != nil {
			return err
		}
		reading, cancel := context.WithTimeout(ctx, unconfirmedFor)
		there, _, failed := l.blobMessage(reading, subject)
		cancel()
		if failed == nil && bytes.Equal(there, data) {
			l.confirmed.Add(1)
			return nil
		}
		if l.confirmed.Load() != confirmed { // what is before this message in the line
			silences = -1
		}
	}
	return &ledger.TooFewError{Cause: errors.New("they confirm nothing")}
}

func (l *log) putOnce(ctx context.Context, subject string, data []byte) error {
	return l.publish(ctx, &nats.Msg{Subject: subject, Data: data, Header: nats.Header{
		nats.ExpectedStreamHdr: {l.names.blobs},
		sealHeader:             {seal(subject, data)},
	}}, l.names.blobs)
}

// publish stores a message that may be stored more than once.
func (l *log) publish(ctx context.Context, msg *nats.Msg, stream string) error {
	for {
		answer, sent, err := l.ask(ctx, msg, l.exists(stream))
		if err != nil {
			return unlessLost(sent, err)
		}
		if again, err := l.taken(ctx, answer.Data, nil); !again {
			return err
		}
	}
}

// eachPart calls do for each part, some at once, and returns the first error. Behind one it begins no other.
func eachPart(n int, do func(i int) error) error {
	errs := make([]error, n)
	slots := make(chan struct{}, partsOnce)
	var all sync.WaitGroup
	var failed atomic.Bool
	for i := range n {
		slots <- struct{}{}
		if failed.Load() {
			break
		}
		all.Go(func() {
			defer func() { <-slots }()
			if errs[i] = do(i); errs[i] != nil {
				failed.Store(true)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// GetBlob reads size and parts from whichever copy has them.
func (l *log) GetBlob(ctx context.Context, sum string) ([]byte, error) {
	if err := checkHash(sum); err != nil {
		return nil, err
	}
	text, _, err := l.blobMessage(ctx, l.blob+sum)
	if err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(string(text))
	if err != nil || size < 0 {
		return nil, failure(ledger.ErrGap, fmt.Errorf("the size of %s is %q", sum, text))
	}
	parts := make([][]byte, partCount(size))
	other := make([]bool, len(parts))
	err = eachPart(len(parts), func(i int) (err error) {
		parts[i], other[i], err = l.blobMessage(ctx, l.partSubject(sum, i))
		return err
	})
	switch {
	case errors.Is(err, ledger.ErrMissing):
		return nil, failure(ledger.ErrGap, fmt.Errorf("a part of %s cannot be read", sum))
	case err != nil:
		return nil, err
	}
	data := make([]byte, 0, size)
	for i, part := range parts {
		data = append(data, part...)
		if other[i] {
			l.gap(0)
		}
	}
	if hashOf(data) != sum {
		return nil, failure(ledger.ErrGap, fmt.Errorf("what is stored as %s is not that content", sum))
	}
	return data, nil
}

// blobMessage returns a message of the blobs' stream from the copy that answers first, or
// else from the leader, or else from any. other says that the first lacked it.
func (l *log) blobMessage(ctx context.Context, subject string) (data []byte, other bool, err error) {
	data, err = l.direct(ctx, subject)
	if !errors.Is(err, ledger.ErrMissing) {
		return data, false, err
	}
	var got struct {
		Message struct {
			Headers []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	err = l.api(ctx, "STREAM.MSG.GET."+l.names.blobs, map[string]string{"last_by_subj": subject}, &got)
	if err == nil {
		header, _ := nats.DecodeHeadersMsg(got.Message.Headers)
		data, err = sealed(subject, header, got.Message.Data)
	}
	if errors.Is(err, ledger.ErrMissing) {
		err = l.elsewhere(ctx, l.directSubject(subject), nil, func(m *nats.Msg) (err error) {
			data, err = sealed(subject, m.Header, m.Data)
			return err
		})
	}
	return data, true, err
}

// sealed returns the content of a message that is as it was stored.
func sealed(subject string, header nats.Header, data []byte) ([]byte, error) {
	if header.Get(sealHeader) != seal(subject, data) {
		return nil, failure(ledger.ErrMissing, errDamaged)
	}
	return data, nil
}

// direct returns the last message of a subject of the blobs' stream, as the copy has it
// that answers. Where none answers, ErrMissing: the leader may.
func (l *log) direct(ctx context.Context, subject string) ([]byte, error) {
	nobody := func(context.Context) error { return ledger.ErrMissing }
	m, _, err := l.ask(ctx, &nats.Msg{Subject: l.directSubject(subject)}, nobody)
	switch {
	case err != nil:
		return nil, err
	case status(m) != "":
		return nil, ledger.ErrMissing
	}
	return sealed(subject, m.Header, m.Data)
}

func (l *log) directSubject(subject string) string {
	return "$JS.API.DIRECT.GET." + l.names.blobs + "." + subject
}
