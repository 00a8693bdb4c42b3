package jetstream_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"leslie/internal/ledger"
	"leslie/internal/ledger/jetstream"
	"leslie/internal/ledger/ledgertest"
	"leslie/test/cluster"
	"leslie/test/harness"
)

// certificate and key are files of a server on this machine, which this process trusts.
var certificate, key string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "leslie-tls-")
	if err != nil {
		log.Fatal(err)
	}
	certificate, key = filepath.Join(dir, "crt"), filepath.Join(dir, "key")
	if err := errors.Join(cluster.MakeCertificate(certificate, key, farHost), os.Setenv("SSL_CERT_FILE", certificate)); err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// needsTLS skips where the system alone says whom it trusts.
func needsTLS(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		t.Skip("SSL_CERT_FILE has no effect here")
	}
}

// withTLS takes the comment signs off the file's lines about TLS.
func withTLS(config string) string {
	return cluster.WithTLS(config, certificate, key)
}

func TestServersAreReachedInEachWay(t *testing.T) {
	t.Parallel()
	needsTLS(t)
	plain := startNode(t, nil)
	secure := startNode(t, withTLS)
	wss := startNode(t, func(config string) string {
		return websocketTLS(withTLS(config))
	})
	nobody := fmt.Sprintf("127.0.0.1:%d", harness.FreePort())
	for name, ways := range map[string]struct {
		n    *node
		urls []string
	}{
		"nats":                  {plain, []string{plain.url()}},
		"without a scheme":      {plain, []string{strings.TrimPrefix(plain.url(), "nats://")}},
		"a server that is down": {plain, []string{nobody, plain.url()}},
		"websocket":             {plain, []string{"ws://127.0.0.1:" + plain.websocket}},
		"TLS":                   {secure, []string{fmt.Sprintf("tls://127.0.0.1:%d", secure.port)}},
		"TLS that is asked for": {secure, []string{secure.url()}},
		"websocket and TLS":     {wss, []string{"wss://127.0.0.1:" + wss.websocket}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ways.n.setup(t, strings.ReplaceAll(name, " ", "-"), ways.urls...)
			l := ledgertest.Created(t, s)
			ledgertest.Append(t, l, "", ledgertest.Lines(1, 3)...)
			ledgertest.Same(t, ledgertest.Lines(1, 3), ledgertest.Read(t, l, 0))
		})
	}
	t.Run("TLS that the server has not", func(t *testing.T) {
		t.Parallel()
		s := plain.setup(t, "p", fmt.Sprintf("tls://127.0.0.1:%d", plain.port))
		_, err := ledgertest.Opened(t, s, s.Writer).Head(ledgertest.Soon(t))
		require.ErrorIs(t, err, ledger.ErrUnreachable)
	})
}

// A certificate that nobody else trusts is trusted by whoever has it in his credentials.
func TestCredentialsNameWhomToTrust(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own := filepath.Join(dir, "crt")
	require.NoError(t, cluster.MakeCertificate(own, filepath.Join(dir, "key")))
	authority, err := os.ReadFile(own)
	require.NoError(t, err)
	n := startNode(t, func(config string) string { return cluster.WithTLS(config, own, filepath.Join(dir, "key")) })

	s := n.setup(t, "p")
	_, err = ledgertest.Opened(t, s, s.Writer).Head(ledgertest.Soon(t))
	require.ErrorIs(t, err, ledger.ErrUnreachable)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	require.True(t, untrusted, "%v", err)

	s.Admin.Credentials = secret(t, "admin:apw\n"+string(authority))
	s.Writer.Credentials = secret(t, string(authority)+"writer:wpw\n")
	l := ledgertest.Created(t, s)
	ledgertest.Append(t, l, "", ledgertest.Lines(1, 3)...)
	ledgertest.Same(t, ledgertest.Lines(1, 3), ledgertest.Read(t, l, 0))

	s.Writer.Credentials = secret(t, "writer:wpw\n-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n")
	_, err = jetstream.Engine{}.Open(s.Writer)
	require.ErrorContains(t, err, "the certificate in it cannot be read")
}

func TestAServerWithACertificateThatIsNotTrustedIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, cluster.MakeCertificate(filepath.Join(dir, "crt"), filepath.Join(dir, "key")))
	secure := startNode(t, func(config string) string {
		return cluster.WithTLS(config, filepath.Join(dir, "crt"), filepath.Join(dir, "key"))
	})
	plain := startNode(t, nil)
	ledgertest.Created(t, plain.setup(t, "p"))
	s := plain.setup(t, "p", secure.url(), plain.url())
	l := ledgertest.Opened(t, s, s.Writer)
	may, err := l.MayAppend(ledgertest.Soon(t))
	require.NoError(t, err)
	require.True(t, may)
	require.Equal(t, []ledger.ServerStanding{{URL: secure.url(), Untrusted: true}, {URL: plain.url(), Answers: true}},
		l.Servers(ledgertest.Soon(t)))
}

func TestAddressesThatCannotBeMeantAreRefused(t *testing.T) {
	t.Parallel()
	for _, urls := range [][]string{
		nil, {""}, {"nats://"}, {"http://host"}, {"nats://user:secret@host"}, {"nats://host", "wss://host"}, {"nats://a b"},
	} {
		_, err := jetstream.Engine{}.Open(ledger.Address{URLs: urls, Project: "p"})
		require.Error(t, err, "%q", urls)
		require.NotContains(t, err.Error(), "secret")
	}
	for _, project := range []string{"", "a.b", "*", "a b", ">", strings.Repeat("a", 65)} {
		_, err := jetstream.Engine{}.Open(ledger.Address{URLs: []string{"host"}, Project: project})
		require.Error(t, err, "%q", project)
	}
}
