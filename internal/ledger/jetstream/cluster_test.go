package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/ledger"
	"leslie/internal/ledger/jetstream"
	"leslie/internal/ledger/ledgertest"
	"leslie/test/cluster"
)

// These tests run three real servers each: "make ledger" builds the program and names it
// in LESLIE_NATS_SERVER.

// takeover is how long after a leader's death a write must succeed.
const takeover = 15 * time.Second

func startCluster(t *testing.T, disks bool) *cluster.Cluster {
	t.Helper()
	binary := os.Getenv("LESLIE_NATS_SERVER")
	if binary == "" {
		t.Skip("LESLIE_NATS_SERVER names no nats-server")
	}
	c, err := cluster.Start(ledgertest.Soon(t), cluster.Options{Binary: binary, Dir: t.TempDir(), Disks: disks})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

func clusterSetup(c *cluster.Cluster, project string) ledgertest.Setup {
	at := func(role string) ledger.Address {
		return ledger.Address{URLs: c.URLs(), Project: project, Name: "test", Credentials: c.Credentials(role)}
	}
	return ledgertest.Setup{Engine: jetstream.Engine{}, Admin: at("admin"), Writer: at("writer"), Reader: at("reader")}
}

func TestThreeServersKeepTheContract(t *testing.T) {
	t.Parallel()
	c, p := startCluster(t, false), projects{}
	ledgertest.Contract(t, func(*testing.T) ledgertest.Setup { return clusterSetup(c, p.next()) })
}

// rounds is how often each fault is caused.
func rounds() int {
	if testing.Short() {
		return 2
	}
	return 10
}

// traffic is writers that append all the time, and what they were told.
type traffic struct {
	log     ledger.Ledger
	stop    context.CancelFunc
	running sync.WaitGroup
	last    atomic.Int64 // the last confirmed place
	mu      sync.Mutex
	acked   map[string]int64
	unknown map[string]bool
}

func startTraffic(t *testing.T, s ledgertest.Setup) *traffic {
	t.Helper()
	tr := &traffic{log: ledgertest.Created(t, s), acked: map[string]int64{}, unknown: map[string]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	tr.stop = stop
	t.Cleanup(stop)
	for w := range 4 {
		l := ledgertest.Opened(t, s, s.Writer)
		tr.running.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				tr.write(ctx, l, fmt.Sprintf("op-%d-%d", w, i))
			}
		})
	}
	return tr
}

// write appends one line wherever the log ends, with as much patience as leslie has.
func (tr *traffic) write(ctx context.Context, l ledger.Ledger, id string) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		h, err := l.Head(ctx)
		if err != nil {
			continue
		}
		err = l.Append(ctx, h.ID, ledger.Line{Seq: h.Seq + 1, ID: id, Data: []byte(id)})
		if errors.Is(err, ledger.ErrConflict) || errors.Is(err, ledger.ErrUnreachable) {
			continue
		}
		tr.mu.Lock()
		defer tr.mu.Unlock()
		if err == nil {
			tr.acked[id] = h.Seq + 1
			tr.last.Store(h.Seq + 1)
		} else {
			tr.unknown[id] = true
		}
		return
	}
}

// goesOn waits until a line that is written now is confirmed, and returns how long it took.
func (tr *traffic) goesOn(t *testing.T) time.Duration {
	t.Helper()
	start, from := time.Now(), tr.last.Load()
	require.Eventually(t, func() bool { return tr.last.Load() > from }, 2*takeover, 5*time.Millisecond)
	return time.Since(start)
}

// end stops the writers, and checks what the log says against what they were told: nothing
// that was confirmed is lost or elsewhere, and nothing is there twice.
func (tr *traffic) end(t *testing.T) {
	t.Helper()
	tr.stop()
	tr.running.Wait()
	seen := map[string]int64{}
	for _, line := range ledgertest.Read(t, tr.log, 0) {
		require.Zero(t, seen[line.ID], "%s is there twice", line.ID)
		seen[line.ID] = line.Seq
	}
	for id, seq := range tr.acked {
		require.Equal(t, seq, seen[id], "%s was confirmed", id)
	}
	t.Logf("%d lines, %d confirmed, %d unknown", len(seen), len(tr.acked), len(tr.unknown))
	require.NotEmpty(t, tr.acked)
}

func TestWhatWasConfirmedSurvivesServers(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name  string
		disks bool
		cause func(t *testing.T, c *cluster.Cluster, round int) (mend func() error)
	}{
		{"leader killed", false, func(t *testing.T, c *cluster.Cluster, _ int) func() error {
			i := leader(t, c)
			require.NoError(t, c.Kill(i))
			return func() error { return c.Start(i) }
		}},
		{"leader stopped", false, func(t *testing.T, c *cluster.Cluster, _ int) func() error {
			i := leader(t, c)
			require.NoError(t, c.Pause(i))
			return func() error { return c.Resume(i) }
		}},
		{"any server killed", false, func(t *testing.T, c *cluster.Cluster, round int) func() error {
			require.NoError(t, c.Kill(round%3))
			return func() error { return c.Start(round % 3) }
		}},
		{"all killed", false, func(t *testing.T, c *cluster.Cluster, _ int) func() error {
			require.NoError(t, c.KillAll())
			require.NoError(t, c.StartAll())
			return func() error { return nil }
		}},
		{"power cut", true, func(t *testing.T, c *cluster.Cluster, _ int) func() error {
			require.NoError(t, c.PowerCut())
			require.NoError(t, c.StartAll())
			return func() error { return nil }
		}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			if fault.disks && os.Getenv("LESLIE_NATS_DISKS") == "" {
				t.Skip("LESLIE_NATS_DISKS is not set: it needs Linux, root and ext4")
			}
			c := startCluster(t, fault.disks)
			tr := startTraffic(t, clusterSetup(c, "p"))
			var longest time.Duration
			for round := range rounds() {
				tr.goesOn(t)
				mend := fault.cause(t, c, round)
				longest = max(longest, tr.goesOn(t))
				require.NoError(t, mend())
				require.NoError(t, c.Healthy(ledgertest.Soon(t)))
			}
			t.Logf("%d rounds; the longest time until a line was confirmed: %v", rounds(), longest.Round(time.Millisecond))
			assert.Less(t, longest, takeover)
			tr.end(t)
		})
	}
}

// TestTooFewServersAreToldFromNone kills two servers, and then the third.
func TestTooFewServersAreToldFromNone(t *testing.T) {
	t.Parallel()
	c := startCluster(t, false)
	l := ledgertest.Created(t, clusterSetup(c, "p"))
	left := leader(t, c)
	for n := range c.Size() {
		if n != left {
			require.NoError(t, c.Kill(n))
		}
	}
	sending, cancel := context.WithTimeout(ledgertest.Soon(t), 5*time.Second)
	defer cancel()
	require.ErrorAs(t, l.Append(sending, "", ledgertest.Lines(1, 1)[0]), new(*ledger.TooFewError))
	require.NoError(t, c.Kill(left))
	asking, cancel := context.WithTimeout(ledgertest.Soon(t), 2*time.Second)
	defer cancel()
	_, err := l.Head(asking)
	require.ErrorIs(t, err, ledger.ErrUnreachable)
	require.False(t, errors.As(err, new(*ledger.TooFewError)), err)
}

func leader(t *testing.T, c *cluster.Cluster) int {
	t.Helper()
	i, err := c.Leader(ledgertest.Soon(t), "LESLIE_p")
	require.NoError(t, err)
	return i
}

// TestADamagedCopyIsReadElsewhere connects to the server whose copies have a bit flipped,
// and reads until it was that server that answered, which begins some time after its start.
func TestADamagedCopyIsReadElsewhere(t *testing.T) {
	t.Parallel()
	c := startCluster(t, false)
	for round := range rounds() {
		s := clusterSetup(c, fmt.Sprintf("p%d", round))
		l := ledgertest.Created(t, s)
		lines := ledgertest.Lines(1, 2000)
		for i := range lines {
			lines[i].Data = ledgertest.Content(i, 700)
		}
		require.NoError(t, l.AppendAll(ledgertest.Soon(t), "", lines))
		data := ledgertest.Content(1, 700<<10)
		require.NoError(t, l.PutBlob(ledgertest.Soon(t), ledgertest.Hash(data), data))
		damaged := round % 3
		for _, stream := range []string{"LESLIE_" + s.Writer.Project, "LESLIE_" + s.Writer.Project + "_BLOBS"} {
			require.Eventually(t, func() bool { return c.Stored(damaged, stream) }, ledgertest.Within, 10*time.Millisecond)
		}
		require.NoError(t, c.Quit(damaged))
		require.NoError(t, c.FlipBit(damaged, "LESLIE_"+s.Writer.Project))
		require.NoError(t, c.FlipBit(damaged, "LESLIE_"+s.Writer.Project+"_BLOBS"))
		require.NoError(t, c.Start(damaged))
		require.NoError(t, c.Healthy(ledgertest.Soon(t)))
		var lineGaps, blobGaps atomic.Int64
		at := s.Reader
		at.URLs = []string{c.URLs()[damaged]}
		at.Gap = func(seq int64) {
			if seq == 0 {
				blobGaps.Add(1)
			} else {
				lineGaps.Add(1)
			}
		}
		reader := ledgertest.Opened(t, s, at)
		reads := 0
		for ctx := ledgertest.Soon(t); ctx.Err() == nil && (lineGaps.Load() == 0 || blobGaps.Load() == 0); reads++ {
			ledgertest.Same(t, lines, ledgertest.Read(t, reader, 0))
			got, err := reader.GetBlob(ledgertest.Soon(t), ledgertest.Hash(data))
			require.NoError(t, err)
			require.Equal(t, data, got)
		}
		t.Logf("server %d: %d reads, of which a line was damaged in %d and a blob in %d", damaged+1, reads, lineGaps.Load(), blobGaps.Load())
		assert.Positive(t, lineGaps.Load(), "the damage of the line was not noticed")
		assert.Positive(t, blobGaps.Load(), "the damage of the blob was not noticed")
	}
}
