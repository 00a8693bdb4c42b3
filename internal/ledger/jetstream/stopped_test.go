//go:build !windows

package jetstream_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/ledger"
	"leslie/internal/ledger/ledgertest"
)

// TestWhatStoppedServersGotIsUnknownAndThereOnce stops two servers, so that the third, the
// leader, tells where the log ends and cannot confirm a line, and then that one, too.
func TestWhatStoppedServersGotIsUnknownAndThereOnce(t *testing.T) {
	t.Parallel()
	c := startCluster(t, false)
	s := clusterSetup(c, "p")
	l := ledgertest.Created(t, s)
	lines := ledgertest.Lines(1, rounds()+1)
	ledgertest.Append(t, l, "", lines[0])
	for i := 1; i < len(lines); i++ {
		first := leader(t, c)
		for n := range c.Size() {
			if n != first {
				require.NoError(t, c.Pause(n))
			}
		}
		h, err := l.Head(ledgertest.Soon(t))
		require.NoError(t, err)
		require.Equal(t, lines[i-1].Seq, h.Seq)
		sent, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		ended := make(chan error, 1)
		go func() { ended <- l.Append(sent, h.ID, lines[i]) }()
		select {
		case err := <-ended:
			require.Fail(t, "two servers are stopped", "%v", err)
		case <-time.After(2 * time.Second):
			require.NoError(t, c.Pause(first))
		}
		require.ErrorIs(t, <-ended, ledger.ErrUnknown)
		cancel()
		for n := range c.Size() { // whoever goes on first may lead next
			require.NoError(t, c.Resume((i+n)%c.Size()))
		}
		require.NoError(t, l.Append(ledgertest.Soon(t), h.ID, lines[i]), "the same line again")
		other := ledger.Line{Seq: lines[i].Seq, ID: fmt.Sprintf("other-%d", i)}
		require.ErrorIs(t, l.Append(ledgertest.Soon(t), h.ID, other), ledger.ErrConflict)
		require.NoError(t, c.Healthy(ledgertest.Soon(t)))
	}
	ledgertest.Same(t, lines, ledgertest.Read(t, l, 0))
	assert.NoError(t, t.Context().Err())
}

// TestContentThatNobodyConfirmsIsGivenUp stops two servers: the third answers, and cannot store anything.
func TestContentThatNobodyConfirmsIsGivenUp(t *testing.T) {
	t.Parallel()
	c := startCluster(t, false)
	l := ledgertest.Created(t, clusterSetup(c, "p"))
	before := ledgertest.Content(1, 600<<10)
	require.NoError(t, l.PutBlob(ledgertest.Soon(t), ledgertest.Hash(before), before))
	first := leader(t, c)
	for n := range c.Size() {
		if n != first {
			require.NoError(t, c.Pause(n))
		}
	}
	data, soon := ledgertest.Content(2, 3<<20), ledgertest.Soon(t)
	require.ErrorIs(t, l.PutBlob(soon, ledgertest.Hash(data), data), ledger.ErrUnreachable)
	require.NoError(t, soon.Err(), "the call has no end of its own")
	for n := range c.Size() {
		if n != first {
			require.NoError(t, c.Resume(n))
		}
	}
	require.NoError(t, l.PutBlob(ledgertest.Soon(t), ledgertest.Hash(data), data))
}
