package jetstream_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/ledger"
	"leslie/internal/ledger/jetstream"
	"leslie/internal/ledger/ledgertest"
)

// farHost is a name that only the proxy knows, as in a sandbox without a resolver.
const farHost = "one.leslie.test"

// sandbox is a network with one way out: an HTTP proxy that connects with port 443 of
// farHost, which is a port of this machine.
type sandbox struct {
	to       int
	password string // that it wants, "" for none
	*httptest.Server

	mu    sync.Mutex
	asked []string // for which addresses
}

func startSandbox(t *testing.T, to int, secure bool) *sandbox {
	t.Helper()
	s := &sandbox{to: to}
	s.Server = httptest.NewUnstartedServer(s)
	if secure {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		require.NoError(t, err)
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP connects as a proxy does.
func (s *sandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.Host)
	s.mu.Unlock()
	_, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
	switch {
	case r.Method != http.MethodConnect:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case password != s.password:
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	case r.Host != farHost+":443":
		w.WriteHeader(http.StatusForbidden)
		return
	}
	server, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.to))
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	_, _ = client.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
	go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
	_, _ = io.Copy(server, buffered)
}

// address is what HTTPS_PROXY names, with a password if it is not "".
func (s *sandbox) address(password string) string {
	if password == "" {
		return s.URL
	}
	return strings.Replace(s.URL, "://", "://someone:"+password+"@", 1)
}

// engine is one of a process with these variables.
func engine(variables map[string]string) ledger.Engine {
	return jetstream.Engine{Getenv: func(name string) string { return variables[name] }}
}

// websocketTLS has the server end TLS for websockets.
func websocketTLS(config string) string {
	return strings.Replace(config, "  no_tls: true\n", fmt.Sprintf("  tls { cert_file: %q, key_file: %q }\n", certificate, key), 1)
}

func TestServersAreReachedThroughAProxy(t *testing.T) {
	t.Parallel()
	needsTLS(t)
	n := startNode(t, websocketTLS)
	for name, c := range map[string]struct {
		secure             bool
		variable, password string
	}{
		"http": {false, "HTTPS_PROXY", ""}, "https": {true, "https_proxy", ""}, "with-a-password": {false, "HTTPS_PROXY", "ppw"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := startSandbox(t, n.websocketPort(t), c.secure)
			out.password = c.password
			s := n.setup(t, "p-"+name, "wss://"+farHost)
			s.Engine = engine(map[string]string{c.variable: out.address(c.password), "HTTP_PROXY": "http://127.0.0.1:1"})
			l := ledgertest.Created(t, s)
			lines := ledgertest.Lines(1, 3)
			ledgertest.Append(t, l, "", lines...)
			ledgertest.Same(t, lines, ledgertest.Read(t, ledgertest.Opened(t, s, s.Reader), 0))
			_, err := l.GetBlob(ledgertest.Soon(t), strings.Repeat("0", 64))
			require.ErrorIs(t, err, ledger.ErrMissing, "each server was asked, over a connection of its own")
			out.mu.Lock()
			defer out.mu.Unlock()
			assert.NotEmpty(t, out.asked)
			for _, asked := range out.asked {
				assert.Equal(t, "CONNECT "+farHost+":443", asked)
			}
		})
	}
}

func TestServersWithoutTLSAreReachedThroughAProxy(t *testing.T) {
	t.Parallel()
	n := startNode(t, nil)
	out := startSandbox(t, n.websocketPort(t), false)
	s := n.setup(t, "p", "ws://"+farHost+":443")
	s.Engine = engine(map[string]string{"HTTP_PROXY": out.URL, "HTTPS_PROXY": "http://127.0.0.1:1"})
	l := ledgertest.Created(t, s)
	ledgertest.Append(t, l, "", ledgertest.Lines(1, 1)...)
}

func TestAProxyIsForWebsocketsAndWhereItIsWanted(t *testing.T) {
	t.Parallel()
	for at, without := range map[string]string{"wss://" + farHost: ".leslie.test", "tls://" + farHost + ":443": ""} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			out := startSandbox(t, 0, false)
			proxied := engine(map[string]string{"HTTPS_PROXY": out.URL, "HTTP_PROXY": out.URL, "NO_PROXY": without})
			l, err := proxied.Open(ledger.Address{URLs: []string{at}, Project: "p"})
			require.NoError(t, err)
			_, err = l.Head(ledgertest.Soon(t))
			require.ErrorIs(t, err, ledger.ErrUnreachable, "nobody else knows that name")
			out.mu.Lock()
			defer out.mu.Unlock()
			assert.Empty(t, out.asked)
		})
	}
}

func TestAProxyThatDoesNotConnectIsNamed(t *testing.T) {
	t.Parallel()
	closed := startSandbox(t, 0, false)
	closed.Close()
	locked := startSandbox(t, 0, false)
	locked.password = "ppw"
	open := startSandbox(t, 0, false)
	for name, c := range map[string]struct{ at, proxy, says string }{
		"down":             {farHost, closed.URL, "cannot be reached"},
		"wrong password":   {farHost, locked.address("hidden"), "407 Proxy Authentication Required"},
		"another host":     {"two.leslie.test", open.URL, "403 Forbidden"},
		"another protocol": {farHost, "socks5://user:hidden@127.0.0.1:1", "socks5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := engine(map[string]string{"HTTPS_PROXY": c.proxy}).Open(ledger.Address{URLs: []string{"wss://" + c.at}, Project: "p"})
			require.NoError(t, err)
			_, err = l.Head(ledgertest.Soon(t))
			require.ErrorIs(t, err, ledger.ErrUnreachable)
			assert.ErrorContains(t, err, c.says)
			assert.ErrorContains(t, err, "the proxy")
			assert.NotContains(t, err.Error(), "hidden", "the error tells the secret")
		})
	}
}

func TestAProxyThatSaysNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	l, err := engine(map[string]string{"HTTPS_PROXY": silent.Addr().String()}).Open(ledger.Address{URLs: []string{"wss://" + farHost}, Project: "p"})
	require.NoError(t, err)
	_, err = l.Head(ledgertest.Soon(t))
	require.ErrorIs(t, err, ledger.ErrUnreachable)
	require.ErrorContains(t, err, "does not answer")
}

func (n *node) websocketPort(t *testing.T) int {
	t.Helper()
	port, err := strconv.Atoi(n.websocket)
	require.NoError(t, err)
	return port
}
