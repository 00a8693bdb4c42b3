package jetstream

import (
	_ "embed"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nkeys"

	"leslie/internal/ledger"
)

// ServerConfig is the configuration of one of three servers, whose values come from the
// environment: see its first lines.
//
//go:embed leslie.conf
var ServerConfig string

// clusterPort is how far the port between servers is from that for clients.
const clusterPort = 2000

// without is a configuration with other text from one line's beginning to another's, which goes, too.
func without(config, from, to, text string) string {
	before, rest, found := strings.Cut(config, from)
	_, after, ended := strings.Cut(rest, to)
	if !found || !ended {
		return config
	}
	return before + text + after
}

// Configure returns what servers are set up with: NAME.conf for each, and the credentials of an
// administrator, a writer and a reader, which are new nkeys: the servers hold no secret. A single
// server has no cluster. Errors: for servers that cannot be.
func (Engine) Configure(s ledger.ServerSetup) (files []ledger.SetupFile, err error) {
	hosts := make([]string, len(s.Servers))
	ports := make([]int, len(s.Servers))
	for i, one := range s.Servers {
		host, port, err := net.SplitHostPort(one.Address)
		if ports[i], _ = strconv.Atoi(port); err != nil || host == "" || ports[i] < 1 || ports[i]+clusterPort > 65535 {
			return nil, fmt.Errorf("%q is no HOST:PORT with a port below %d", one.Address, 65536-clusterPort)
		}
		if !projectID(one.Name) {
			return nil, fmt.Errorf("%q is no name of a server: letters, digits, '-' and '_' are", one.Name)
		}
		if slices.ContainsFunc(s.Servers[:i], func(o ledger.Server) bool { return o.Name == one.Name || o.Address == one.Address }) {
			return nil, fmt.Errorf("two servers are %s, %s", one.Name, one.Address)
		}
		hosts[i] = host
	}
	if n := len(s.Servers); n != 1 && n != 3 {
		return nil, errors.New("a log has one server or three: two keep nothing when one of them is away")
	}
	config := ServerConfig
	for _, role := range []string{"admin", "writer", "reader"} {
		pair, err := nkeys.CreateUser()
		if err != nil {
			return nil, err
		}
		seed, err := pair.Seed()
		if err != nil {
			return nil, err
		}
		public, err := pair.PublicKey()
		if err != nil {
			return nil, err
		}
		config = strings.Replace(config, "user: "+role+", password: $"+strings.ToUpper(role)+"_PASSWORD", "nkey: "+public+" # of "+role+".creds", 1)
		data := slices.Concat(seed, []byte("\n"), s.Trusted)
		files = append(files, ledger.SetupFile{Name: role + ".creds", Data: data, Secret: true})
	}
	var routes []string
	for i := range s.Servers {
		routes = append(routes, strconv.Quote("nats://"+net.JoinHostPort(hosts[i], strconv.Itoa(ports[i]+clusterPort))))
	}
	_, config, _ = strings.Cut(config, "\n\n") // how it is used with three
	config = without(config, "# Websocket without TLS", "\n}\n\n", "")
	if len(s.Servers) == 1 {
		config = without(config, "# Everything between", "\n}\n\n", "")
	}
	if s.Certificate != "" {
		config = without(config, "# TLS for clients", "\n#}\n", "tls {\n  cert_file: "+strconv.Quote(s.Certificate)+"\n  key_file: "+strconv.Quote(s.Key)+"\n}\n")
	}
	for i, one := range s.Servers {
		listen := "0.0.0.0"
		if ip := net.ParseIP(hosts[i]); ip != nil && ip.IsLoopback() || hosts[i] == "localhost" {
			listen = "127.0.0.1"
		}
		text := strings.NewReplacer(
			"$NATS_NAME", one.Name,
			"$NATS_LISTEN", strconv.Quote(net.JoinHostPort(listen, strconv.Itoa(ports[i]))),
			"$NATS_CLUSTER", strconv.Quote(net.JoinHostPort(listen, strconv.Itoa(ports[i]+clusterPort))),
			"$NATS_ROUTE_1, $NATS_ROUTE_2, $NATS_ROUTE_3", strings.Join(routes, ", "),
			"$NATS_STORE", strconv.Quote(path.Join(s.Store, one.Name)),
		).Replace(config)
		files = append(files, ledger.SetupFile{Name: one.Name + ".conf", Data: []byte("# The NATS server " + one.Name + " of a leslie project. Needs nats-server 2.15.2 or newer.\n" + text)})
	}
	return files, nil
}
