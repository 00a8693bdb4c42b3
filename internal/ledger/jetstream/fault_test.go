package jetstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/ledger"
	"leslie/internal/ledger/jetstream"
	"leslie/internal/ledger/ledgertest"
	"leslie/test/harness"
)

func TestAServerThatStartsAgainIsUsedAgain(t *testing.T) {
	t.Parallel()
	n := startNode(t, nil)
	s := n.setup(t, "p")
	l := ledgertest.Created(t, s)
	lines := ledgertest.Lines(1, 30)
	ledgertest.Append(t, l, "", lines[:10]...)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	seen, ended := make(chan int64, 100), make(chan error, 1)
	go func() {
		ended <- ledgertest.Opened(t, s, s.Reader).Follow(ctx, 0, func(line ledger.Line) error { seen <- line.Seq; return nil })
	}()
	for range 10 {
		<-seen
	}
	n.stop()
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := l.Head(short)
	require.ErrorIs(t, err, ledger.ErrUnreachable)
	require.ErrorIs(t, l.Append(short, lines[9].ID, lines[10]), ledger.ErrUnreachable, "nothing was sent")
	n.start(t)
	ledgertest.Append(t, l, lines[9].ID, lines[10:]...)
	ledgertest.Same(t, lines, ledgertest.Read(t, l, 0))
	for i := 10; i < len(lines); i++ {
		select {
		case seq := <-seen:
			require.Equal(t, lines[i].Seq, seq)
		case <-time.After(ledgertest.Within):
			require.Fail(t, "who follows is not told any more")
		}
	}
	stop()
	require.NoError(t, <-ended)
}

func TestALineWhoseAnswerIsLostIsThereOnce(t *testing.T) {
	t.Parallel()
	n := startNode(t, nil)
	p := startProxy(t, n.port)
	direct := ledgertest.Created(t, n.setup(t, "p"))
	s := n.setup(t, "p", p.url("nats"))
	l := ledgertest.Opened(t, s, s.Writer)
	lines := ledgertest.Lines(1, 6)
	ledgertest.Append(t, l, "", lines[0])
	for i := 1; i < len(lines); i++ {
		p.deaf.Store(true)
		ended := make(chan error, 1)
		go func() { ended <- l.Append(ledgertest.Soon(t), lines[i-1].ID, lines[i]) }()
		reached(t, direct, lines[i].Seq)
		p.deaf.Store(false)
		p.cut()
		require.NoError(t, <-ended, "line %d", lines[i].Seq)
	}
	ledgertest.Same(t, lines, ledgertest.Read(t, direct, 0))
}

// reached waits until a log has a line.
func reached(t *testing.T, l ledger.Ledger, seq int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(ledgertest.Soon(t))
	defer cancel()
	require.NoError(t, l.Follow(ctx, seq-1, func(ledger.Line) error { cancel(); return nil }))
	require.NoError(t, t.Context().Err())
}

func TestALineWithoutAnAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	n := startNode(t, nil)
	p := startProxy(t, n.port)
	direct := ledgertest.Created(t, n.setup(t, "p"))
	s := n.setup(t, "p", p.url("nats"))
	l := ledgertest.Opened(t, s, s.Writer)
	lines := ledgertest.Lines(1, 2)
	ledgertest.Append(t, l, "", lines[0])
	p.deaf.Store(true)
	short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, l.Append(short, lines[0].ID, lines[1]), ledger.ErrUnknown)
	p.deaf.Store(false)
	p.cut()
	require.NoError(t, l.Append(ledgertest.Soon(t), lines[0].ID, lines[1]), "the same line again")
	ledgertest.Same(t, lines, ledgertest.Read(t, direct, 0))
	other := ledger.Line{Seq: 2, ID: "op-other"}
	require.ErrorIs(t, l.Append(ledgertest.Soon(t), lines[0].ID, other), ledger.ErrConflict)
}

func TestNobodyThereIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	port := harness.FreePort()
	l, err := jetstream.Engine{}.Open(ledger.Address{URLs: []string{fmt.Sprintf("127.0.0.1:%d", port)}, Project: "p"})
	require.NoError(t, err)
	ctx := ledgertest.Soon(t)
	line := ledgertest.Lines(1, 1)[0]
	_, err = l.Head(ctx)
	require.ErrorIs(t, err, ledger.ErrUnreachable)
	require.ErrorIs(t, l.Append(ctx, "", line), ledger.ErrUnreachable)
	require.ErrorIs(t, l.After(ctx, 0, func(ledger.Line) error { return nil }), ledger.ErrUnreachable)
	require.ErrorIs(t, l.Follow(ctx, 0, func(ledger.Line) error { return nil }), ledger.ErrUnreachable)
	require.NoError(t, ctx.Err())
	require.NoError(t, l.Close())
}

func TestServersThatAnswerAreToldFromOthers(t *testing.T) {
	t.Parallel()
	n := startNode(t, nil)
	gone := fmt.Sprintf("nats://127.0.0.1:%d", harness.FreePort())
	ledgertest.Created(t, n.setup(t, "p"))
	s := n.setup(t, "p", n.url(), gone)
	l := ledgertest.Opened(t, s, s.Writer)
	assert.Equal(t, []ledger.ServerStanding{{URL: n.url(), Answers: true}, {URL: gone}}, l.Servers(ledgertest.Soon(t)))
	may, err := l.MayAppend(ledgertest.Soon(t))
	require.NoError(t, err)
	assert.True(t, may)
	n.stop()
	l = ledgertest.Opened(t, s, s.Writer)
	_, err = l.MayAppend(ledgertest.Soon(t))
	require.ErrorIs(t, err, ledger.ErrUnreachable)
	assert.Equal(t, []ledger.ServerStanding{{URL: n.url()}, {URL: gone}}, l.Servers(ledgertest.Soon(t)))
}

func TestCredentialsThatNobodyKnowsAreDenied(t *testing.T) {
	t.Parallel()
	n := startNode(t, nil)
	for _, creds := range []string{"writer:wrong", `{"token":"x"}`, ""} {
		at := ledger.Address{URLs: []string{n.url()}, Project: "p"}
		if creds != "" {
			at.Credentials = secret(t, creds)
		}
		l, err := jetstream.Engine{}.Open(at)
		require.NoError(t, err)
		_, err = l.Head(ledgertest.Soon(t))
		require.ErrorAs(t, err, new(*ledger.LoginError), "%q", creds)
		require.ErrorIs(t, err, ledger.ErrDenied, "%q", creds)
		require.NoError(t, l.Close())
	}
}

func TestAFullStreamRefusesAndKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	n := startNode(t, nil)
	s := n.setup(t, "p")
	l := ledgertest.Created(t, s)
	lines := ledgertest.Lines(1, 2)
	ledgertest.Append(t, l, "", lines[0])
	limit(t, n, "LESLIE_p", 4000)
	limit(t, n, "LESLIE_p_BLOBS", 4000)
	lines[1].Data = ledgertest.Content(1, 5000)
	require.ErrorIs(t, l.Append(ledgertest.Soon(t), lines[0].ID, lines[1]), ledger.ErrFull)
	require.ErrorIs(t, l.AppendAll(ledgertest.Soon(t), lines[0].ID, lines[1:]), ledger.ErrFull)
	data := ledgertest.Content(2, 600<<10)
	require.ErrorIs(t, l.PutBlob(ledgertest.Soon(t), ledgertest.Hash(data), data), ledger.ErrFull)
	_, err := l.GetBlob(ledgertest.Soon(t), ledgertest.Hash(data))
	require.ErrorIs(t, err, ledger.ErrMissing)
	limit(t, n, "LESLIE_p", -1)
	ledgertest.Append(t, l, lines[0].ID, lines[1])
	ledgertest.Same(t, lines, ledgertest.Read(t, l, 0))
}

// limit sets how many bytes a stream holds, as an administrator does.
func limit(t *testing.T, n *node, stream string, bytes int) {
	t.Helper()
	answer := admin(t, n, "STREAM.INFO."+stream, nil)
	config := answer["config"].(map[string]any)
	config["max_bytes"] = bytes
	admin(t, n, "STREAM.UPDATE."+stream, config)
}

// admin carries out a request of JetStream's interface without leslie's code.
func admin(t *testing.T, n *node, what string, request any) map[string]any {
	t.Helper()
	nc, err := nats.Connect(n.url(), nats.UserInfo("admin", "apw"))
	require.NoError(t, err)
	defer nc.Close()
	data, err := json.Marshal(request)
	require.NoError(t, err)
	m, err := nc.Request("$JS.API."+what, data, ledgertest.Within)
	require.NoError(t, err)
	var answer map[string]any
	require.NoError(t, json.Unmarshal(m.Data, &answer))
	require.Nil(t, answer["error"], "%s", m.Data)
	return answer
}

// TestAConnectionAndAWriteTakeSixRoundTrips counts how often the client waits for an answer
// of the server, and leaves the clock out of it. TCP takes one round trip more; where the
// server speaks first, what it says is half a one.
func TestAConnectionAndAWriteTakeSixRoundTrips(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		scheme string
		change func(string) string
		most   int
	}{
		{"nats", nil, 3},
		{"tls", withTLS, 4},
		{"wss", websocketTLS, 5},
	} {
		t.Run(kind.scheme, func(t *testing.T) {
			t.Parallel()
			if kind.change != nil {
				needsTLS(t)
			}
			n := startNode(t, kind.change)
			port := n.port
			if kind.scheme == "wss" {
				port = n.websocketPort(t)
			}
			s := n.setup(t, "p", fmt.Sprintf("%s://127.0.0.1:%d", kind.scheme, port))
			ledgertest.Created(t, s)
			p := startProxy(t, port)
			p.delay = 100 * time.Millisecond // what a client writes in pieces is there before the answer to the first
			asked := 100
			for i := range 3 { // the fewest: pieces of one request may be far apart while the machine has other work
				far := n.setup(t, "p", p.url(kind.scheme))
				l := ledgertest.Opened(t, far, far.Writer)
				h, err := l.Head(ledgertest.Soon(t))
				require.NoError(t, err)
				require.NoError(t, l.Append(ledgertest.Soon(t), h.ID, ledgertest.Lines(int64(i+1), 1)[0]))
				asked = min(asked, p.timesAsked())
			}
			assert.Equal(t, kind.most, asked, "answers that connection, head and append wait for")
		})
	}
}

// TestWhatIsNoLineIsAGap publishes past leslie what a writer's credentials allow.
func TestWhatIsNoLineIsAGap(t *testing.T) {
	t.Parallel()
	n := startNode(t, nil)
	s := n.setup(t, "p")
	l := ledgertest.Created(t, s)
	lines := ledgertest.Lines(1, 2)
	ledgertest.Append(t, l, "", lines...)
	nc, err := nats.Connect(n.url(), nats.UserInfo("writer", "wpw"))
	require.NoError(t, err)
	defer nc.Close()
	_, err = nc.Request("leslie.p.op", []byte("junk"), ledgertest.Within)
	require.NoError(t, err)
	var seen, gaps []int64
	s.Reader.Gap = func(seq int64) { gaps = append(gaps, seq) }
	err = ledgertest.Opened(t, s, s.Reader).After(ledgertest.Soon(t), 0, func(line ledger.Line) error {
		seen = append(seen, line.Seq)
		return nil
	})
	require.ErrorIs(t, err, ledger.ErrGap)
	assert.Equal(t, []int64{1, 2}, seen)
	assert.Empty(t, gaps, "nobody has that line")
	_, err = l.Head(ledgertest.Soon(t))
	require.ErrorIs(t, err, ledger.ErrGap)
}
