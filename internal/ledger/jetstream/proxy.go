package jetstream

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// dialer connects with servers by websocket, through the proxy that is to be used for a
// server if there is one. It is a nats.CustomDialer.
type dialer struct {
	scheme string // of what is asked for: "http", or "https" with TLS
	proxy  func(*url.URL) (*url.URL, error)
}

// proxies returns the function that knows the proxy of the environment for an address, nil
// for none.
func proxies(getenv func(string) string) func(*url.URL) (*url.URL, error) {
	either := func(name string) string {
		if value := getenv(name); value != "" {
			return value
		}
		return getenv(strings.ToLower(name))
	}
	return (&httpproxy.Config{
		HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY"),
	}).ProxyFunc()
}

// Dial connects with a server. Behind a proxy the names of other machines are often not
// known: it is the proxy that looks them up.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	through, err := d.proxy(&url.URL{Scheme: d.scheme, Host: address})
	if err != nil {
		return nil, fmt.Errorf("the proxy's address is not understood: %w", err)
	}
	if through == nil {
		return (&net.Dialer{Timeout: dialWithin}).Dial(network, address)
	}
	conn, err := reach(through)
	if err != nil {
		return nil, err
	}
	late := time.AfterFunc(dialWithin, func() { _ = conn.Close() })
	err = tunnel(conn, through, address)
	if !late.Stop() || err != nil {
		_ = conn.Close()
	}
	return conn, err
}

// proxyError is about a proxy. Its cause is not part of its text: of a refused connection
// the client would say that no server is there.
type proxyError struct {
	text  string
	cause error
}

func (e *proxyError) Error() string { return e.text }

func (e *proxyError) Unwrap() error { return e.cause }

// reach connects with a proxy.
func reach(through *url.URL) (net.Conn, error) {
	port := map[string]string{"http": "80", "https": "443"}[through.Scheme]
	if port == "" {
		return nil, fmt.Errorf("the proxy's address begins with %s: only http and https are possible", through.Scheme)
	}
	if through.Port() != "" {
		port = through.Port()
	}
	at := net.JoinHostPort(through.Hostname(), port)
	direct := &net.Dialer{Timeout: dialWithin}
	var conn net.Conn
	var err error
	if through.Scheme == "https" {
		conn, err = tls.DialWithDialer(direct, "tcp", at, nil)
	} else {
		conn, err = direct.Dial("tcp", at)
	}
	if err != nil {
		return nil, &proxyError{"the proxy " + at + " cannot be reached", err}
	}
	return conn, nil
}

// tunnel asks a proxy for a connection with an address.
func tunnel(conn net.Conn, through *url.URL, address string) error {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if user := through.User; user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := request.Write(conn); err != nil {
		return &proxyError{"the proxy " + through.Host + " does not answer", err}
	}
	answers := bufio.NewReader(conn)
	answer, err := http.ReadResponse(answers, request)
	switch {
	case err != nil:
		return &proxyError{"the proxy " + through.Host + " does not answer", err}
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("the proxy %s does not connect with %s: %s", through.Host, address, answer.Status)
	case answers.Buffered() > 0:
		return errors.New("the proxy " + through.Host + " speaks before it is asked")
	}
	return nil
}
