package projects

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/store"
)

// This file writes the configuration of servers for a project on several machines.

// RemoteConfigRequest names the servers that are to be set up.
type RemoteConfigRequest struct {
	Dir     string   // absolute; it is made
	Servers []string // NAME=HOST:PORT; none: one on this machine alone
	// Certificate and Key are files for TLS, absolute; both or neither. Authority is the file with the certificate of
	// the authority that signed the other, "" for one that the other machines trust.
	Certificate, Key, Authority string
}

// Faults returns what is wrong with the request.
func (in RemoteConfigRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	if in.Dir == "" {
		k.Add("Dir", "", "is missing")
	}
	for _, s := range in.Servers {
		if at, address, ok := strings.Cut(s, "="); !ok || at == "" || address == "" {
			k.Add("Servers", s, "must be NAME=HOST:PORT")
		}
	}
	if (in.Certificate == "") != (in.Key == "") {
		k.Add("Key", in.Key, "and the certificate go together")
	}
	if in.Authority != "" && in.Certificate == "" {
		k.Add("Authority", in.Authority, "goes with a certificate")
	}
	return k.Faults
}

// RemoteConfigResult is what was written, and the lines that go on with it.
type RemoteConfigResult struct {
	Dir   string   `json:"dir"`
	Files []string `json:"files"` // absolute
	// URL is that of the servers; Start has the line that starts each; Init and Connect are those of
	// the first machine and of the others, with PROJECT for what the first of them prints.
	URL     string   `json:"url"`
	Start   []string `json:"start"`
	Init    string   `json:"init"`
	Connect string   `json:"connect"`
	// Plain: nothing is encrypted on its way, and the servers are not for this machine alone.
	Plain bool `json:"plain,omitempty"`
	// Trusts: the credentials have a certificate that whoever uses them trusts.
	Trusts bool `json:"trusts,omitempty"`
	app.Change
}

// defaultServer is the one that is set up where none is named.
const defaultServer = "leslie=127.0.0.1:4222"

// RemoteConfig writes, in a folder, what nats-server is started with, and new credentials for an
// administrator, a writer and a reader. Nothing that is there is replaced. Errors: T106 for a file
// that is there, T903, T505, T509.
func RemoteConfig(env app.Environment, in RemoteConfigRequest) (*RemoteConfigResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	engine, ok := env.Engine.(ledger.Configurer)
	if !ok {
		return nil, codes.InvalidArgument.New(fact.Of("reason", "the engine of this leslie is not set up with files"))
	}
	if len(in.Servers) == 0 {
		in.Servers = []string{defaultServer}
	}
	setup := ledger.ServerSetup{Store: filepath.ToSlash(filepath.Join(in.Dir, "data")), Certificate: filepath.ToSlash(in.Certificate), Key: filepath.ToSlash(in.Key)}
	scheme, d := "nats://", &RemoteConfigResult{Dir: in.Dir}
	if in.Certificate != "" {
		scheme = "tls://"
	}
	var addresses []string
	for _, s := range in.Servers {
		name, address, _ := strings.Cut(s, "=")
		setup.Servers, addresses = append(setup.Servers, ledger.Server{Name: name, Address: address}), append(addresses, address)
		d.Start = append(d.Start, "nats-server -c "+external.Word(filepath.Join(in.Dir, name+".conf")))
		if in.Certificate == "" && !isLoopback(address) {
			d.Plain = true
		}
	}
	d.URL = scheme + strings.Join(addresses, ",")
	d.Init = "leslie remote init " + d.URL + " --creds " + external.Word(filepath.Join(in.Dir, "admin.creds"))
	d.Connect = "leslie connect " + d.URL + "/PROJECT --creds writer.creds"
	var err error
	if setup.Trusted, err = trusted(in); err != nil {
		return nil, err
	}
	d.Trusts = setup.Trusted != nil
	files, err := engine.Configure(setup)
	if err != nil {
		return nil, codes.InvalidArgument.Wrap(err, fact.Of("reason", err.Error()))
	}
	if err := d.write(files); err != nil {
		return nil, err
	}
	d.Changed = true
	return d, nil
}

// trusted returns the certificate that whoever uses the credentials has to trust: that of the authority which the
// request names, or the servers' own where it is signed by itself. One that is on another machine is not known here.
// Errors: T509, T903.
func trusted(in RemoteConfigRequest) ([]byte, error) {
	if in.Authority != "" {
		data, err := os.ReadFile(in.Authority)
		if err != nil {
			return nil, codes.ReadFailed.OfPath(in.Authority, err)
		}
		all, _ := certificates(data)
		if all == nil {
			return nil, codes.InvalidArgument.New(fact.Of("reason", in.Authority+" has no certificate in PEM"))
		}
		return all, nil
	}
	data, _ := os.ReadFile(in.Certificate)
	all, first := certificates(data)
	if first == nil || !bytes.Equal(first.RawIssuer, first.RawSubject) {
		return nil, nil
	}
	return all, nil
}

// certificates returns those of a file in PEM, without anything else that is in it, and the first of them; nil for
// none.
func certificates(data []byte) (all []byte, first *x509.Certificate) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		one, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			continue
		}
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
		if first == nil {
			first = one
		}
	}
	return all, first
}

// isLoopback reports whether an address is for this machine alone.
func isLoopback(address string) bool {
	return strings.HasPrefix(address, "127.") || strings.HasPrefix(address, "localhost:") || strings.HasPrefix(address, "[::1]:")
}

// write writes the files, if none of them is there.
func (d *RemoteConfigResult) write(files []ledger.SetupFile) error {
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return codes.WriteFailed.OfPath(d.Dir, err)
	}
	for _, f := range files {
		name := filepath.Join(d.Dir, f.Name)
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return codes.AlreadyExists.New(fact.Of("id", name), fact.Of("path", name)).
				WithHint("Name another folder: credentials that servers use are not replaced").WithNext("leslie help remote config")
		}
		d.Files = append(d.Files, name)
	}
	for i, f := range files {
		mode := fs.FileMode(0o644)
		if f.Secret {
			mode = 0o600
		}
		if err := store.WriteFile(d.Files[i], f.Data, mode); err != nil {
			return err
		}
	}
	return nil
}
