package jetstream_test

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy stands between a client and a server, and does what networks do.
type proxy struct {
	listener net.Listener
	target   string
	// deaf: what the server says is dropped. delay: each way takes this long.
	deaf  atomic.Bool
	delay time.Duration

	mu    sync.Mutex
	conns []net.Conn
	// answered: what was said last came from the server. asked: how often a client said
	// something first or after the server did.
	answered bool
	asked    int
}

func startProxy(t *testing.T, port int) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, target: fmt.Sprintf("127.0.0.1:%d", port), answered: true}
	t.Cleanup(func() { _ = l.Close(); p.cut() })
	go p.serve()
	return p
}

func (p *proxy) url(scheme string) string {
	return fmt.Sprintf("%s://127.0.0.1:%d", scheme, p.listener.Addr().(*net.TCPAddr).Port)
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		go p.pass(server, client, false)
		go p.pass(client, server, true)
	}
}

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// said notes who speaks.
func (p *proxy) said(byServer bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answered && !byServer {
		p.asked++
	}
	p.answered = byServer
}

// timesAsked returns how often clients spoke after the server since it was last called, and
// takes what comes next for the first word.
func (p *proxy) timesAsked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.asked
	p.asked, p.answered = 0, true
	return n
}

// piece is what arrives, and when it goes on.
type piece struct {
	data []byte
	at   time.Time
}

// pass copies from one connection to the other, after the delay.
func (p *proxy) pass(to, from net.Conn, byServer bool) {
	pieces := make(chan piece, 10_000)
	go func() {
		for piece := range pieces {
			<-time.After(time.Until(piece.at))
			if _, err := to.Write(piece.data); err != nil {
				_ = from.Close()
			}
		}
		_ = to.Close()
	}()
	defer close(pieces)
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !(byServer && p.deaf.Load()) {
			p.said(byServer)
			pieces <- piece{append([]byte(nil), buffer[:n]...), time.Now().Add(p.delay)}
		}
		if err != nil {
			return
		}
	}
}
