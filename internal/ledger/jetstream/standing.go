package jetstream

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"leslie/internal/ledger"
)

// Standing connects with each server of the address on its own, and publishes a message for a place that no log
// reaches: whoever may append is told that the place is wrong, and nobody else is heard.
func (l *log) Standing(ctx context.Context) (s ledger.Standing, err error) {
	urls := strings.Split(l.servers, ",")
	s.Servers = make([]ledger.ServerStanding, len(urls))
	var all sync.WaitGroup
	for i, url := range urls {
		all.Go(func() {
			one := l.alone(url)
			_, err := one.connected(ctx)
			_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
			s.Servers[i] = ledger.ServerStanding{URL: url, Answers: err == nil || errors.Is(err, ledger.ErrDenied), Untrusted: untrusted}
			_ = one.close()
		})
	}
	s.MayAppend, err = l.mayAppend(ctx)
	all.Wait()
	return s, err
}

func (l *log) mayAppend(ctx context.Context) (bool, error) {
	answer, _, err := l.ask(ctx, &nats.Msg{Subject: l.op, Data: []byte("may I"), Header: nats.Header{
		nats.ExpectedStreamHdr:  {l.names.log},
		nats.ExpectedLastSeqHdr: {strconv.FormatInt(math.MaxInt64, 10)},
	}}, l.exists(l.names.log))
	if login := new(ledger.LoginError); errors.Is(err, ledger.ErrDenied) && !errors.As(err, &login) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	refusal, err := decode(answer.Data, nil)
	if err == nil && refusal == nil {
		err = errors.New("the server took a line at a place that no log reaches")
	}
	return err == nil, err
}
