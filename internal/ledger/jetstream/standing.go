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

// Servers connects with each server of the address on its own.
func (l *log) Servers(ctx context.Context) []ledger.ServerStanding {
	urls := strings.Split(l.servers, ",")
	servers := make([]ledger.ServerStanding, len(urls))
	var all sync.WaitGroup
	for i, url := range urls {
		all.Go(func() {
			one := l.alone(url)
			_, err := one.connected(ctx)
			_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
			answers := err == nil || errors.Is(err, ledger.ErrDenied)
			servers[i] = ledger.ServerStanding{URL: url, Answers: answers, Untrusted: untrusted}
			_ = one.close()
		})
	}
	all.Wait()
	return servers
}

// MayAppend publishes a message for a place that no log reaches: whoever may append is told that the place is wrong, and
// nobody else is heard.
func (l *log) MayAppend(ctx context.Context) (bool, error) {
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
