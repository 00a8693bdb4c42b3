package jetstream_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/ledger"
	"leslie/internal/ledger/ledgertest"
)

// goneWithin is how long others wait at most for a turn that is nobody's any more.
const goneWithin = 3 * time.Second

// A turn stays its holder's for longer than the server waits for a word, and ends soon once
// the holder is gone.
func TestATurnEndsSoonWhenItsHolderIsGone(t *testing.T) {
	t.Parallel()
	s := startNode(t, nil).setup(t, "turns")
	holder, other := ledgertest.Created(t, s), ledgertest.Opened(t, s, s.Writer)
	_, err := holder.Turn(ledgertest.Soon(t))
	require.NoError(t, err)
	short, cancel := context.WithTimeout(t.Context(), goneWithin)
	defer cancel()
	_, err = other.Turn(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	begun := time.Now()
	require.NoError(t, holder.Close())
	done, err := other.Turn(ledgertest.Soon(t))
	require.NoError(t, err)
	assert.Less(t, time.Since(begun), goneWithin)
	done()
}

// A server gives the turn to who waits at another server, even if nobody is there any more.
func TestATurnOfNobodyEndsSoon(t *testing.T) {
	t.Parallel()
	c := startCluster(t, false)
	s := clusterSetup(c, "turns")
	l := ledgertest.Created(t, s)
	for _, url := range c.URLs() {
		done, err := l.Turn(ledgertest.Soon(t))
		require.NoError(t, err)
		at := s.Writer
		at.URLs = []string{url}
		waiter := ledgertest.Opened(t, s, at)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err = waiter.Turn(short)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, waiter.Close())
		begun := time.Now()
		done()
		done, err = l.Turn(ledgertest.Soon(t))
		require.NoError(t, err)
		assert.Less(t, time.Since(begun), goneWithin, "the waiter was at %s", url)
		done()
	}
}

// Whoever waits for a turn is told when the servers say nothing more: they could wait for good.
func TestWaitingForATurnEndsWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	n := startNode(t, nil)
	s := n.setup(t, "turns")
	holder := ledgertest.Created(t, s)
	p := startProxy(t, n.port)
	far := n.setup(t, "turns", p.url("nats"))
	waiter := ledgertest.Opened(t, far, far.Writer)
	_, err := waiter.Head(ledgertest.Soon(t))
	require.NoError(t, err)
	_, err = holder.Turn(ledgertest.Soon(t))
	require.NoError(t, err)
	p.deaf.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 2*ledgertest.Within)
	defer cancel()
	_, err = waiter.Turn(ctx)
	require.ErrorIs(t, err, ledger.ErrUnreachable)
	require.NoError(t, ctx.Err())
}

// A single server that is restarted gives turns as before.
func TestATurnIsGivenAfterARestart(t *testing.T) {
	t.Parallel()
	n := startNode(t, nil)
	s := n.setup(t, "turns")
	l := ledgertest.Created(t, s)
	done, err := l.Turn(ledgertest.Soon(t))
	require.NoError(t, err)
	done()
	n.stop()
	n.start(t)
	begun := time.Now()
	done, err = ledgertest.Opened(t, s, s.Writer).Turn(ledgertest.Soon(t))
	require.NoError(t, err)
	done()
	assert.Less(t, time.Since(begun), goneWithin)
}
