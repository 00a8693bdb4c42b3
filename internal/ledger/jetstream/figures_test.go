package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"leslie/internal/ledger"
	"leslie/internal/ledger/ledgertest"
	"leslie/test/cluster"
)

// TestFigures prints the figures of docs/guides/machines.md. It is no test: LESLIE_FIGURES asks
// for it, and the machine should have nothing else to do.
func TestFigures(t *testing.T) {
	if os.Getenv("LESLIE_FIGURES") == "" {
		t.Skip("LESLIE_FIGURES is not set")
	}
	t.Run("one server", func(t *testing.T) {
		n := startNode(t, nil)
		figures(t, n.setup(t, "p"))
	})
	t.Run("three servers", func(t *testing.T) {
		c := startCluster(t, false)
		figures(t, clusterSetup(c, "p"))
		contention(t, c)
	})
}

// figures measures what one machine does.
func figures(t *testing.T, s ledgertest.Setup) {
	l := ledgertest.Created(t, s)
	lines := ledgertest.Lines(1, 101_000)
	for i := range lines {
		lines[i].Data = ledgertest.Content(i, 400)
	}
	ctx := t.Context()
	ledgertest.Append(t, l, "", lines[0])
	var took []time.Duration
	for i := 1; i < 1000; i++ {
		start := time.Now()
		require.NoError(t, l.Append(ctx, lines[i-1].ID, lines[i]))
		took = append(took, time.Since(start))
	}
	t.Logf("append: %s", percentiles(took))
	start := time.Now()
	require.NoError(t, l.AppendAll(ctx, lines[999].ID, lines[1000:]))
	t.Logf("append all: %.0f lines a second", 100_000/time.Since(start).Seconds())
	start = time.Now()
	count := 0
	require.NoError(t, ledgertest.Opened(t, s, s.Reader).After(ctx, 0, func(ledger.Line) error { count++; return nil }))
	t.Logf("after: %d lines in %v, connection included", count, time.Since(start).Round(time.Millisecond))
	took = nil
	for range 200 {
		start := time.Now()
		_, err := l.Head(ctx)
		require.NoError(t, err)
		took = append(took, time.Since(start))
	}
	t.Logf("head: %s", percentiles(took))
}

// contention measures 32 machines that append as fast as they can, with and without turns.
func contention(t *testing.T, c *cluster.Cluster) {
	for i, patience := range []int{2, 1 << 30} {
		s := clusterSetup(c, fmt.Sprintf("c%d", i))
		require.NoError(t, s.Engine.Create(ledgertest.Soon(t), s.Admin))
		var took []time.Duration
		var mu sync.Mutex
		var all sync.WaitGroup
		begin := time.Now()
		for w := range 32 {
			l := ledgertest.Opened(t, s, s.Writer)
			all.Go(func() {
				for n := range 20 {
					start := time.Now()
					if err := insist(t.Context(), l, fmt.Sprintf("op-%d-%d", w, n), patience); err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					took = append(took, time.Since(start))
					mu.Unlock()
				}
			})
		}
		all.Wait()
		name := "a turn after 2 conflicts"
		if patience > 2 {
			name = "without turns"
		}
		t.Logf("32 writers, %s: %.0f lines a second, %s", name, float64(len(took))/time.Since(begin).Seconds(), percentiles(took))
	}
}

// insist appends a line wherever the log ends, with a turn after some conflicts.
func insist(ctx context.Context, l ledger.Ledger, id string, patience int) error {
	for attempt := 1; ; attempt++ {
		done := func() {}
		if attempt > patience {
			var err error
			if done, err = l.Turn(ctx); err != nil {
				return err
			}
		}
		h, err := l.Head(ctx)
		if err == nil {
			err = l.Append(ctx, h.ID, ledger.Line{Seq: h.Seq + 1, ID: id, Data: []byte(id)})
		}
		done()
		if !errors.Is(err, ledger.ErrConflict) {
			return err
		}
	}
}

func percentiles(took []time.Duration) string {
	slices.Sort(took)
	at := func(p int) time.Duration { return took[(len(took)-1)*p/100].Round(10 * time.Microsecond) }
	return fmt.Sprintf("p50 %v, p99 %v, longest %v", at(50), at(99), at(100))
}
