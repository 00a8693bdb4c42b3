package jetstream_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"leslie/internal/ledger"
	"leslie/internal/ledger/jetstream"
	"leslie/internal/ledger/ledgertest"
	"leslie/test/harness"
)

// node is a server in this process, set up as the file for operators says, alone.
type node struct {
	config    string // the file
	port      int
	websocket string // port
	folder    string
	running   *server.Server
}

// clusterBlock is what a server that is alone has not.
var clusterBlock = regexp.MustCompile(`(?ms)^cluster \{.*?^\}\n`)

// startNode returns a running server. change, if not nil, changes its configuration.
func startNode(t *testing.T, change func(string) string) *node {
	t.Helper()
	n := &node{folder: t.TempDir(), port: harness.FreePort()}
	values := map[string]string{
		"NATS_NAME": "n1", "NATS_LISTEN": fmt.Sprintf("127.0.0.1:%d", n.port),
		"NATS_WEBSOCKET":  fmt.Sprintf("127.0.0.1:%d", harness.FreePort()),
		"NATS_STORE":      `"` + filepath.ToSlash(n.folder) + `"`,
		"READER_PASSWORD": "rpw", "WRITER_PASSWORD": "wpw", "ADMIN_PASSWORD": "apw",
	}
	config := clusterBlock.ReplaceAllString(jetstream.ServerConfig, "")
	for name, value := range values {
		config = strings.ReplaceAll(config, "$"+name, value)
	}
	if change != nil {
		config = change(config)
	}
	n.config = filepath.Join(n.folder, "leslie.conf")
	require.NoError(t, os.WriteFile(n.config, []byte(config), 0o600))
	n.websocket = strings.TrimPrefix(values["NATS_WEBSOCKET"], "127.0.0.1:")
	n.start(t)
	t.Cleanup(n.stop)
	return n
}

func (n *node) start(t *testing.T) {
	t.Helper()
	options, err := server.ProcessConfigFile(n.config)
	require.NoError(t, err)
	options.NoLog, options.NoSigs = true, true
	n.running, err = server.NewServer(options)
	require.NoError(t, err)
	go n.running.Start()
	require.True(t, n.running.ReadyForConnections(ledgertest.Within))
}

func (n *node) stop() {
	n.running.Shutdown()
	n.running.WaitForShutdown()
}

func (n *node) url() string { return fmt.Sprintf("nats://127.0.0.1:%d", n.port) }

// projects counts the projects of this process.
type projects struct{ n atomic.Int64 }

func (p *projects) next() string { return fmt.Sprintf("p%d", p.n.Add(1)) }

// setup returns the addresses of a new project on a server.
func (n *node) setup(t *testing.T, project string, urls ...string) ledgertest.Setup {
	t.Helper()
	if len(urls) == 0 {
		urls = []string{n.url()}
	}
	at := func(user, password string) ledger.Address {
		return ledger.Address{URLs: urls, Project: project, Name: "test", Credentials: secret(t, user+":"+password+"\n")}
	}
	return ledgertest.Setup{
		Engine: jetstream.Engine{}, Admin: at("admin", "apw"), Writer: at("writer", "wpw"), Reader: at("reader", "rpw"),
	}
}

func secret(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "creds")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestOneServerKeepsTheContract(t *testing.T) {
	t.Parallel()
	n, p := startNode(t, nil), projects{}
	ledgertest.Contract(t, func(t *testing.T) ledgertest.Setup { return n.setup(t, p.next()) })
}
