package jetstream

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"leslie/internal/ledger"
)

// projectID reports whether a text can be a project's id: it is a part of subjects and of
// names of streams.
func projectID(text string) bool {
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	return len(text) > 0 && len(text) <= 64 && strings.IndexFunc(text, other) < 0
}

// names are those of a project's streams and subjects.
type names struct {
	log, blobs, turn        string // streams
	op, notice, blob, token string // subjects; a blob's continues with its hash
}

func namesOf(project string) (names, error) {
	if !projectID(project) {
		return names{}, fmt.Errorf("%q is no project id: letters, digits, '-' and '_' are", project)
	}
	stream, subject := "LESLIE_"+project, "leslie."+project
	return names{
		log: stream, blobs: stream + "_BLOBS", turn: stream + "_TURN",
		op: subject + ".op", notice: subject + ".stored", blob: subject + ".blob.", token: subject + ".turn",
	}, nil
}

// serverURLs returns the servers in the form of the client. A host alone is one that is
// spoken to without TLS unless it asks for it.
func serverURLs(given []string) (string, error) {
	var out []string
	schemes := map[bool]bool{}
	for _, g := range given {
		at := strings.TrimSpace(g)
		if !strings.Contains(at, "://") {
			at = "nats://" + at
		}
		u, err := url.Parse(at)
		if err != nil {
			return "", fmt.Errorf("%q is no URL of a server", g)
		}
		switch {
		case u.Hostname() == "":
			return "", fmt.Errorf("%q names no host", g)
		case u.User != nil:
			return "", errors.New("a URL has no credentials in it: they belong into a file")
		case u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "ws" && u.Scheme != "wss":
			return "", fmt.Errorf("%q: the scheme is nats, tls, ws or wss", g)
		}
		schemes[strings.HasPrefix(u.Scheme, "ws")] = true
		out = append(out, (&url.URL{Scheme: u.Scheme, Host: u.Host}).String())
	}
	switch {
	case len(out) == 0:
		return "", errors.New("no server is named")
	case len(schemes) > 1:
		return "", errors.New("servers are reached by websocket, or none of them is")
	}
	return strings.Join(out, ","), nil
}

// credentials returns how a connection says who asks. The file at a path has one of: the
// JWT and seed of a user as NATS's tools write them, the seed of an nkey, a line
// user:password, or an object with user and password or with a token. Certificates of
// authorities that the connection is to trust may stand before and behind that, in PEM.
func credentials(path string) ([]nats.Option, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("the credentials cannot be read: %w", err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, fmt.Errorf("others can use the credentials in %s (%#o): chmod 600 %s", path, mode, path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the credentials cannot be read: %w", err)
	}
	who, certificates := cutCertificates(data)
	opts, err := trusting(certificates)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(certificates) > 0 && len(who) == 0 { // the servers ask nobody who they are
		return opts, nil
	}
	option, err := credentialsIn(who)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return append(opts, option), nil
}

const (
	beginCertificate = "-----BEGIN CERTIFICATE-----"
	endCertificate   = "-----END CERTIFICATE-----"
)

// cutCertificates takes the certificates out of a file of credentials, whose other blocks look like PEM and are none.
func cutCertificates(data []byte) (who, certificates []byte) {
	rest := data
	for {
		before, after, found := bytes.Cut(rest, []byte(beginCertificate))
		who = append(who, before...)
		if !found {
			return bytes.TrimSpace(who), certificates
		}
		var one []byte
		one, rest, _ = bytes.Cut(after, []byte(endCertificate))
		certificates = slices.Concat(certificates, []byte(beginCertificate), one, []byte(endCertificate+"\n"))
	}
}

// trusting lets a connection trust certificates, in PEM, besides those that the system trusts. Whether there is TLS
// at all is the address's and the server's to say.
func trusting(certificates []byte) ([]nats.Option, error) {
	if len(certificates) == 0 {
		return nil, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(certificates) {
		return nil, errors.New("the certificate in it cannot be read")
	}
	return []nats.Option{func(o *nats.Options) error {
		o.TLSConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		return nil
	}}, nil
}

// credentialsIn never repeats what the file says: errors get into logs.
func credentialsIn(data []byte) (nats.Option, error) {
	text := string(data)
	switch {
	case strings.Contains(text, "BEGIN NATS USER JWT"):
		if _, err := nkeys.ParseDecoratedNKey(data); err != nil {
			return nil, errors.New("it is no complete file of NATS credentials")
		}
		return nats.UserCredentialBytes(data), nil
	case strings.HasPrefix(text, "{"):
		var c struct{ User, Password, Token string }
		if json.Unmarshal(data, &c) != nil || (c.Token == "") == (c.User == "") {
			return nil, errors.New(`it must be {"user": ..., "password": ...} or {"token": ...}`)
		}
		if c.Token != "" {
			return nats.Token(c.Token), nil
		}
		return nats.UserInfo(c.User, c.Password), nil
	case strings.HasPrefix(text, "SU") && !strings.Contains(text, ":"):
		return nkey(data)
	}
	user, password, ok := strings.Cut(text, ":")
	if !ok || user == "" || strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("it has neither a JWT with a seed, a seed, a line user:password, nor an object with them")
	}
	return nats.UserInfo(user, password), nil
}

// described says which credentials a server did not accept, since the server does not say
// what is wrong with them.
func described(path string) string {
	if path == "" {
		return "there are none"
	}
	text := "those in " + path
	data, err := os.ReadFile(path)
	if err != nil {
		return text
	}
	who, _ := cutCertificates(data)
	if until := validUntil(who); !until.IsZero() {
		text += ", which are valid until " + until.Format(time.RFC3339)
	}
	return text
}

// validUntil returns when a user's JWT ends, zero if it does not end or there is none.
func validUntil(data []byte) (until time.Time) {
	token, err := nkeys.ParseDecoratedJWT(data)
	if err != nil {
		return until
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return until
	}
	var claims struct {
		Expires int64 `json:"exp"`
	}
	content, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(content, &claims) != nil || claims.Expires == 0 {
		return until
	}
	return time.Unix(claims.Expires, 0).UTC()
}

func nkey(seed []byte) (nats.Option, error) {
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return nil, errors.New("the seed is not one of an nkey")
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, errors.New("the seed is not one of an nkey")
	}
	return nats.Nkey(public, pair.Sign), nil
}

// options returns the servers of an address, and how a connection to them is made.
func (e Engine) options(at ledger.Address) (servers string, opts []nats.Option, err error) {
	servers, err = serverURLs(at.URLs)
	if err != nil {
		return "", nil, err
	}
	who, err := credentials(at.Credentials)
	if err != nil {
		return "", nil, err
	}
	name := "leslie"
	if at.Name != "" {
		name += " " + at.Name
	}
	opts = append(who,
		nats.Name(name),
		nats.Timeout(dialWithin),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(2),
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectPause), nats.ReconnectJitter(reconnectPause, reconnectPause),
		// What cannot be sent fails: what waits in a buffer would be sent when nobody
		// counts on it any more.
		nats.ReconnectBufSize(-1),
	)
	if strings.HasPrefix(servers, "ws") && e.Getenv != nil {
		through := dialer{scheme: "http", proxy: proxies(e.Getenv)}
		if strings.Contains(servers, "wss://") {
			through.scheme = "https"
		}
		opts = append(opts, nats.SetCustomDialer(through), nats.SkipHostLookup())
	}
	return servers, opts, nil
}
