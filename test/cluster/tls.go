package cluster

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// MakeCertificate writes a certificate of a server on this machine, which is also the
// authority for it, and its key. names are other names of the server.
func MakeCertificate(certificate, key string, names ...string) error {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames: names,
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	public, err := x509.CreateCertificate(nil, template, template, private.Public(), private)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	write := func(path, kind string, data []byte) error {
		return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600)
	}
	return errors.Join(write(certificate, "CERTIFICATE", public), write(key, "PRIVATE KEY", secret))
}

// WithTLS takes the comment signs off the lines about TLS in the file for operators.
func WithTLS(config, certificate, key string) string {
	config = strings.NewReplacer("#tls {", "tls {", "#  cert_file", "  cert_file", "#  key_file", "  key_file", "\n#}", "\n}").Replace(config)
	config = strings.ReplaceAll(config, "/etc/nats/server.crt", filepath.ToSlash(certificate))
	return strings.ReplaceAll(config, "/etc/nats/server.key", filepath.ToSlash(key))
}
